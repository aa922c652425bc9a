"""Runs: many episodes, one directory, resumable (docs/reference/runs.md)."""
