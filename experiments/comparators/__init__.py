"""Agents of the field to compare with: ``--agent experiments.comparators.bats:BatsAgent``."""
