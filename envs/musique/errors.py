"""The errors of the question answering package."""

from __future__ import annotations

from tape.errors import TapeError


class MusiqueError(TapeError, ValueError):
    """Anything wrong with a question, a corpus or a request about one."""
