"""What surrounds the workers of a simulated schedule: time, a receiver that counts effects, lines to the store."""

from __future__ import annotations

import heapq
import random
import types
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Literal, NamedTuple

from tape.budget import LedgerError
from tape.budget.stores.memory import MemoryStore

BEGIN = datetime(2026, 10, 24, tzinfo=UTC)
POINTS = ("crash before", "request lost", "answer lost", "late", "doubled", "crash after")
"""What may befall a request to the store."""
Assumption = Literal["kept", "fenced", "broken"]
"""Of a tool with ``outcome=``. ``kept``: its call arrives within the lease, or never. ``fenced``: it may come later,
and the receiver refuses an attempt below the last one that has asked. ``broken``: it may come later, and is taken."""


class CrashError(BaseException):
    """The worker has died here: nothing of it runs any more."""


class Faults(NamedTuple):
    """How a schedule is disturbed.

    Attributes:
        rate: The chance of a fault where there may be one.
        slow: The chance that a call takes longer than the lease.
        skew: Seconds by which the workers' clocks are apart, where the store takes theirs (a file does).
        assumption: About calls of tools with ``outcome=``.
    """

    rate: float
    slow: float
    skew: float
    assumption: Assumption


@types.coroutine
def pause(seconds: float) -> Generator[float, None, None]:
    """Let others go on for so long."""
    yield seconds


class Timeline:
    """Runs coroutines and single events in the order of a simulated clock."""

    def __init__(self) -> None:
        self.now = 0.0
        self.skew = 0.0
        """Of the worker that asks the store."""
        self._order = count()
        self._queue: list[tuple[float, int, Callable[[], None]]] = []

    def present(self) -> datetime:
        """What the store's clock says."""
        return BEGIN + timedelta(seconds=self.now + self.skew)

    def at(self, delay: float, event: Callable[[], None]) -> None:
        """Let something happen after a while."""
        heapq.heappush(self._queue, (self.now + delay, next(self._order), event))

    def run(self) -> None:
        """Play until nothing is left to happen."""
        while self._queue:
            self.now, _, event = heapq.heappop(self._queue)
            event()


class Receiver:
    """Makes effects and counts them, by key.

    Attributes:
        made: How often each effect was made.
        spent: What all of them have cost.
    """

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()
        self.spent = 0
        self._fences: dict[str, int] = {}

    def arrive(self, key: str, attempt: int, cost: int, *, once: bool) -> bool:
        """A call arrives; False where it is refused by a fence. With ``once`` a known key changes nothing."""
        if attempt < self._fences.get(key, 0):
            return False
        if not (once and self.made[key]):
            self.made[key] += 1
            self.spent += cost
        return True

    def fence(self, key: str, attempt: int) -> None:
        """Refuse earlier attempts from now on."""
        self._fences[key] = max(attempt, self._fences.get(key, 0))


class Line:
    """A worker's line to the store, on which requests are lost, doubled, come late, or are the last of the worker.

    Args:
        store: The store.
        time: The clock.
        rng: Decides.
        faults: How often.
        skew: Of the worker's clock.
    """

    def __init__(self, store: MemoryStore, time: Timeline, rng: random.Random, faults: Faults, skew: float) -> None:
        self._store, self._time, self._rng, self._faults, self._skew = store, time, rng, faults, skew
        self.dead = False
        self._cut_until = 0.0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *args: self._ask(name, *args)

    def _ask(self, name: str, *args: Any) -> Any:
        if self.dead:
            raise CrashError
        if self._time.now < self._cut_until:
            raise LedgerError("the store cannot be reached")
        fault = self._rng.choice(POINTS) if self._rng.random() < self._faults.rate else ""
        if fault in ("request lost", "late") and self._rng.random() < 0.3:
            self._cut_until = self._time.now + self._rng.choice((1, 30, 120))
        if fault == "crash before":
            self.die()
        if fault == "request lost":
            raise LedgerError("the request was lost")
        if fault == "late":
            self._later(name, *args)
            raise LedgerError("the request was not answered in time")
        answer = self._apply(name, *args)
        if fault == "doubled":
            self._later(name, *args)
        if fault == "answer lost":
            raise LedgerError("the answer was lost")
        if fault == "crash after":
            self.die()
        return answer

    def die(self) -> None:
        """Die here.

        Raises:
            CrashError: Always.
        """
        self.dead = True
        raise CrashError

    def _apply(self, name: str, *args: Any) -> Any:
        self._time.skew = self._skew
        return getattr(self._store, name)(*args)

    def _later(self, name: str, *args: Any) -> None:
        def arrive() -> None:
            with suppress(LedgerError):  # nobody hears that it is refused
                self._apply(name, *args)

        self._time.at(self._rng.choice((0, 1, 40, 200)), arrive)
