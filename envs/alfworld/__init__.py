"""Household tasks of ALFWorld on the real TextWorld engine."""
