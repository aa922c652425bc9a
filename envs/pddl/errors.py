"""The errors of planning problems."""

from __future__ import annotations

from pathlib import Path

from tape.errors import TapeError


class PddlError(TapeError, ValueError):
    """A planning problem, a name or a plan is wrong; the message says what and where.

    Args:
        what: What is wrong, and what to do.
        file: The file.
        line: Its line, counted from 1.
    """

    def __init__(self, what: str, file: Path | None = None, line: int | None = None) -> None:
        place = "" if file is None else f"{file}: " if line is None else f"{file}, line {line}: "
        super().__init__(f"{place}{what}")
