"""Errors of prices and of calls."""

from __future__ import annotations

from collections.abc import Sequence

from tape.errors import ConfigError, TapeError


class FieldError(ConfigError):
    """A field of the configuration is wrong; the reader of the file adds where it stands.

    Args:
        path: The keys that lead to the field.
        message: What is wrong, and what to do.
    """

    def __init__(self, path: Sequence[str | int], message: str) -> None:
        self.path, self.message = tuple(path), message
        super().__init__(f"field {'.'.join(map(str, path))}: {message}")


class ChargeError(TapeError):
    """The cost of a call does not follow from its arguments; the call is refused."""
