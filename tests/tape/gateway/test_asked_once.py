"""A destructive call is made if its user was asked and has said yes, once, and under the cap, whoever spends beside."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tape.budget import Budget, Cap, LedgerStore, Resources, Rule, StorePayer, open_store
from tape.gateway.approval import Approvals
from tape.gateway.config import load_config
from tape.gateway.gateway import Gateway
from tape.gateway.ledgers import Ledgers, SessionCharge
from tests.tape.budget.stores.server import Server, missing
from tests.tape.conftest import Keep
from tests.tape.gateway.helpers import WHO, functions, reading, running, write_config

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from tests.tape.gateway.asked_once import Schedule

STEPS = 24
MADE = ("destructive calls made", "refused: budget", "denied", "late", "cut off", "refused: server")
NEVER = ("made unasked", "asked twice", "over the cap")

Stores = list[LedgerStore]


@pytest.fixture(autouse=True)
def no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """No power is cut here."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture(scope="module")
def stores() -> Iterator[Stores]:
    """A PostgreSQL ledger as four programs have it open."""
    pytest.importorskip("psycopg")
    if (why := missing()) is not None:
        pytest.skip(why)
    import psycopg

    from tape.budget.stores.postgres import PostgresStore

    server = Server()
    with ExitStack() as stack:
        stack.callback(server.close)
        url = server.database("asked")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("alter database asked set synchronous_commit to off")  # no power is cut here
        PostgresStore.create(url)
        yield [stack.enter_context(closing(open_store(url))) for _ in range(4)]


# --- single calls -----------------------------------------------------------------------------------

DROP = """[budgets]
run = { usd = "$0.05" }
[python.drop]
function = "FUNCTIONS:echo"
destructive = true
price = { usd = "$0.04" }
"""
TAKES = Resources({"usd": 40_000})


class Person:
    """Approves all, and remembers what was asked; meanwhile something may happen."""

    def __init__(self, *meanwhile: Any) -> None:
        self.asked, self._meanwhile = 0, meanwhile

    async def __call__(self, *_: Any) -> str:
        self.asked += 1
        for item in self._meanwhile:
            await item()
        return ""


async def held(gateway: Gateway) -> SessionCharge:
    return await gateway.ledgers.begin(gateway.ledgers.current(WHO.client, "other"), "drop", TAKES)


async def test_a_budget_that_another_gateway_has_freed_makes_no_call_unasked(tmp_path: Path) -> None:
    person, file = Person(), write_config(tmp_path, DROP)
    async with AsyncExitStack() as stack:
        context, other = [await stack.enter_async_context(running(file)) for _ in range(2)]
        charge = await held(context)
        reading(other)  # as it last saw the journal, nothing fits
        charge.settle(Resources())
        reading(context)
        made = await other.call(WHO, "drop", {"text": "x"}, person)
        assert (made["isError"], person.asked, functions(context.config).calls) == (False, 1, ["x"])


async def test_what_does_not_fit_is_neither_asked_about_nor_made_once_it_fits(tmp_path: Path) -> None:
    person = Person()
    async with running(write_config(tmp_path, DROP)) as gateway:
        charge = await held(gateway)

        async def freed() -> None:
            if charge.open:
                charge.settle(Resources())

        gateway.gates.append(freed)
        made = await gateway.call(WHO, "drop", {"text": "x"}, person)
        assert made["structuredContent"]["error"] == "budget_exceeded"
        assert (person.asked, functions(gateway.config).calls) == (0, [])


async def test_nothing_is_held_while_a_person_thinks_and_what_is_taken_meanwhile_is_gone(tmp_path: Path) -> None:
    store = open_store(f"file://{tmp_path}/org.ledger")
    store.set_cap(Cap("org", "usd", 90_000), "anna", "")
    store.set_rule(Rule("org", "refuse", same=2), "anna", "")  # the look is no call in a row
    text = f'{DROP.replace("0.05", "0.09")}[ledger]\nurl = "file://{tmp_path}/org.ledger"\nscope = "org/desk"\n'
    async with running(write_config(tmp_path, text)) as gateway:

        async def looked() -> None:
            assert [balance.held for balance in store.balances()] == [0]
            assert not reading(gateway).held

        async def taken() -> None:
            store.set_cap(Cap("org", "usd", 70_000), "anna", "")

        assert not (await gateway.call(WHO, "drop", {"text": "x"}, Person(looked)))["isError"]
        made = await gateway.call(WHO, "drop", {"text": "y"}, person := Person(looked, taken))
        assert (made["structuredContent"]["error"], made["structuredContent"]["scope"]) == ("budget_exceeded", "org")
        assert (person.asked, functions(gateway.config).calls) == (1, ["x"])
    assert [(balance.spent, balance.held) for balance in store.balances()] == [(40_000, 0)]


