"""Agents as workflows of DBOS, on a real PostgreSQL: recovery after a kill, approvals over restarts, budgets."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.places import ROOT
from tests.tape.budget.stores.server import Server, missing

pytest.importorskip("dbos")
pytest.importorskip("psycopg")
if (why := missing()) is not None:
    pytest.skip(why, allow_module_level=True)

from dbos import DBOS, SetWorkflowID

from tape import FallbackModel, TapeAgent
from tape.adapters.dbos import DurableAgent, approve, go_on, question
from tape.budget import Cap, LedgerStore, open_store
from tape.budget.stores.postgres import PostgresStore
from tape.errors import ConfigError, ResumeError, UnfinishedCallError
from tape.lm.scripted import ScriptedLM
from tests.tape.adapters.durable import ASKING, CUT, SCOPE, Bank, durable, launched, tools

CAP = 20_000_000
STEPS = [f"tape {step}" for step in ("begun", "model", "tool rate", "model", "tool pay", "tool answer")]


class Workplace:
    """A database with a ledger and with DBOS, where a worker was killed, and another one has taken over."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.url = server.database("durable")
        PostgresStore.create(self.url)
        self.store: LedgerStore = open_store(self.url)
        self.store.set_cap(Cap("org", "usd", CAP), "anna", "the first cap")
        self.bank = Bank(folder / "payments")
        worker = [sys.executable, "-m", "tests.tape.adapters.durable", self.url, str(self.bank.file)]
        killed = subprocess.run(worker, cwd=ROOT, check=False, timeout=60, capture_output=True, text=True)
        assert killed.returncode == -9, killed.stderr
        self.before = {kind: self.bank.lines(f"cut-{kind}") for kind in (*CUT, *ASKING)}
        self.agents = {kind: durable(self.bank, self.store, kind) for kind in (*CUT, *ASKING)}
        launched(self.url, "second")
        DBOS._recover_pending_workflows(["killed"])

    def restart(self) -> None:
        """Shut DBOS down, and launch it again: it recovers what its program had under way."""
        DBOS.destroy()
        launched(self.url, "second")

    def result(self, id: str) -> dict[str, Any]:
        """What a workflow returns."""
        result: dict[str, Any] = DBOS.retrieve_workflow(id).get_result(polling_interval_sec=0.05)
        return result

    def run(self, agent: DurableAgent, id: str, budget: str = "$3, 20 steps") -> dict[str, Any]:
        """Run a workflow to its end."""
        with SetWorkflowID(id):
            return agent.workflow("Pay Ann.", budget)

    def again(self, id: str, step: int) -> dict[str, Any]:
        """Recover a workflow as if it had been killed before a step was recorded."""
        result: dict[str, Any] = DBOS.rewind_workflow(id, start_step=step).get_result(polling_interval_sec=0.05)
        return result

    def steps(self, id: str) -> list[str]:
        """The names of the steps of a workflow."""
        return [step["function_name"] for step in DBOS.list_workflow_steps(id)]

    def taken(self) -> int:
        """What is spent and held of the cap."""
        [balance] = self.store.read(SCOPE)
        return balance.spent + balance.held


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workplace]:
    server = Server()
    made = Workplace(server, tmp_path_factory.mktemp("bank"))
    yield made
    DBOS.destroy(destroy_registry=True)
    made.store.close()
    server.close()


