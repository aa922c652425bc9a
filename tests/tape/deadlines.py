"""A deadline that passes at a call of the test, so that no test depends on how fast the machine is."""

from __future__ import annotations

import asyncio

from tape.budget.deadline import Deadline


class TimeUp:
    """Call it, from any thread, to let the time of the running episode be up."""

    def __init__(self) -> None:
        self._now = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timeout: asyncio.Timeout | None = None

    def __call__(self) -> None:
        assert self._loop is not None, "no episode runs"
        assert self._timeout is not None
        self._now += 1e6
        self._loop.call_soon_threadsafe(self._timeout.reschedule, self._loop.time())

    def deadline(self, limit: int | None = None) -> Deadline:
        """What stands in for `Deadline`."""
        return _Held(self, limit)

    def clock(self) -> float:
        return self._now

    def watch(self, timeout: asyncio.Timeout) -> asyncio.Timeout:
        self._loop, self._timeout = asyncio.get_running_loop(), timeout
        return timeout


class _Held(Deadline):
    def __init__(self, time_up: TimeUp, limit: int | None) -> None:
        super().__init__(limit, time_up.clock)
        self._time_up = time_up

    def timeout(self) -> asyncio.Timeout:
        super().timeout()  # it notes that this task's time is limited
        return self._time_up.watch(asyncio.timeout(None))
