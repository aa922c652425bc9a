"""A scope of a store as a payer: of ledgers, guards, agents and runs."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from envs.sokoban.environment import SokobanEnvironment
from tape import Budget, BudgetExceededError, ConfigError, Guard, Ledger, Resources
from tape.agents.react import ReactAgent
from tape.budget import Cap, Ended, Held, HoldRequest, Refused, StorePayer, UnreachableLedgerError, declare
from tape.budget.accounts import MOST
from tape.budget.payer import StoreHold, calling
from tape.budget.stores import shared_file as module
from tape.budget.stores.file import FileStore
from tape.errors import UnknownCostError
from tests.tape.commandline import Tape
from tests.tape.helpers import CORRIDOR, SimulatedModel


class Flaky(FileStore):
    """A file that cannot be reached now and then."""

    down = False

    def settle(self, id: str, amounts: Mapping[str, int | None]) -> Ended:
        if self.down:
            raise UnreachableLedgerError("gone")
        return super().settle(id, amounts)


@pytest.fixture
def store(tmp_path: Path) -> Flaky:
    result = Flaky(tmp_path / "budget.ledger")
    result.set_cap(Cap("org", "usd", 100), "anna", "")
    return result


def test_a_ledger_asks_its_scope(store: Flaky) -> None:
    ledgers = [Ledger(Budget({"usd": 80}), payer=StorePayer(store, f"org/{name}")) for name in "ab"]
    with ledgers[0].reserve(Resources({"usd": 60})) as reservation:
        with pytest.raises(BudgetExceededError, match=r"do not fit into what org has left: \$0.00004 of \$0.0001;"):
            ledgers[1].reserve(Resources({"usd": 41}))
        reservation.settle(Resources({"usd": 20}))
    ledgers[1].reserve(Resources({"usd": 80})).release()
    with pytest.raises(UnknownCostError):
        StorePayer(store, "org").reserve(Resources({"usd": None}))
    assert [(record.scope, record.state, dict(record.spent)) for record in store.history()] == [
        ("org/b", "voided", {}),
        ("org/a", "settled", {"usd": 20}),
    ]
    with pytest.raises(ConfigError, match="a scope is 1 to 8 names"):
        StorePayer(store, "a b")


def test_what_is_due_is_kept_whatever_goes_wrong(store: Flaky, monkeypatch: pytest.MonkeyPatch) -> None:
    payer = StorePayer(store, "org")
    hold = payer.reserve(Resources({"usd": 10}))
    real = module.os.fsync
    for error in (OSError(errno.ENOSPC, "no space left on device"), KeyboardInterrupt()):

        def failing(_: int, error: BaseException = error) -> None:
            raise error

        monkeypatch.setattr(module.os, "fsync", failing)
        with pytest.raises(KeyboardInterrupt) if isinstance(error, KeyboardInterrupt) else nullcontext():
            payer.settle(hold, Resources({"usd": 30}))
    with pytest.raises(KeyboardInterrupt):
        payer.reserve(Resources({"usd": 10}))
    monkeypatch.setattr(module.os, "fsync", real)
    payer.close()
    assert (store.balances()[0].spent, store.balances()[0].held, store.balances()[0].debt) == (30, 0, 20)


def test_a_call_that_was_made_is_booked_as_soon_as_the_store_is_there(store: Flaky) -> None:
    ledger = Ledger(payer=StorePayer(store, "org"))
    reservation = ledger.reserve(Resources({"usd": 60}))
    store.down = True
    reservation.settle(Resources({"usd": 20}))
    assert store.balances()[0].held == 60  # until then at its worst case
    store.down = False
    ledger.reserve(Resources({"usd": 80}))
    assert (store.balances()[0].spent, store.balances()[0].held) == (20, 80)


def test_a_reservation_whose_answer_was_lost_is_given_back(store: Flaky, monkeypatch: pytest.MonkeyPatch) -> None:
    payer, real = StorePayer(store, "org"), store.reserve

    def lost(request: HoldRequest) -> Held | Refused:
        real(request)
        raise UnreachableLedgerError("the answer was lost")

    with monkeypatch.context() as patch:
        patch.setattr(store, "reserve", lost)
        with pytest.raises(UnreachableLedgerError):
            payer.reserve(Resources({"usd": 100}))
    assert payer.reserve(Resources({"usd": 100}))


def test_what_a_store_refuses_for_good_holds_nothing_up(store: Flaky) -> None:
    payer = StorePayer(store, "org")
    holds = [payer.reserve(Resources({"usd": 10})) for _ in range(2)]
    payer.settle(StoreHold("nobody"), Resources({"usd": 1}))
    payer.settle(holds[0], Resources({"usd": 2**64}))
    payer.settle(holds[1], Resources({"usd": 1}))
    assert (store.balances()[0].spent, store.balances()[0].held) == (MOST + 1, 0)


def test_an_end_that_can_never_be_booked_holds_nothing_up_and_is_kept(
    store: Flaky, caplog: pytest.LogCaptureFixture
) -> None:
    payer = StorePayer(store, "org")
    first, second = (payer.reserve(Resources({"usd": 10})) for _ in range(2))
    payer.settle(first, Resources({"usd": 5, "GPU hours": 2}))
    assert (
        f"what the call of hold {first.id} of org took ({{'GPU hours': 2, 'usd': 5}}, in counts) can never"
        in caplog.text
    )
    payer.settle(second, Resources({"usd": 1}))
    payer.release(payer.reserve(Resources({"usd": 1})))
    assert (store.balances()[0].spent, store.balances()[0].held) == (1, 10)  # a person finds it among the holds
    assert store.settle(first.id, {"usd": 5}).spent == {"usd": 5}
    with pytest.raises(ConfigError, match="'GPU hours' is no name of a resource: that has 1 to 100 letters"):
        declare("GPU hours", "hour")


def test_a_late_answer_is_booked_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    now = [datetime(2026, 3, 1, tzinfo=UTC)]
    store = FileStore(tmp_path / "budget.ledger", lambda: now[0])
    store.set_cap(Cap("org", "usd", 100), "anna", "")
    payer = StorePayer(store, "org", seconds=60)
    holds = [payer.reserve(Resources({"usd": 60 - 20 * n})) for n in range(2)]
    now[0] += timedelta(seconds=61)
    assert store.balances()[0].left == 0
    payer.settle(holds[0], Resources({"usd": 80}))
    payer.release(holds[1])
    assert (store.balances()[0].spent, store.balances()[0].debt, store.balances()[0].left) == (80, 20, 20)
    assert (
        f"the hold {holds[0].id} of org had expired: booked is now $0.00008 instead of $0.00006; some of it"
        in caplog.text
    )
    assert f"the hold {holds[1].id} of org had expired: booked is now nothing instead of $0.00004" in caplog.text


def test_a_nested_guard_shows_its_own_caps_too(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/budget.ledger"
    outer = Guard("$0.10", tools={"search": {"usd": "0.02"}}, journal=url, scope="org")
    inner = outer.within("$0.05")
    with inner.tool("search") as call:
        call.answered("found")
    assert inner.left()["left"] == {"usd": 0.03}
    assert outer.left()["left"] == {"usd": 0.08}


def test_guards_of_several_programs_share_a_scope(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/budget.ledger"
    tools = {"search": {"usd": "0.02"}}
    first, second = (Guard("$0.05", tools=tools, journal=url, scope="org/team", labels={"job": "1"}) for _ in range(2))
    with first.tool("search") as call:
        call.answered("found")
    with second.tool("search") as call:
        call.answered("found")
    for guard in (first, second):
        assert guard.left()["left"] == {"usd": 0.01}
        with pytest.raises(BudgetExceededError) as error, guard.tool("search"):
            pass
        assert "search was not called, nothing was spent" in guard.refusal(error.value, "search")
    with pytest.raises(ConfigError, match=r"caps org/team at \$0.05, and this budget says \$0.10; change it by"):
        Guard("$0.10", journal=url, scope="org/team")
    with pytest.raises(ConfigError, match="scope= and labels= are for a ledger"):
        Guard("$0.10", scope="org/team")
    first.close()
    second.close()


def test_an_agent_pays_from_a_scope(store: Flaky) -> None:
    store.set_cap(Cap("org", "steps", 2), "anna", "")
    payer = StorePayer(store, "org/agent")
    result = ReactAgent(SimulatedModel(CORRIDOR)).run(SokobanEnvironment(CORRIDOR, 9), payer=payer)
    assert (result.end_state, result.used["steps"]) == ("budget:steps", 2)
    assert "org" in result.detail


def test_runs_share_a_cap(tmp_path: Path, tape: Tape) -> None:
    url = f"file://{tmp_path}/budget.ledger"
    assert tape("ledger", "--url", url, "cap", "org", "20 steps")[0] == 0
    common = ("run", "tool_chains", "--limit", "4", "--agent", "react", "--quiet", "--ledger", url)
    code, _, error = tape(*common, "--ledger-scope", "org/one", "--out", tmp_path / "one")
    assert code in (0, 3), error
    code, _, error = tape(*common, "--ledger-scope", "org/two", "--out", tmp_path / "two")
    assert (code, "the run's budget is exhausted" in error, "org has left" in error) == (3, True, True), error
    store = FileStore(tmp_path / "budget.ledger")
    assert store.balances()[0].spent == 20
    assert {record.scope for record in store.history()} == {"org/one", "org/two"}


def test_the_command_line_shows_and_changes_caps(tmp_path: Path, tape: Tape, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAPE_LEDGER", f"file://{tmp_path}/budget.ledger")
    assert "the ledger is there, with 0 caps" in tape("ledger", "init")[1]
    shown = tape("ledger", "cap", "org", "$100, 5 calls", "--per", "month#15", "--why", "a contract")[1]
    assert "org      month@UTC#15  $100     $100" in shown
    assert "$120" in tape("ledger", "add", "org", "$20", "--per", "month#15", "--why", "more")[1]
    store = FileStore(tmp_path / "budget.ledger")
    with calling("search"):
        StorePayer(store, "org/team", {"job": "1"}).reserve(Resources({"usd": 10**6}))
    [hold] = store.history()
    assert f"{hold.id} org/team job=1 search: held, worst $1" in tape("ledger", "holds")[1]
    assert f"{hold.id} is settled at $0.5" in tape("ledger", "settle", hold.id, "$0.50")[1]
    assert "$119.5" in tape("ledger", "show", "org/team", "--label", "job=1")[1]
    assert "$120" in tape("ledger", "reset", "org", "usd", "--per", "month#15")[1]
    assert "top_up org usd month@UTC#15 $20 (more)" in tape("ledger", "notes")[1]
    assert tape("ledger", "check")[:2] == (0, "all sums follow from the holds\n")
    assert '"state": "settled"' in tape("ledger", "export")[1]
    for words, says in (
        (("cap", "org", ""), "no amount is given"),
        (("cap", "org", "$1", "--per", "year"), "'year' is no period"),
        (("cap", "org", "$1", "--per", "day@Nowhere"), "'Nowhere' is no time zone"),
        (("cap", "org#customer", "$1"), "a label is written NAME=VALUE"),
        (("--url", "x", "show"), "is no address of a ledger"),
    ):
        code, _, error = tape("ledger", *words)
        assert (code, says in error, len(error.splitlines())) == (2, True, 1), error
