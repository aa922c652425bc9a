"""What can be wrong with a world, and what its step functions raise."""

from __future__ import annotations

from tape.errors import ConfigError, TapeError


class WorldError(ConfigError):
    """A world is declared wrongly, or one of its functions breaks its declaration; the message gives the remedy."""


class InvalidActionError(TapeError, ValueError):
    """The action cannot be taken in this state; step functions raise it, and the message is shown to the model."""
