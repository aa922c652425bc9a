"""Errors of the ALFWorld environment."""

from tape.errors import TapeError


class AlfworldError(TapeError):
    """Anything wrong with games, data or the packages that play them."""


class GameError(AlfworldError):
    """A game that cannot be read, played or solved; the message names the game and the reason."""


class UnsolvableGameError(GameError):
    """A game whose file declares that it cannot be solved."""
