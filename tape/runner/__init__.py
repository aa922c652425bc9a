"""Runs: many episodes, one directory, resumable (DESIGN section 8)."""
