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

    def left(self) -> float | None:
        """The seconds that are left, 0 if the time is up; None for no limit."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())
