"""The journal: on the disk before a call starts, true after any end of the gateway."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.budget import Budget, Resources
from tape.errors import BudgetExceededError, ConfigError
from tape.gateway.errors import JournalError
from tape.gateway.journal import Journal
from tape.gateway.ledgers import Charge, Ledgers
from tape.gateway.settling import settle
from tests.profiles import examples

COST = Resources({"steps": 1, "usd": 400})


def books(path: Path, **caps: int) -> Ledgers:
    given = {name: Budget({"usd": cap}) for name, cap in caps.items()}
    empty = Budget()
    clients = {"local": given.get("client", empty)}
    return Ledgers(given.get("run", empty), clients, given.get("session", empty), Journal(path))


def begin(found: Ledgers, worst: Resources = COST) -> Coroutine[Any, Any, Charge]:
    return found.begin(found.current("local", "a"), "look", worst)


def used(path: Path) -> dict[str, int | None]:
    """What is booked once no process has the journal open."""
    found = books(path, run=1000)
    found.journal.close()
    return dict(found.run.used)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "j"


async def test_what_was_in_flight_counts_until_it_is_settled(path: Path) -> None:
    found = books(path, run=1000)
    (await begin(found)).settle(Resources({"steps": 1, "usd": 100}), "ok")
    await begin(found)
    found.journal.close()  # the process is gone
    again = books(path, run=1000)
    assert dict(again.run.used) == {"steps": 2, "usd": 500}
    assert [(number, one.tool) for number, one in again.left_open.items()] == [(2, "look")]
    again.journal.close()

    journal = Journal(path)
    assert settle(journal, "2:usd=$0.00015").startswith("call 2 of look took {'steps': 1, 'usd': 0.00015}, not")
    with pytest.raises(ConfigError, match="no call 2 was in flight; there is: none"):
        settle(journal, "2:")
    with pytest.raises(ConfigError, match="expected CALL:AMOUNTS"):
        settle(journal, "usd=1")
    journal.close()
    assert used(path) == {"steps": 2, "usd": 250}


async def test_the_disk_has_a_call_before_it_starts(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    sync = os.fsync

    def fsync(descriptor: int) -> None:
        sync(descriptor)
        seen.append(path.read_text())

    found = books(path)
    monkeypatch.setattr(os, "fsync", fsync)
    charge = await begin(found)
    assert json.loads(seen[-1].splitlines()[-1])["reserve"] == 1
    charge.settle(COST, "ok")
    assert len(seen) == 1
    many = await asyncio.gather(*(begin(found) for _ in range(50)))
    assert all(f'"reserve": {number}' in seen[-1] for number in range(2, 52))
    assert len(seen) <= 4  # calls that wait share one
    for one in many:
        one.settle(COST, "ok")
    found.journal.close()


async def test_a_disk_that_fails_lets_nothing_through(path: Path) -> None:
    found = books(path, run=1000)
    with disk() as faults:
        faults[0] = 1
        with pytest.raises(JournalError, match="Input/output error"):
            await begin(found)
    assert not found.run.reserved
    assert found.run.remaining("usd") == 1000
    path.unlink()
    with pytest.raises(JournalError, match="removed or replaced"):
        await begin(found)
    found.journal.close()


async def test_half_a_line_is_taken_back(path: Path) -> None:
    found = books(path, run=1000)
    other = await begin(found)
    file = found.journal._file

    class Full:
        def write(self, line: bytes) -> int:
            if len(line) < 20:
                raise OSError(28, "No space left on device")
            return int(file.write(line[: len(line) // 2]))

        def fileno(self) -> int:
            return file.fileno()

    found.journal._file = Full()  # type: ignore[assignment]
    with pytest.raises(JournalError, match="No space left"):
        await begin(found)
    found.journal._file = file
    other.settle(COST, "ok")
    (await begin(found)).settle(COST, "ok")
    found.journal.close()
    assert used(path) == {"steps": 2, "usd": 800}


async def test_a_call_that_is_cancelled_before_the_disk_has_it_spends_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, sync = threading.Event(), os.fsync

    def slow(descriptor: int) -> None:
        go.wait()
        sync(descriptor)

    found = books(path, run=1000)
    other = await begin(found)  # a single call is synced in place
    monkeypatch.setattr(os, "fsync", slow)
    task = asyncio.create_task(begin(found))
    while len(found.journal.open) < 2:
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    go.set()
    assert task.cancelled()
    other.settle(Resources(), "ok")
    assert not found.run.reserved
    found.journal.close()
    assert not used(path)


def test_two_gateways_do_not_share_a_journal(path: Path) -> None:
    first = Journal(path)
    with pytest.raises(JournalError, match=r"another gateway.*--http"):
        Journal(path)
    first.close()
    Journal(path).close()


@pytest.mark.parametrize(
    "line",
    [
        '{"close": 7, "spent": {}, "outcome": "ok"}', '{"reserve": 1}',
        '{"reserve": 1, "session": "s", "client": "c", "tool": "t", "worst": {"usd": -1}}', "[]", "{}", "no",
    ],
)  # fmt: skip
def test_what_is_no_journal_is_left_alone(path: Path, line: str) -> None:
    Journal(path).close()
    path.write_text(path.read_text() + line + "\n")
    before = path.read_text()
    with pytest.raises(JournalError, match=f"{path}:2"):
        Journal(path)
    assert path.read_text() == before


def test_other_files_are_no_journal(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text('{"schema": 1, "spent": {}}\n')
    with pytest.raises(JournalError, match="runs:1"):
        Journal(tmp_path / "runs")
    (tmp_path / "link").symlink_to(tmp_path / "there")
    with pytest.raises(JournalError, match="symbolic link"):
        Journal(tmp_path / "link")
    with pytest.raises(JournalError, match="--journal"):
        Journal(tmp_path / "no" / "j")


async def test_an_unknown_amount_under_a_new_cap_is_an_error(path: Path) -> None:
    found = books(path)
    await begin(found, Resources({"usd": None}))
    found.journal.close()
    with pytest.raises(ConfigError, match="name another journal"):
        books(path, run=1000)


CAPS = {"run": 3000, "client": 2500, "session": 1200}


@given(seed=st.integers(0, 2**32))
@examples(32)
def test_no_schedule_overspends(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Calls of several sessions that overlap, end, fail, are cut off, and gateways that are killed in between."""
    with disk() as faults:
        asyncio.run(schedule(random.Random(seed), tmp_path_factory.mktemp("s") / "j", faults))


