"""The error of the package."""

from __future__ import annotations

from tape.errors import TapeError


class SearchError(TapeError, ValueError):
    """Anything wrong with a corpus, an option, a query or an action."""
