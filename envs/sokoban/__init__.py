"""Sokoban: levels, simulator, exact oracle, file format and adapters."""
