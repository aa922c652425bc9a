"""The deadline of an episode on the real clock (``wall_seconds``).

What waits is cancelled when it passes. What computes in this thread cannot be: it is ended at the next chance, and
how far it went over is measured.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

from tape.budget.resources import in_units, kind_of
from tape.errors import BudgetExceededError
from tape.waiting import answer, call_waiting, context_elsewhere, is_waited_for

T = TypeVar("T")
KIND = "wall_seconds"
LEAST = 0.001
"""Seconds: the least time limit that is passed on."""

MOST = 1e9
"""Seconds: the longest time limit that is passed on, thirty years; clocks of systems count no further than a few of
these."""

_LIMITED: ContextVar[bool] = ContextVar("limited", default=False)
"""Whether the episode that runs in this task has a deadline."""


class DeadlineError(BudgetExceededError):
    """An episode's real time is up."""

    def __init__(self, limit: int, used: int) -> None:
        message = f"{KIND}: {in_units('seconds', limit)} were allowed, {in_units('seconds', used)} have passed"
        super().__init__(KIND, limit, used, 0, "episode", message)


class Deadline:
    """Measures an episode's time and reports when it is up.

    Args:
        limit: In counts of ``wall_seconds`` (milliseconds); None measures only.
        clock: In seconds.
        used: Seconds that an earlier part of the episode has used.
    """

    def __init__(
        self, limit: int | None = None, clock: Callable[[], float] = time.perf_counter, used: float = 0.0
    ) -> None:
        self._limit, self._clock = limit, clock
        self._began = clock() - used

    @property
    def is_set(self) -> bool:
        """Whether there is a limit."""
        return self._limit is not None

    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return self._clock() - self._began

    def left(self) -> float | None:
        """Seconds that are left, from :data:`LEAST` to :data:`MOST`; None without a limit. For solvers and others."""
        return None if self._limit is None else min(max(self._seconds(self._limit) - self.elapsed(), LEAST), MOST)

    def overrun(self) -> float:
        """Seconds beyond the limit so far."""
        return 0.0 if self._limit is None else max(0.0, self.elapsed() - self._seconds(self._limit))

    def error(self) -> DeadlineError:
        """What ends the episode."""
        return DeadlineError(self._limit or 0, int(self.elapsed() / float(kind_of(KIND).resolution)))

    def require(self) -> None:
        """End the episode if its time is up.

        Raises:
            DeadlineError: It is.
        """
        if self._limit is not None and self.elapsed() >= self._seconds(self._limit):
            raise self.error()

    def timeout(self) -> asyncio.Timeout:
        """A context that cancels what waits inside it when the time is up, by ``TimeoutError``.

        From here on :func:`blocking` knows whether this task's time is limited.
        """
        _LIMITED.set(self.is_set)
        left = None if self._limit is None else min(max(0.0, self._seconds(self._limit) - self.elapsed()), MOST)
        return asyncio.timeout(left)

    @staticmethod
    def _seconds(limit: int) -> float:
        return float(kind_of(KIND).amount(limit))


async def blocking(call: Callable[[], T], name: str, *, beside: bool = False) -> T:
    """Make a blocking call; where the running episode has a deadline, in a way that can be given up when it passes.

    Args:
        call: The call.
        name: Names its thread.
        beside: What else runs in this event loop goes on meanwhile, unless a thread waits for this loop alone.
    """
    apart = _LIMITED.get() or (beside and not is_waited_for())
    return await (in_thread(call, name) if apart else call_waiting(call))


async def in_thread(call: Callable[[], T], name: str) -> T:
    """Run a blocking call in a thread of its own, so that the wait for it can be cancelled.

    The thread is left to itself then; it does not keep the process from ending.
    """
    done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    run = context_elsewhere().run
    threading.Thread(target=run, args=(answer, done, call), name=name, daemon=True).start()
    return await done
