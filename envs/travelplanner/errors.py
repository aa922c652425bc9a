"""The errors of the trip package."""

from __future__ import annotations

from tape.errors import TapeError


class TravelError(TapeError, ValueError):
    """Anything wrong with a query, an offer or a request about one."""
