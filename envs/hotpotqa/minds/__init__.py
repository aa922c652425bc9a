"""Decomposers, readers and verifiers: a general model, or a labelled script."""