def test_a_run_to_its_end_pays_once_for_each_step(
    place: Workplace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    store = PostgresStore(place.url)
    ask = store._batches.ask

    def counting(**request: Any) -> Any:
        asked.append(request["do"])
        return ask(**request)

    monkeypatch.setattr(store._batches, "ask", counting)
    store.set_cap(Cap("whole", "usd", CAP), "anna", "")
    bank = Bank(tmp_path / "payments")
    result = place.run(replace(durable(bank, store, "plain", "whole"), scope="whole/run"), "whole")
    assert (result["end_state"], result["answer"]) == ("success", "paid ann")
    assert place.steps("whole") == STEPS
    assert [do for do in asked if do in ("claim", "finish")] == ["claim", "finish"]
    [balance] = store.read("whole")
    assert (balance.spent, balance.held) == (result["used"]["usd"], 0)
    calls, before = bank.asked, len(asked)
    again, timed = place.again("whole", 1 + len(STEPS)), ("wall_seconds", "solver_seconds")
    assert {**again, **dict.fromkeys(timed)} == {**result, **dict.fromkeys(timed)}
    assert (bank.asked, len(bank.lines("whole"))) == (calls, 2)
    assert not {"reserve", "claim", "finish", "cap"} & {*asked[before:]}
    assert store.read("whole") == [balance]
    again = place.again("whole", 1 + STEPS.index("tape tool pay"))  # as if killed before the payment was recorded
    assert (again["answer"], bank.asked, len(bank.lines("whole"))) == ("paid ann", calls, 2)
    assert [do for do in asked if do in ("claim", "finish")] == ["claim", "finish", "claim"]
    store.close()


def test_a_run_goes_on_where_its_worker_was_killed(place: Workplace) -> None:
    for kind in CUT[:4]:
        result, before, lines = place.result(f"cut-{kind}"), place.before[kind], place.bank.lines(f"cut-{kind}")
        assert result["end_state"] == "success", kind
        paid = [line for line in lines if line != "rate"]
        if kind == "model":
            assert before == []
        if kind == "pure":
            assert (before, lines[:2]) == (["rate"], ["rate", "rate"])  # it may be called again
        key = paid[0].split()[0]
        assert paid == ([f"{key} 1", f"{key} 2"] if kind == "idempotent" else [f"{key} 1"]), kind
        assert result["answer"] == ("it was paid" if kind == "outcome" else "paid ann")


def test_a_call_of_which_nobody_knows_waits_for_a_person(place: Workplace) -> None:
    with pytest.raises(UnfinishedCallError) as caught:
        place.result("cut-plain")
    [key] = [line.split()[0] for line in place.bank.lines("cut-plain") if line != "rate"]
    assert key in str(caught.value)
    place.store.decide(key, "anna", "the bank has not got it", done=False)
    assert go_on("cut-plain").get_result(polling_interval_sec=0.05)["end_state"] == "success"
    assert place.bank.lines("cut-plain")[1:] == [f"{key} 1", f"{key} 2"]


def test_an_answer_that_comes_after_a_restart_counts(place: Workplace) -> None:
    taken = place.taken()
    for kind in ASKING:
        asked = question(f"cut-{kind}")
        assert asked is not None
        assert asked["action"].startswith("pay")
        assert place.before[kind] == ["rate"]
    assert place.taken() == taken, "while a person is asked nothing is set aside"
    place.restart()
    approve("cut-yes", "1", allow=True)
    assert place.result("cut-yes")["end_state"] == "success"
    assert len(place.bank.lines("cut-yes")) == 2
    approve("cut-no", "1", allow=False)
    refused = place.result("cut-no")
    assert (refused["end_state"], place.bank.lines("cut-no")) == ("infeasible", ["rate"])
    assert question("cut-no") is None


def test_after_a_yes_the_ledger_may_still_refuse(place: Workplace) -> None:
    place.store.set_cap(Cap("small", "usd", 5_000_000), "anna", "")
    agent = replace(place.agents["yes"], scope="small/team", name="late")
    with SetWorkflowID("late"):
        handle = DBOS.start_workflow(agent.workflow, "Pay Ann.", "$9, 20 steps")
    assert question("late", 20) is not None
    [balance] = place.store.read("small")
    place.store.set_cap(Cap("small", "usd", balance.spent + 1_000), "anna", "less")
    approve("late", "1", allow=True)
    assert handle.get_result(polling_interval_sec=0.05)["end_state"] == "budget:usd"
    assert place.bank.lines("late") == ["rate"]


def test_what_was_refused_stays_refused_over_a_recovery(place: Workplace) -> None:
    place.store.set_cap(Cap("tight", "usd", 100_000), "anna", "")
    agent = replace(place.agents["plain"], scope="tight/team", name="tight")
    first = place.run(agent, "tight")
    assert first["end_state"] == "budget:usd"
    assert place.steps("tight")[-1] == "tape refused"
    place.store.set_cap(Cap("tight", "usd", CAP), "anna", "more")
    last = len(place.steps("tight"))
    assert place.again("tight", last + 1)["end_state"] == "budget:usd"
    assert place.again("tight", last)["end_state"] == "success", "the record was taken away"


def test_a_failed_call_is_not_made_again_by_a_recovery(place: Workplace) -> None:
    place.bank.fails = 1
    first = place.run(place.agents["plain"], "closed")
    lines = place.bank.lines("closed")
    again = place.again("closed", 1 + len(place.steps("closed")))
    assert again["actions"] == first["actions"]
    assert len(again["failed_calls"]) == len(first["failed_calls"]) == 1
    assert place.bank.lines("closed") == lines


def test_a_workflow_that_comes_out_otherwise_is_refused(place: Workplace) -> None:
    agent = replace(place.agents["plain"], name="changed")
    place.run(agent, "changed")
    other = TapeAgent(ScriptedLM(["answer(1)"], identity="another one"), tools=tools(place.bank, "plain"))
    replace(agent, agent=other)  # takes the place of the workflow
    with pytest.raises(ResumeError, match="the model is asked for something else"):
        place.again("changed", 1 + len(STEPS))
    assert len(place.bank.lines("changed")) == 2


def test_what_cannot_be_played_again_is_refused(place: Workplace) -> None:
    model, items = ScriptedLM(["answer(1)"]), tools(place.bank, "plain")
    for agent, why in (
        (TapeAgent(model), "tasks in words"),
        (TapeAgent(model, tools=items, parallel=2), "at once"),
        (TapeAgent(model, tools=items, world_model="copy"), "copy"),
        (TapeAgent(FallbackModel(model, model), tools=items), "learns"),
    ):
        with pytest.raises(ConfigError, match=why):
            DurableAgent(agent, place.store, SCOPE, name="never")
    with pytest.raises(ConfigError, match="wall_seconds"):
        place.run(place.agents["plain"], "timed", "$1, 60 wall_seconds")


def test_caps_hold_over_all_of_it(place: Workplace) -> None:
    assert place.store.check() == []
    for balance in place.store.balances():
        assert balance.spent + balance.held <= balance.amount
    [cut, whole] = [b for b in place.store.read(f"{SCOPE}/cut-model") if b.cap.resource == "usd"]
    assert (cut.amount, whole.amount) == (3_000_000, CAP)
    assert cut.spent == place.result("cut-model")["used"]["usd"]
    assert cut.held > 0, "the worst case of the call that the killed worker made"
