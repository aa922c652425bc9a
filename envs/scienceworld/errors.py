"""Errors of the ScienceWorld environment."""

from tape.errors import MissingExtraError, TapeError


class ScienceWorldError(TapeError):
    """A task, a variation or an option that does not exist."""


class EngineError(ScienceWorldError):
    """The simulator cannot be started, or its Java process has ended."""


class NotPlayableError(EngineError, MissingExtraError):
    """The simulator cannot be played here: the package or a Java runtime is missing, or of another version."""
