"""Decomposers, readers and verifiers: a general model, the bundled one, or a labelled script."""
