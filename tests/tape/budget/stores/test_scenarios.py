"""The scenarios of scenarios.toml, of a program's ledger, a guard and the gateway, with all stores."""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tape.budget import (
    Budget,
    Cap,
    Ledger,
    LedgerStore,
    PausedError,
    Period,
    Resources,
    StorePayer,
)
from tape.budget.stores.file import FileStore
from tape.budget.stores.memory import MemoryStore
from tape.errors import BudgetExceededError, UnknownCostError
from tape.gateway.ledgers import Ledgers
from tape.guard.charges import ToolCharge
from tape.guard.guard import Guard

SCENARIOS = tomllib.loads((Path(__file__).parent / "scenarios.toml").read_text())["scenario"]
BEGIN = datetime(2026, 3, 28, 23, 0, tzinfo=UTC)

Call = Callable[[str, int | None, str], Callable[[int], object]]
"""Begins a call of somebody at a worst case; what it gives ends it."""


class Clock:
    """The present."""

    def __init__(self) -> None:
        self.at = BEGIN


def of_ledger(store: LedgerStore, labels: Mapping[str, str], _: Path) -> Call:
    ledgers = {who: Ledger(payer=StorePayer(store, f"org/{who}", labels)) for who in "ab"}

    def call(who: str, worst: int | None, _: str) -> Callable[[int], object]:
        reservation = ledgers[who].reserve(Resources({"usd": worst}))
        return lambda used: reservation.settle(Resources({"usd": used}))

    return call


def of_guard(store: LedgerStore, labels: Mapping[str, str], _: Path) -> Call:
    guards = {who: Guard("") for who in "ab"}
    for who, guard in guards.items():
        guard.ledger = Ledger(payer=StorePayer(store, f"org/{who}", labels))

    def call(who: str, worst: int | None, name: str) -> Callable[[int], object]:
        price = None if worst is None else {"worst": {"usd": f"${worst / 10**6:f}"}, "reported": "cost"}
        guard = guards[who]
        guard.tools = Guard("", tools={} if price is None else {name: price}).tools
        paid: AbstractContextManager[ToolCharge] = guard.tool(name)
        charge = paid.__enter__()

        def end(used: int) -> None:
            charge.answered(structured={"cost": used / 10**6})
            paid.__exit__(None, None, None)

        return end

    return call


def of_gateway(store: LedgerStore, labels: Mapping[str, str], folder: Path) -> Call:
    ledgers = {
        who: Ledgers(Budget(), {}, Budget(), folder / who, StorePayer(store, f"org/{who}", labels)) for who in "ab"
    }

    def call(who: str, worst: int | None, name: str) -> Callable[[int], object]:
        mine = ledgers[who]
        charge = asyncio.run(mine.begin(mine.current("x", 0), name, Resources({"usd": worst})))

        def end(used: int) -> None:
            charge.settle(Resources({"usd": used}))
            mine._settling.submit(int).result()  # it settles in a thread

        return end

    return call


@pytest.fixture
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[LedgerStore, Clock]:
    clock = Clock()
    if request.param == "file":
        return FileStore(tmp_path / "budget.ledger", lambda: clock.at), clock
    if request.param == "memory":
        return MemoryStore(lambda: clock.at), clock
    url = request.getfixturevalue("database")
    from tape.budget.stores.postgres import PostgresStore

    return PostgresStore(url, clock.at), clock


@pytest.mark.parametrize(
    ("bound", "opened"),
    [
        *((bound, "file") for bound in (of_ledger, of_guard, of_gateway)),
        (of_ledger, "memory"),
        (of_ledger, "PostgreSQL"),
    ],
    indirect=["opened"],
)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda item: item["name"].replace(" ", "-"))
def test_all_keep_it(
    scenario: Mapping[str, Any],
    bound: Callable[[LedgerStore, Mapping[str, str], Path], Call],
    opened: tuple[LedgerStore, Clock],
    tmp_path: Path,
) -> None:
    store, clock = opened
    for account, amount, period in scenario["caps"]:
        store.set_cap(Cap(account, "usd", amount, Period.parse(period)), "anna", "")
    call, ends = bound(store, scenario.get("labels", {}), tmp_path), dict[str, Callable[[int], object]]()
    for number, step in enumerate(scenario["steps"]):
        if "call" in step:
            assert says(call, step, ends) == step["says"], (number, step)
        else:
            by_hand(store, clock, step, ends)
    left = {balance.cap.account: balance.left for balance in store.balances()}
    assert left == scenario["left"]
    assert list(store.check()) == []
    store.close()


def says(call: Call, step: Mapping[str, Any], ends: dict[str, Callable[[int], object]]) -> str:
    """What becomes of a call."""
    worst = None if step["worst"] < 0 else step["worst"]
    try:
        end = call(step["call"], worst, "search")
    except PausedError:
        return "paused"
    except BudgetExceededError:
        return "refused"
    except UnknownCostError:
        return "unknown"
    if "open" in step:
        ends[step["open"]] = end
    else:
        end(step["used"])
    return "held"


def by_hand(
    store: LedgerStore, clock: Clock, step: Mapping[str, Any], ends: Mapping[str, Callable[[int], object]]
) -> None:
    """What else happens."""
    match step:
        case {"end": name, "used": used}:
            ends[name](used)
        case {"pass": seconds}:
            clock.at += timedelta(seconds=seconds)
            if hasattr(store, "at"):
                store.at = clock.at
        case {"pause": account}:
            store.pause(account, "anna", "")
        case {"stop": account}:
            store.pause(account, "anna", "", stopped=True)
        case {"resume": account}:
            store.resume(account, "anna", "")
        case {"add": account, "amount": amount}:
            store.top_up(Cap(account, "usd", amount), "anna", "")
        case _:
            raise AssertionError(step)
