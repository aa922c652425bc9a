"""A point in time after which a solver must come back with what it has."""

from __future__ import annotations

import time


class Deadline:
    """Starts running when it is made.

    Args:
        seconds: The time there is; None for no limit.
    """

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    def passed(self) -> bool:
        """Whether the time is up."""
        return self._end is not None and time.monotonic() >= self._end
