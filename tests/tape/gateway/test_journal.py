"""The journal: on the disk before a call starts, true after any end of the gateway."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tape.budget import Budget, LedgerError, PausedError, Resources
from tape.budget.stores.file import FileStore
from tape.errors import BudgetExceededError
from tape.gateway.books import name_of
from tape.gateway.ledgers import Ledgers, SessionCharge
from tests.tape.gateway.helpers import reading

COST = Resources({"steps": 1, "usd": 400})


def books(path: Path, **caps: int) -> Ledgers:
    given = {name: Budget({"usd": cap}) for name, cap in caps.items()}
    empty = Budget()
    clients = {"local": given.get("client", empty)}
    return Ledgers(given.get("run", empty), clients, given.get("session", empty), path)


def begin(ledgers: Ledgers, worst: Resources = COST) -> Coroutine[Any, Any, SessionCharge]:
    return ledgers.begin(ledgers.current("local", 1), "look", worst)


def booked(ledgers: Ledgers) -> dict[str, int | None]:
    """What is spent and held."""
    run = reading(ledgers)
    return dict(Resources(run.spent) + Resources(run.held))


def used(path: Path) -> dict[str, int | None]:
    """What is booked once no process has the journal open."""
    with closing(books(path, run=1000)) as ledgers:
        return booked(ledgers)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "j"


async def test_an_end_that_can_never_be_written_holds_nothing_up(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ledgers = books(path, run=1000)
    (await begin(ledgers)).settle(Resources({"usd": 100, "GPU hours": 1}))
    for _ in range(2):
        (await begin(ledgers, Resources({"usd": 10}))).settle(Resources({"usd": 10}))
    ledgers.close()
    assert "cannot be written" in caplog.text
    assert used(path)["usd"] == 400 + 20  # a person finds its hold, at its worst case


async def test_what_was_in_flight_counts_until_it_is_settled(path: Path) -> None:
    ledgers = books(path, run=1000)
    (await begin(ledgers)).settle(Resources({"steps": 1, "usd": 100}))
    await begin(ledgers)
    ledgers.close()  # the process is gone
    again = books(path, run=1000)
    assert booked(again) == {"steps": 2, "usd": 500}
    (open_,) = again.read(again.others)
    assert (open_.name, open_.scope, open_.state) == ("look", "gateway/local/1", "held")
    FileStore(path).settle(open_.id, {"usd": 150, "steps": 1})
    assert booked(again) == {"steps": 2, "usd": 250}
    assert not again.read(again.others)
    again.close()
    assert used(path) == {"steps": 2, "usd": 250}


async def test_the_disk_has_a_call_before_it_starts(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    sync = os.fsync

    def fsync(descriptor: int) -> None:
        sync(descriptor)
        seen.append(path.read_text())

    ledgers = books(path)
    monkeypatch.setattr(os, "fsync", fsync)
    charge = await begin(ledgers)
    assert json.loads(seen[-1].splitlines()[-1])["worst"] == dict(COST)
    charge.settle(COST)
    many = await asyncio.gather(*(begin(ledgers) for _ in range(50)))
    assert seen[-1].count('"do": "hold"') == 51
    before = len(seen)
    for session_charge in many:
        session_charge.settle(COST)
    booked(ledgers)
    assert seen[-1].count('"state": "settled"') == 51
    assert len(seen) - before < 50  # what is due is written together
    ledgers.close()


async def test_a_disk_that_fails_lets_nothing_through(path: Path) -> None:
    ledgers = books(path, run=1000)
    with disk() as faults:
        faults[0] = 1
        with pytest.raises(LedgerError, match="Input/output error"):
            await begin(ledgers)
    assert not reading(ledgers).held
    assert reading(ledgers).left() == {"usd": 1000}
    path.unlink()
    with pytest.raises(LedgerError, match="removed or replaced"):
        await begin(ledgers)
    ledgers.close()


async def test_what_a_disk_did_not_take_is_written_later(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledgers = books(path, run=1000)
    charge = await begin(ledgers)
    with disk() as faults:
        faults[0] = 1
        charge.settle(Resources({"usd": 10, "steps": 1}))
        await ledgers.look(lambda _: None)
        assert not faults[0]
    assert FileStore(path).history()[0].spent == {"usd": 10, "steps": 1}
    assert "Input/output error" in capsys.readouterr().err
    ledgers.close()
    assert used(path) == {"steps": 1, "usd": 10}


async def test_a_call_that_is_cancelled_before_the_disk_has_it_spends_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, begun, sync = threading.Event(), threading.Event(), os.fsync

    def slow(descriptor: int) -> None:
        begun.set()
        go.wait()
        sync(descriptor)

    ledgers = books(path, run=1000)
    monkeypatch.setattr(os, "fsync", slow)
    task = asyncio.create_task(begin(ledgers))
    await asyncio.to_thread(begun.wait)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    go.set()
    for _ in range(2):
        await ledgers.look(lambda _: None)
    assert not reading(ledgers).held
    ledgers.close()
    assert not any(used(path).values())
    assert [record.state for record in FileStore(path).history()] == ["voided"]


async def test_a_handle_is_known_to_all_gateways_of_a_journal(path: Path) -> None:
    ledgers, other = (books(path, run=1000) for _ in range(2))
    handle = await ledgers.checkpoint(ledgers.current("local", 1))
    await begin(ledgers)
    resumed = await other.resume("local", 2, handle)
    assert resumed is not None
    assert [(call.name, call.state) for call in resumed.in_flight] == [("look", "held")]
    assert not resumed.calls
    assert await other.resume("else", 2, handle) is None
    assert await other.resume("local", 2, "made up") is None
    assert handle not in path.read_text()
    for gateway in (ledgers, other):
        gateway.close()


@pytest.mark.parametrize(
    "line",
    [
        '{"close": 7, "spent": {}, "outcome": "ok"}', '{"reserve": 1}',
        '{"reserve": 1, "session": "s", "client": "c", "tool": "t", "worst": {"usd": -1}}', "[]", "{}", "no",
    ],
)  # fmt: skip
def test_what_is_no_journal_is_left_alone(path: Path, line: str) -> None:
    books(path).close()
    path.write_text(path.read_text() + line + "\n")
    before = path.read_text()
    with pytest.raises(LedgerError, match=f"{path}:2"):
        books(path)
    assert path.read_text() == before


def test_other_files_are_no_journal(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text('{"schema": 1, "spent": {}}\n')
    with pytest.raises(LedgerError, match="runs:1"):
        books(tmp_path / "runs")
    (tmp_path / "link").symlink_to(tmp_path / "there")
    with pytest.raises(LedgerError, match="symbolic link"):
        books(tmp_path / "link")
    with pytest.raises(LedgerError, match="name another"):
        books(tmp_path / "no" / "j")


async def test_a_new_cap_counts_what_was_spent_before_it_and_a_pause_by_hand_is_kept(path: Path) -> None:
    ledgers = books(path)
    (await begin(ledgers)).settle(COST)
    await begin(ledgers)
    ledgers.close()
    capped = books(path, client=1000)
    assert reading(capped, "gateway/local/2").left() == {"usd": 200}
    with pytest.raises(BudgetExceededError, match="client"):
        await begin(capped)
    FileStore(path).pause("gateway/local", "anna", "a look", stopped=True)
    with pytest.raises(PausedError, match="stopped by anna"):
        await begin(capped, Resources({"usd": 1}))
    capped.close()


async def test_an_unknown_amount_under_a_new_cap_is_an_error(path: Path) -> None:
    ledgers = books(path)
    await begin(ledgers, Resources({"usd": None}))
    ledgers.close()
    with pytest.raises(LedgerError, match="name another"):
        books(path, run=1000)


CAPS = {"run": 3000, "client": 2500, "session": 1200}


@pytest.mark.parametrize("schedules", [10, pytest.param(5_000, marks=pytest.mark.soak)])
def test_no_schedule_overspends(path: Path, schedules: int, record_property: Callable[[str, object], None]) -> None:
    """Calls of several sessions that overlap, end, fail, are cut off, and gateways that are killed in between.

    Nothing is synced: a process that is killed loses nothing that it has written.
    """
    calls = 0
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
    """Play a random schedule of one or two gateways, check all caps after each step; how many calls were begun."""
    gateways, open_ = [books(path, **CAPS) for _ in range(rng.randint(1, 2))], dict[SessionCharge, int]()
    truly = begun = 0
    """What was really spent; a call that was cut off may have spent anything up to its worst case."""

    def check(ledgers: Ledgers) -> None:
        assert truly <= (booked(ledgers).get("usd") or 0) <= CAPS["run"]
        for scope in [*ledgers.books.held]:
            taken = reading(ledgers, scope)
            assert (taken.spent["usd"] or 0) + (taken.held["usd"] or 0) <= CAPS[name_of(scope)], scope

    async def start() -> None:
        nonlocal begun
        worst, excess = rng.randrange(1, 700), 1
        keys: list[str | int] = [0, 1, "b", "c"]
        choice = rng.choice(gateways)
        book = choice.current("local", rng.choice(keys))
        try:
            charge = await choice.begin(book, "look", Resources({"usd": worst, "steps": 1}))
        except BudgetExceededError as error:
            excess = error.used + worst - error.limit
        except LedgerError:
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
                charge.settle(Resources({"usd": took, "steps": 1}))

    async def crash() -> None:
        nonlocal truly
        for ledgers in gateways:
            ledgers.close()
        whole = path.read_bytes()
        if rng.random() < 0.5:  # in the middle of a line
            path.write_bytes(whole + b'{"do": "hold", "at": "2026-01-01T00:00:00+00:00", "'[: rng.randrange(1, 40)])
        truly += sum(open_.values())
        open_.clear()
        gateways[:] = [books(path, **CAPS) for _ in gateways]
        assert path.read_bytes() == whole, "half a line stays"

    doing: list[Callable[[], Any]] = [start, several, end, cancelled, broken_disk, crash]
    for _ in range(steps):
        await rng.choices(doing, [6, 1, 7, 1, 1, 0.7])[0]()
        for gateway in gateways:
            check(gateway)
    for gateway in gateways:
        gateway.close()
    return begun
