"""The errors of the arithmetic package."""

from __future__ import annotations

from tape.errors import TapeError


class GsmHardError(TapeError, ValueError):
    """Anything wrong with a problem, a call or a request about one."""


class ArithmeticToolError(GsmHardError):
    """A calculation that has no finite real result; the message names the operation and its numbers."""
