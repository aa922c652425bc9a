"""What can be wrong with a world, and what its step functions raise."""

from __future__ import annotations

from tape.errors import ConfigError, TapeError


class WorldError(ConfigError):
    """A world is declared wrongly, or one of its functions breaks its declaration; the message gives the remedy.

    Examples:
        >>> from tape.world import World
        >>> World("stairs", rules="", deterministic=True)
        Traceback (most recent call last):
            ...
        tape.world.errors.WorldError: stairs: rules are missing: they are all that a model knows of this world
    """


class InvalidActionError(TapeError, ValueError):
    """The action cannot be taken in this state; step functions raise it, and the message is shown to the model.

    Examples:
        >>> from tape.world import InvalidActionError
        >>> def climb(floor: int) -> int:
        ...     if floor == 2:
        ...         raise InvalidActionError("the stairs end here")
        ...     return floor + 1
        >>> climb(2)
        Traceback (most recent call last):
            ...
        tape.world.errors.InvalidActionError: the stairs end here
    """
