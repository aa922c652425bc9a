"""The solvers side by side on seeded path problems: ``python -m experiments.benches.solvers``."""
