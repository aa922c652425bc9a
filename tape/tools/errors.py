"""Errors of the tool environment."""

from __future__ import annotations

from tape.budget import Resources
from tape.errors import ConfigError, InvalidOutputError, TapeError


class ToolError(ConfigError):
    """A tool or a toolbox is declared wrongly.

    Examples:
        >>> from tape import tool
        >>> @tool
        ... def double(number: int) -> int:
        ...     return 2 * number
        Traceback (most recent call last):
            ...
        tape.tools.errors.ToolError: double: the function needs a docstring, which describes it to the model
    """


class InvalidCallError(InvalidOutputError):
    """A text is no call of a tool."""


class ToolFailedError(TapeError):
    """Raised by a tool that cannot do what it was asked for; the agent sees the message, and the call is paid.

    Examples:
        >>> from tape.tools import ToolFailedError, tool
        >>> @tool(pure=True, usd=0)
        ... def population(city: str) -> int:
        ...     "How many people live in a city."
        ...     raise ToolFailedError(f"there is no city {city}")
        >>> population("Atlantis")
        Traceback (most recent call last):
            ...
        tape.tools.errors.ToolFailedError: there is no city Atlantis
    """

    def __init__(self, why: str, *, hint: str = "", used: Resources | None = None) -> None:
        super().__init__(why)
        self.hint = hint
        """What may help, for instance the names that there are; the agent sees it beside the failure."""
        self.used = used
        """What the call has used all the same, its step not counted; None: as the tool's cost says."""


class ToolWarning(UserWarning):
    """Tools of a server that cannot be offered and are left out; the message names them, with reasons.

    Examples:
        >>> import warnings
        >>> from tape.tools import ToolWarning
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("error", ToolWarning)
        ...     warnings.warn("left out: draw (its schema is not understood)", ToolWarning)
        Traceback (most recent call last):
            ...
        tape.tools.errors.ToolWarning: left out: draw (its schema is not understood)
    """
