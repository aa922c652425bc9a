"""Training text, evaluation and card of the Sokoban models."""
