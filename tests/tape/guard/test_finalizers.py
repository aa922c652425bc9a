"""Calls that the garbage collector ends, at any point of what threads and guards book.

A schedule has some threads, guards on one or two files or on none, and ledgers. Each thread makes calls and leaves some
half-read, within objects that refer to themselves; while it books, the collector is made to run after bytecodes of the
booking code that the seed picks. A watchdog reports a hang; at the end all that was begun has to be booked, once.
"""

from __future__ import annotations

import gc
import itertools
import os
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tape.budget import Budget, Ledger, Resources
from tape.errors import BudgetExceededError, LockOrderError
from tape.guard.guard import Guard
from tests.tape.gateway.helpers import paid, record

HANG_SECONDS = 60
CAP = 12
BOOKING = tuple(os.path.join("tape", *path) for path in (("budget", ""), ("guard", "charges"), ("guard", "guard")))
CALL = Resources({"steps": 1})


class HalfRead:
    """A stream that nobody reads to its end; only the collector frees it."""

    def __init__(self, stream: Iterator[None]) -> None:
        self.me, self.stream = self, stream
        next(stream)


class Schedule:
    """One schedule.

    Attributes:
        begun: Calls that were let through: the file or ledger that pays. Threads append to a list without a race.
        points: Bytecodes of the booking code that were reached.
        collections: Times that the collector was made to run.
    """

    def __init__(self, seed: int, folder: Path) -> None:
        self._rng = random.Random(seed)
        self.begun: list[str] = []
        self.points = self.collections = 0
        self._stash: list[HalfRead] = []
        files = [folder / f"{seed}-{name}" for name in "ab"[: self._rng.randint(1, 2)]]
        self.guards = [
            (str(file), Guard(Budget.of(steps=CAP), tools={"t": {"usd": 0}}, journal=file))
            for file in (*files, *self._rng.choices(files, k=self._rng.randint(0, 2)))
        ]
        self.guards.append(("none", Guard(Budget.of(steps=CAP), tools={"t": {"usd": 0}})))
        self.run = Ledger(Budget.of(steps=CAP), name="run")
        self.ledgers = [Ledger(name="episode", payer=self.run) for _ in range(2)]

    # --- what threads do: streams, read to their end or half ---------------------------------------

    def of_guard(self, name: str, guard: Guard) -> Iterator[None]:
        with guard.tool("t") as charge:
            self.begun.append(name)
            yield
            charge.answered()

    def of_ledger(self, ledger: Ledger) -> Iterator[None]:
        with ledger.reserve(CALL) as reservation:
            self.begun.append("run")
            yield
            reservation.settle(CALL)

    def of_part(self, ledger: Ledger) -> Iterator[None]:
        with ledger.earmark(steps=2) as part, part.reserve(CALL):
            self.begun.append("run")
            yield

    def read_half(self, stream: Iterator[None]) -> None:
        self._stash.append(HalfRead(stream))

    def one(self, rng: random.Random) -> Callable[[], object]:
        """Something that a thread may do."""
        name, guard = rng.choice(self.guards)
        ledger = rng.choice(self.ledgers)

        return rng.choice(
            [
                lambda: [*self.of_guard(name, guard.within(Budget.of(steps=3)))], lambda: [*self.of_ledger(ledger)],
                guard.left, lambda: ledger.used, lambda: self.read_half(self.of_guard(name, guard)),
                lambda: self.read_half(self.of_ledger(ledger)), lambda: self.read_half(self.of_part(ledger)),
            ]
        )  # fmt: skip

    def thread(self, seed: int) -> None:
        rng = random.Random(seed)
        left = itertools.count()
        collect_at = {rng.randint(0, 4000) for _ in range(rng.choice((2, 8, 40)))}

        def trace(frame: FrameType, event: str, _: Any) -> Any:
            if event == "call":
                if not any(part in frame.f_code.co_filename for part in BOOKING):
                    return None
                frame.f_trace_opcodes = True
            elif event == "opcode":
                self.points += 1
                if next(left) in collect_at and self._stash:
                    self.collections += 1
                    self._stash.pop()  # garbage now, and what it pays with may be locked by this thread
                    gc.collect()
            return trace

        sys.settrace(trace)
        try:
            for _ in range(rng.randint(3, 10)):
                try:
                    self.one(rng)()
                except BudgetExceededError:
                    continue
        finally:
            sys.settrace(None)

    def play(self) -> None:
        """Play it, and check what is booked."""
        seeds = [self._rng.random() for _ in range(self._rng.choice((1, 1, 2, 4)))]
        threads = [threading.Thread(target=self.thread, args=(seed,), daemon=True) for seed in seeds]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(HANG_SECONDS)
        assert not any(thread.is_alive() for thread in threads), "a thread hangs"
        self._stash.clear()
        gc.collect()
        for _, guard in self.guards:
            guard.left()  # of two guards on one file each books what was left for it
        for name, guard in self.guards:
            caps = guard.left()["budgets"][0]
            assert (caps["spent"], caps["reserved"]) == (self.begun.count(name), 0), name
            assert caps["spent"] <= CAP, name
            guard.close()
        assert sum(ledger.used["steps"] or 0 for ledger in self.ledgers) == self.begun.count("run")
        assert (self.run.used["steps"] or 0, self.run.reserved["steps"] or 0) == (self.begun.count("run"), 0)
        assert self.begun.count("run") <= CAP