@pytest.mark.soak
def test_no_schedule_of_many_overspends(path: Path, record_property: Callable[[str, object], None]) -> None:
    """Nothing is synced: a process that is killed loses nothing that it has written."""
    calls, schedules = 0, 5_000
    with disk() as faults:
        for seed in range(schedules):
            path.unlink(missing_ok=True)
            calls += asyncio.run(schedule(random.Random(seed), path, faults))
    for name, count in (("schedules", schedules), ("calls", calls), ("overspent", 0)):
        record_property(name, count)


@contextlib.contextmanager
def disk() -> Iterator[list[int]]:
    """A disk that syncs at once, and fails as often as the number in the list."""
    faults = [0]

    def fsync(descriptor: int) -> None:
        if faults[0] > 0:
            faults[0] -= 1
            raise OSError(5, "Input/output error")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        yield faults


async def schedule(rng: random.Random, path: Path, faults: list[int], steps: int = 40) -> int:
    """Play a random schedule, check all caps after each step, and return how many calls were begun."""
    found, open_ = books(path, **CAPS), dict[Charge, int]()
    truly = begun = 0
    """What was really spent; a call that was cut off may have spent anything up to its worst case."""

    def check() -> None:
        assert (found.run.used["usd"] or 0) + (found.run.reserved["usd"] or 0) <= CAPS["run"]
        assert truly <= (found.run.used["usd"] or 0)
        for name, book in found._books.items():
            assert (book.ledger.used["usd"] or 0) + (book.ledger.reserved["usd"] or 0) <= CAPS["session"], name
        for ledger in found._clients.values():
            assert (ledger.used["usd"] or 0) + (ledger.reserved["usd"] or 0) <= CAPS["client"]

    async def start() -> None:
        nonlocal begun
        worst, excess = rng.randrange(1, 700), 1
        keys: list[str | int] = [0, 1, "b", "c"]
        book = found.current("local", rng.choice(keys))
        try:
            charge = await found.begin(book, "look", Resources({"usd": worst, "steps": 1}))
        except BudgetExceededError as error:
            excess = error.used + worst - error.limit
        except JournalError:
            pass
        else:
            open_[charge], begun = rng.randrange(worst + 1), begun + 1
        assert excess > 0

    async def several() -> None:
        await asyncio.gather(*(start() for _ in range(4)))

    async def cancelled() -> None:
        tasks = [asyncio.create_task(start()) for _ in range(3)]
        for _ in range(rng.randrange(4)):
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    async def broken_disk() -> None:
        faults[0] = 1
        await (several if rng.random() < 0.5 else start)()
        faults[0] = 0

    async def end() -> None:
        nonlocal truly
        if open_:
            charge = rng.choice([*open_])
            took = open_.pop(charge)
            truly += took
            if rng.random() < 0.3:
                with charge:  # cut off
                    pass
            else:
                charge.settle(Resources({"usd": took, "steps": 1}), "ok")

    async def crash() -> None:
        nonlocal found, truly
        found.journal.close()
        whole = path.read_bytes()
        if rng.random() < 0.5:  # in the middle of a line
            path.write_bytes(whole + b'{"reserve": 1000, "session": "local:shared", "cli'[: rng.randrange(1, 40)])
        truly += sum(open_.values())
        open_.clear()
        found = books(path, **CAPS)
        assert path.read_bytes() == whole, "half a line stays"

    doing: list[Callable[[], Any]] = [start, several, end, cancelled, broken_disk, crash]
    for _ in range(steps):
        await rng.choices(doing, [6, 1, 7, 1, 1, 0.7])[0]()
        check()
    found.journal.close()
    return begun
