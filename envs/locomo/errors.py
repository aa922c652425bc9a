"""The errors of the package."""

from __future__ import annotations

from tape.errors import TapeError


class LocomoError(TapeError, ValueError):
    """Anything wrong with a conversation, a question or an option."""
