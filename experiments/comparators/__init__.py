"""Agents to compare with: ``--agent experiments.comparators.validated:ValidatedPlanAgent``."""
