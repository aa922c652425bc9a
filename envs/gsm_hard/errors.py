"""The errors of the arithmetic package."""

from __future__ import annotations

from envs.data_files import DataFileError
from tape.errors import TapeError


class GsmHardError(TapeError, ValueError):
    """Anything wrong with a problem, a call or a request about one."""


class ArithmeticToolError(GsmHardError):
    """A calculation that has no finite real result; the message names the operation and its numbers."""


class ProblemFileError(DataFileError, GsmHardError):
    """A file of problems that cannot be read; its places are lines."""
