"""The household tasks of ALFWorld on the real TextWorld engine."""
