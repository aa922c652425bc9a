"""Benchmarks: speed as ratios within one run."""
