"""Errors of the household environment."""

from tape.errors import TapeError


class AlfworldError(TapeError):
    """Anything wrong with games, data or the packages that play them."""


class GameError(AlfworldError):
    """A game that cannot be read, played or solved; the message says which and why."""


class UnsolvableGameError(GameError):
    """A game that its own file says cannot be solved."""
