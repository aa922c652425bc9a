"""Observations on which validators are measured: one module per environment, each with ``cases``."""
