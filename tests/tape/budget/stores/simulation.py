"""Hosts that share a ledger in a file, with faults drawn from a seed: the production code on a disk and clocks of ours.

A host may crash amid a write, the disk may fill, the machine may lose its power, clocks may jump, messages may come
twice, late, or have their answers lost, and an earlier state of the file may take its place. After every step the file
is opened anew and checked.
"""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tape.budget import Cap, Ended, Held, HoldRequest, LedgerError, Paused, Refused, Rule
from tape.budget.periods import Period
from tape.budget.stores import shared_file as module
from tape.budget.stores.file import FileStore
from tape.budget.verify import verify

BEGIN = datetime(2026, 10, 24, 22, 0, tzinfo=UTC)
PART = "org/c/part:1"
CAPS = (
    Cap("org", "usd", 1000),
    Cap("org/a", "usd", 300, Period.parse("day@Europe/Berlin")),
    Cap("org/b", "usd", 200, Period.parse("rolling:600")),
    Cap("org#customer=42", "usd", 150, Period.parse("hour")),
)


class CrashError(BaseException):
    """The host has died here."""


class Disk:
    """What the store's module uses in the place of ``os``: the same, with faults.

    Args:
        rng: Decides when.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.fault = ""
        self.synced = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def write(self, file: int, data: bytes) -> int:
        """Write all, a part, or nothing."""
        if self.fault == "full":
            if self._rng.random() < 0.5:
                os.write(file, data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "no space left on device")
        if self.fault == "torn":
            os.write(file, data[: self._rng.randrange(len(data))])
            raise CrashError
        return os.write(file, data)

    def fsync(self, file: int) -> None:
        """Have it on the disk."""
        if self.fault == "unsynced":
            raise CrashError
        self.synced = os.fstat(file).st_size
        if self.fault == "unanswered":
            raise CrashError

    def ftruncate(self, file: int, size: int) -> None:
        """Who has died cuts nothing off."""
        if self.fault in ("torn", "unsynced", "unanswered"):
            raise CrashError
        os.ftruncate(file, size)


class Simulation:
    """One schedule.

    Args:
        seed: Of all randomness.
        path: Of the file; removed first.
        replace: Puts the disk in the place of ``os``, as ``monkeypatch.setattr``.
    """

    def __init__(self, seed: int, path: Path, replace: Callable[[Any, str, Any], None]) -> None:
        self._rng, self._path = random.Random(seed), path
        path.unlink(missing_ok=True)
        self._disk = Disk(self._rng)
        replace(module, "os", self._disk)
        self._now = BEGIN
        self._skews = [timedelta()] * 3
        self._hosts: list[FileStore | None] = [None] * 3
        self._ids = 0
        self._open: dict[str, int] = {}
        """Holds that were answered as held, and their worst cases."""
        self._ended: dict[str, Ended] = {}
        self._asked: dict[str, list[tuple[str, Mapping[str, int]]]] = {}
        """The ends that were asked for, answered or not."""
        self._of_part = 0
        """What the part has taken, as far as its end was answered."""
        self._wanted: dict[str, HoldRequest] = {}
        FileStore(path, chain=seed % 2 == 0).close()
        first = self._host(0)
        for cap in CAPS:
            first.set_cap(cap, "sim", "")
        first.reserve(HoldRequest("part", "org/c", {"usd": 200}, part=PART, seconds=86_400))

    def run(self, steps: int) -> None:
        """Play it.

        Raises:
            AssertionError: Something is not as promised.
        """
        for _ in range(steps):
            self._step()
            self._check()
        for host in self._hosts:
            if host is not None:
                host.close()
        lines = self._path.read_text().splitlines()
        assert verify(lines).wrong == []

    def _host(self, number: int) -> FileStore:
        store = self._hosts[number]
        if store is None:
            store = FileStore(self._path, lambda: self._now + self._skews[number])
            store.warned = lambda _: None  # type: ignore[method-assign,assignment]
            self._hosts[number] = store
        return store

    def _die(self, number: int) -> None:
        host, self._hosts[number] = self._hosts[number], None
        if host is not None:
            host.close()

    def _step(self) -> None:
        rng = self._rng
        number = rng.randrange(3)
        self._now += timedelta(seconds=rng.choice((0, 1, 30, 400, 5000)))
        if rng.random() < 0.05:
            self._skews[number] = timedelta(seconds=rng.choice((-4000, -60, 0, 60, 4000)))
        if rng.random() < 0.05:
            self._power_cut()
        if rng.random() < 0.05:
            self._stale_replica(number)
        self._disk.fault = rng.choices(("", "full", "torn", "unsynced", "unanswered"), (80, 5, 5, 5, 5))[0]
        try:
            self._act(self._host(number))
        except CrashError:
            self._disk.fault = ""
            self._die(number)
        except LedgerError as error:
            if not any(words in str(error) for words in ("no space left", "has ended", "is a part")):
                raise
        finally:
            self._disk.fault = ""

    def _power_cut(self) -> None:
        """All hosts die, and what was not synced is gone."""
        for number in range(3):
            self._die(number)
        os.truncate(self._path, self._disk.synced)

    def _stale_replica(self, number: int) -> None:
        """An earlier state of the file stands there for a while: who has seen more refuses."""
        host = self._hosts[number]
        whole = self._path.read_bytes()
        lines = whole.splitlines(keepends=True)
        if host is None or len(lines) < 3 or host._file._read < len(whole):
            return
        os.truncate(self._path, sum(map(len, lines[: self._rng.randrange(2, len(lines))])))
        with pytest.raises(LedgerError, match="was cut"):  # else a file that lacks holds was used
            host.reserve(HoldRequest("stale", "org/c", {"usd": 1}))
        self._path.write_bytes(whole)

    def _by_hand(self, host: FileStore) -> None:
        """Somebody changes caps, pauses and resumes."""
        rng = self._rng
        account = rng.choice(("org", "org/a", "org/b/x"))
        what = rng.choice(("top_up", "reset", "pause", "stop", "resume", "resume", "rule"))
        cap = rng.choice([cap for cap in CAPS if cap.period.unit != "rolling"])
        if what == "top_up":
            host.top_up(Cap(cap.account, "usd", 20, cap.period), "sim", "")
        elif what == "reset":
            host.reset(cap.account, "usd", cap.period, "sim", "")
        elif what == "rule":
            host.set_rule(Rule(account, warn=(50, 80, 100)), "sim", "")
        elif what == "resume" and account in {pause.account for pause in host.pauses()}:
            host.resume(account, "sim", "")
        elif what in ("pause", "stop"):
            host.pause(account, "sim", "", stopped=what == "stop")

    def _act(self, host: FileStore) -> None:
        rng = self._rng
        known = [*self._wanted]
        what = rng.choice(("reserve", "reserve", "again", "settle", "settle", "settle", "void", "grow", "late", "hand"))
        if what == "hand":
            self._by_hand(host)
        elif what == "reserve" or not known:
            self._ids += 1
            request = HoldRequest(
                f"h{self._ids}", rng.choice(("org/a/x", "org/b", "org/c", PART)), {"usd": rng.randrange(60)},
                rng.choice(({}, {"customer": "42"})), seconds=rng.choice((60, 3600)), free=rng.random() < 0.3,
            )  # fmt: skip
            self._wanted[request.id] = request
            self._reserved(host, request)
        elif what == "again":  # a message that comes twice, or whose answer was lost
            self._reserved(host, self._wanted[rng.choice(known)])
        elif what == "grow" and self._open:
            id = rng.choice([*self._open])
            amount = rng.randrange(90)
            if isinstance(host.grow(id, {"usd": amount}), Held):
                self._open[id] = max(self._open[id], amount)
        elif rng.random() < 0.02:
            self._end_part(host)
        elif self._open or self._ended:
            id = rng.choice([*(self._ended if what == "late" and self._ended else self._open or self._ended)])
            spent = {} if what == "void" else {"usd": rng.randrange(70)}
            self._asked.setdefault(id, []).append(("settled" if spent else "voided", spent))
            self._end(id, host.settle(id, spent) if spent else host.void(id))

    def _end_part(self, host: FileStore) -> None:
        """By hand: it takes what was taken in it, and later what is paid beyond that."""
        answer = host.settle("part", {"usd": self._rng.randrange(3)})
        assert answer.state == "settled"
        assert answer.spent["usd"] >= self._of_part, "what a part has taken is not given back"
        self._of_part = answer.spent["usd"]

    def _reserved(self, host: FileStore, request: HoldRequest) -> None:
        answer = host.reserve(request)
        if self._rng.random() < 0.1:  # the connection was cut after it was done
            return
        if isinstance(answer, Paused):
            assert request.id not in self._open, "a hold that was answered is lost"
            paused = any(f"{request.scope}/".startswith(f"{pause.account}/") for pause in host.pauses())
            assert paused or (answer.account, answer.why) == (PART, "the part has ended")
        elif isinstance(answer, Refused):
            assert request.id not in self._open, "a hold that was answered is lost"
            assert answer.cap_needed is not None
            assert answer.cap_needed > answer.amount
        elif answer.state == "held":
            self._open.setdefault(request.id, request.amounts["usd"] or 0)

    def _end(self, id: str, answer: Ended) -> None:
        before = self._ended.setdefault(id, answer)
        assert answer == before, "a hold has ended twice"
        assert (answer.state, answer.spent) in self._asked[id], "an expiry was not replaced by the end that was asked"
        self._open.pop(id, None)

    def _check(self) -> None:
        store = FileStore(self._path, lambda: BEGIN - timedelta(days=1))
        try:
            assert list(store.check()) == []
            holds = {record.id: record for record in store.history(most=10**6)}
            for balance in store.balances():
                assert balance.spent + balance.held <= balance.amount + balance.debt, balance
                assert min(balance.spent, balance.held, balance.debt) >= 0, balance
        finally:
            store.close()
        for id, ended in self._ended.items():
            assert (holds[id].state, holds[id].spent) == (ended.state, ended.spent), "an answered end is lost"
        for id, worst in self._open.items():
            assert id in holds, "an answered hold is lost"
            assert holds[id].state != "held" or (holds[id].worst["usd"] or 0) >= worst
