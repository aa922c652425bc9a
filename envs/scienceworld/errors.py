"""Errors of the ScienceWorld environment."""

from tape.errors import TapeError


class ScienceWorldError(TapeError):
    """A task, a variation or an option that does not exist."""


class EngineError(ScienceWorldError):
    """The simulator cannot be started, or its Java process has ended."""
