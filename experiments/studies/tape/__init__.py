"""TAPE on Sokoban: every figure and table of the paper, the headline, error analysis."""