# --- the sweep --------------------------------------------------------------------------------------


async def played(rng: Random, folder: Path, number: int, gateways: int, stores: Stores, counts: Counter[str]) -> None:
    """Play a schedule of so many gateways, which share a journal, or a scope of a ledger."""
    config = load_config(folder / "gateway.toml")
    cap, session = rng.randrange(30_000, 200_000), rng.choice([None, rng.randrange(20_000, 150_000)])
    own, scope = Budget({} if session is None else {"usd": session}), f"s{number}-{gateways}"
    run, journals = Budget({"usd": cap}), [folder / f"{scope}.jsonl"] * (gateways + 1)
    payers: list[StorePayer | None] = [None] * (gateways + 1)
    if stores:
        stores[0].set_cap(Cap(scope, "usd", cap), "anna", "")
        run, journals = Budget(), [folder / f"{scope}-{n}.jsonl" for n in range(gateways + 1)]
        payers = [StorePayer(stores[n], f"{scope}/g{n}") for n in range(gateways + 1)]
    books = [
        Ledgers(run, {"local": Budget()}, own if n < gateways else Budget(), journal, payer)
        for n, (journal, payer) in enumerate(zip(journals, payers, strict=True))
    ]
    try:
        await Schedule(rng, config, books, cap, session, counts).play(STEPS)
        for store in stores[:1]:
            assert [balance.held for balance in store.read(scope)] == [0]
    finally:
        for book in books:
            book.close()
        for path in {*journals}:
            path.unlink()


def sweep(schedules: int, seed: int, folder: Path, stores: Stores) -> dict[str, Any]:
    """Play so many schedules, a third of them each with one, two and three gateways; what happened."""
    write_config(folder, '[python.unused]\nfunction = "FUNCTIONS:echo"\n')
    rng, counts = Random(seed), Counter[str](dict.fromkeys(NEVER, 0))

    async def play() -> None:
        for number in range(schedules):
            await played(rng, folder, number, 1 + number % 3, stores, counts)

    asyncio.run(play())
    return {"schedules": schedules, "seed": seed, **dict(sorted(counts.items()))}


def test_the_sweep_notices_a_call_that_is_let_through_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def careless(*_: Any) -> str:
        return ""

    monkeypatch.setattr(Approvals, "ask", careless)
    assert sweep(6, 5, tmp_path, [])["made unasked"] > 2


def test_a_seed_tells_all_of_a_sweep(tmp_path: Path) -> None:
    assert sweep(3, 3, tmp_path, []) == sweep(3, 3, tmp_path, [])


@pytest.mark.parametrize(("schedules", "least"), [(27, 1), pytest.param(8500, 500, marks=pytest.mark.soak)])
def test_gateways_on_one_journal_make_no_call_unasked(
    schedules: int, least: int, tmp_path: Path, keep_figures: Keep
) -> None:
    judge(sweep(schedules, 5, tmp_path, []), least, "asked_once_journal", keep_figures)


@pytest.mark.parametrize(("schedules", "least"), [(12, 1), pytest.param(1500, 150, marks=pytest.mark.soak)])
def test_gateways_on_one_postgres_ledger_make_no_call_unasked(
    schedules: int, least: int, tmp_path: Path, stores: Stores, keep_figures: Keep
) -> None:
    judge(sweep(schedules, 5, tmp_path, stores), least, "asked_once_postgres", keep_figures)


def judge(values: dict[str, Any], least: int, name: str, keep: Keep) -> None:
    """Nothing happened that must not; all else often enough."""
    assert [values[text] for text in NEVER] == [0, 0, 0], values
    assert min(values.get(text, 0) for text in MADE) >= least, values
    keep(name, values)
