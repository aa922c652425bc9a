"""The errors of the trip package."""

from __future__ import annotations

from envs.data_files import DataFileError
from tape.errors import TapeError


class TravelError(TapeError, ValueError):
    """Anything wrong with a query, an offer or a request about one."""


class TripDataError(DataFileError, TravelError):
    """A file of queries or offers that cannot be read."""