def sweep(folder: Path, seeds: range, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    monkeypatch.setattr(os, "fsync", lambda _: None)  # what is tested is order, not the disk
    counts = Counter[str]()
    gc.collect()
    gc.freeze()  # a collection looks at what a schedule makes alone
    gc.disable()
    try:
        for seed in seeds:
            schedule = Schedule(seed, folder)
            schedule.play()
            counts["schedules"] += 1
            counts["bytecodes of booking code"] += schedule.points
            counts["collections amid it"] += schedule.collections
            counts["calls begun"] += len(schedule.begun)
    finally:
        gc.enable()
        gc.unfreeze()
    return dict(counts)


@pytest.mark.parametrize(
    "schedules", [pytest.param(30, marks=pytest.mark.timeout(600)), pytest.param(5_000, marks=pytest.mark.soak)]
)
def test_calls_that_the_collector_ends_anywhere_are_booked_and_nothing_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, schedules: int
) -> None:
    numbers = sweep(tmp_path, range(schedules), monkeypatch)
    assert numbers["collections amid it"] > 25
    record("finalizers", numbers | {"hangs": 0})


def test_eight_threads_and_another_program_on_one_journal(tmp_path: Path) -> None:
    """As it was found: the collector runs by itself, and ends calls amid what other threads book."""
    program = f"""
import faulthandler, gc, sys, threading
from tape.guard.guard import Guard
from tests.tape.guard.test_finalizers import HalfRead

faulthandler.dump_traceback_later({HANG_SECONDS}, exit=True)
guard = Guard("steps=100000", tools={{"t": {{"usd": 0}}}}, journal={str(tmp_path / "journal")!r})

def stream():
    with guard.tool("t"):
        yield

def work():
    for _ in range(10):
        HalfRead(stream())
        guard.left()

gc.set_threshold(100, 3, 3)
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
gc.collect()
guard.close()
"""
    others = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(2)]
    assert [other.wait() for other in others] == [0, 0]
    left = Guard("steps=100000", journal=tmp_path / "journal").left()
    assert left["left"] == {"steps": 100_000 - 2 * 8 * 10}
    assert left["budgets"][0]["reserved"] == 0


def test_two_guards_on_one_file_in_one_thread(tmp_path: Path) -> None:
    guard, other = (Guard("steps=9", tools={"t": {"usd": 0}}, journal=tmp_path / "journal") for _ in range(2))

    def stream() -> Iterator[None]:
        with other.tool("t"):
            yield

    held = [HalfRead(stream())]

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if held and frame.f_code.co_name == "append":  # amid a line of the first guard's
            held.clear()
            gc.collect()
        return trace

    sys.settrace(trace)
    try:
        paid(guard.tool("t"))
    finally:
        sys.settrace(None)
    assert not held
    assert guard.left()["left"] == other.left()["left"] == {"steps": 7}
    assert guard.left()["budgets"][0]["reserved"] == other.left()["budgets"][0]["reserved"] == 0


def test_a_budget_is_not_used_amid_what_is_booked() -> None:
    ledger = Ledger(Budget.of(steps=2))
    with ledger._lock, ledger._lock.mutex:
        with pytest.raises(LockOrderError, match=r"finalizer or a signal handler uses a budget"):
            ledger.reserve(CALL)
        with pytest.raises(LockOrderError):
            Ledger().reserve(CALL)  # another tree: two threads could wait for each other
    ledger.reserve(CALL).release()
