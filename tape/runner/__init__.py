"""Runs: many episodes, one directory, resumable (docs/runs.md)."""
