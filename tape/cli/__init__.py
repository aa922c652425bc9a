"""The ``tape`` command; each subcommand is one module, imported only when it is used."""

from tape.cli.main import main

__all__ = ["main"]
