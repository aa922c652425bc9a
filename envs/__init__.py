"""Environments and their glue. They import the protocols of ``tape`` and nothing else of it."""
