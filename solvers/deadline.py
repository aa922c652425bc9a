"""A point in time after which a solver must come back with what it has."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from solvers.errors import LateError

T = TypeVar("T")

_BATCH = 2048


class SolveDeadline:
    """So many seconds from when it is made, None for no limit. What takes one raises LateError once it has passed."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    def passed(self) -> bool:
        """Whether the time is up."""
        return self._end is not None and time.monotonic() >= self._end

    def left(self) -> float | None:
        """The seconds that are left, 0 if the time is up; None for no limit."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def check(self) -> None:
        """Raises LateError if the time is up."""
        if self.passed():
            raise LateError("the time was up")

    def each(self, values: Iterable[T]) -> Iterable[T]:
        """The values, for loops over what may be large: the time is looked at every few thousand of them."""
        return values if self._end is None else self._checked(values)

    def _checked(self, values: Iterable[T]) -> Iterator[T]:
        rest = iter(values)
        while batch := list(islice(rest, _BATCH)):
            yield from batch
            if len(batch) == _BATCH:  # so that what is small is done, whatever the time
                self.check()


NEVER = SolveDeadline(None)
"""No limit."""
