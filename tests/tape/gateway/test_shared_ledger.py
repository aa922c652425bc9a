"""A gateway whose calls are paid from a ledger too."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tape.budget import Budget, Cap, Resources, Rule, open_store, paying
from tape.errors import BudgetExceededError, ConfigError
from tape.gateway.config import load_config
from tape.gateway.ledgers import Ledgers
from tests.tape.gateway.helpers import gateway_on, reading

PYTHON = '[python.rate]\nfunction = "my_tools:rate"\n'
COST = Resources({"usd": 400})


def written(folder: Path, ledger: str) -> Path:
    path = folder / "gateway.toml"
    path.write_text(f"{PYTHON}[ledger]\n{ledger}\n")
    return path


def test_a_call_has_to_fit_into_the_ledger_too(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/budget.ledger"
    config = load_config(written(tmp_path, f'url = "{url}"\nscope = "org/gateway"\nlabels = {{ customer = "42" }}'))
    store = open_store(url)
    store.set_cap(Cap("org", "usd", 700), "anna", "")
    with paying(config.ledger.url, config.ledger.scope, config.ledger.labels) as payer:
        ledgers = Ledgers(Budget({"usd": 9999}), {"local": Budget()}, Budget(), tmp_path / "journal", payer)
        session = ledgers.current("local", "a")
        charge = asyncio.run(ledgers.begin(session, "look", COST))
        assert store.balances()[0].held == 400
        assert asyncio.run(ledgers.seen(session)).left() == {"usd": 300}
        assert reading(ledgers, session).left() == {"usd": 9599}
        with pytest.raises(BudgetExceededError, match="do not fit into what org has left"):
            asyncio.run(ledgers.begin(session, "look", COST))
        charge.settle(Resources({"usd": 100}))
        ledgers.close()
    assert (store.balances()[0].spent, store.balances()[0].held) == (100, 0)
    [hold] = store.history()
    assert (hold.scope, hold.labels, hold.name) == ("org/gateway", {"customer": "42"}, "look")


@pytest.mark.parametrize("shared", [False, True])
async def test_a_call_that_was_cut_off_is_named_with_the_amounts_to_settle(shared: bool, tmp_path: Path) -> None:
    table = f'[ledger]\nurl = "file://{tmp_path}/org.ledger"\nscope = "org/desk"\n' if shared else ""
    killed = Ledgers(Budget(), {"local": Budget()}, Budget(), tmp_path / "gateway.journal.jsonl")
    charge = await killed.begin(killed.current("local", "a"), "look", COST)
    async with gateway_on(
        tmp_path, f'[python.look]\nfunction = "tape.gateway.example:quick_search"\n{table}'
    ) as gateway:
        [warned] = [warning for warning in gateway.warnings() if "a call of look is open" in warning]
    assert f"settle {charge.id} AMOUNTS ('1 step, $0.01')" in warned
    assert ("tape ledger holds org/desk" in warned) == shared
    charge.settle(Resources())
    killed.close()


def test_a_call_that_waits_holds_up_no_other_and_gives_back_when_nobody_wants_it(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/budget.ledger"
    store = open_store(url)
    store.set_cap(Cap("org", "usd", 700), "anna", "")
    store.set_rule(Rule("org", "wait", 60), "anna", "")
    caps = Budget({"usd": 9999})

    async def calls(ledgers: Ledgers) -> None:
        session = ledgers.current("local", "a")
        first = await ledgers.begin(session, "look", COST)
        waiting, unwanted = (asyncio.ensure_future(ledgers.begin(session, "look", COST)) for _ in range(2))
        small = await ledgers.begin(session, "look", Resources({"usd": 1}))
        assert not waiting.done()
        unwanted.cancel()
        first.settle(Resources({"usd": 100}))
        (await waiting).settle(Resources({"usd": 100}))
        small.settle(Resources({"usd": 1}))

    with paying(url, "org/gateway") as payer:
        ledgers = Ledgers(caps, {"local": Budget()}, Budget(), tmp_path / "journal", payer)
        asyncio.run(calls(ledgers))
        assert reading(ledgers).spent["usd"] == 201
        ledgers.close()
    assert (store.balances()[0].spent, store.balances()[0].held) == (201, 0)


def test_an_address_may_stand_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUDGETS", "postgresql://tape:secret@db/budgets")
    assert load_config(written(tmp_path, 'url_env = "BUDGETS"')).ledger.url == "postgresql://tape:secret@db/budgets"


@pytest.mark.parametrize(
    ("ledger", "says"),
    [
        ('url = "file:///a"\nurl_env = "BUDGETS"', "field ledger: give either url or url_env"),
        ('url = "nonsense"', "field ledger.url: this is no address of a ledger"),
        ('url_env = "NOT_SET_ANYWHERE"', "field ledger.url_env: the environment variable NOT_SET_ANYWHERE is not set"),
        ('url = "postgresql://tape:secret@db/x"', "field ledger.url: a password must not stand in the file"),
        ('url = "file:///a"\nscope = "a b"', "field ledger.scope: a scope is 1 to 8 names"),
        ('address = "x"', "there is no such setting"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, ledger: str, says: str) -> None:
    with pytest.raises(ConfigError) as error:
        load_config(written(tmp_path, ledger))
    assert says in str(error.value)
    assert "secret" not in str(error.value)
