"""Effects of plans, claimed where a store pays: made once, over workers, retries and rewording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tape import TapeAgent, tool
from tape.agents.paid_before import PaidBefore
from tape.budget import Cap, LedgerStore, Resources, StorePayer
from tape.budget.claims import decided
from tape.budget.stores.memory import MemoryStore
from tape.cli.main import main
from tape.errors import ConfigError, UnfinishedCallError
from tape.lm.scripted import ScriptedLM
from tape.tools import Happened, Tool, ToolContext, ToolError

SCOPE = "org/run"


Killed = KeyboardInterrupt
"""Stands for the end of a worker amid a call."""


class Bank:
    """Where payments go; the first call of each key ends its worker, after the payment or before."""

    def __init__(self, *, dies: str = "") -> None:
        self.paid: list[str] = []
        self.calls: list[tuple[str, int]] = []
        self.dies = dies

    def tool(self, **settings: Any) -> Tool:
        """The tool that pays."""

        @tool(usd="0.01", key="to", thread="caller", **settings)
        def pay(ctx: ToolContext, to: str, text: str = "") -> str:
            """Pay somebody."""
            del text
            self.calls.append((ctx.key, ctx.attempt))
            dies, self.dies = self.dies, ""
            if dies == "before":
                raise Killed
            if ctx.key not in self.paid:
                self.paid.append(ctx.key)
            if dies == "after":
                raise Killed
            return f"paid {to}"

        return pay

    def happened(self, ctx: ToolContext, to: str) -> Happened | bool:
        """Whether a payment was made."""
        return Happened(f"paid {to}") if ctx.key in self.paid else False


@pytest.fixture
def store() -> LedgerStore:
    store = MemoryStore()
    store.set_cap(Cap("org", "usd", 50_000), "anna", "")
    return store


def run(store: LedgerStore, bank: Bank, program: str = "p = pay('ann')\nanswer(p)", **settings: Any) -> Any:
    """Play the run ``order-1`` with a worker of its own."""
    agent = TapeAgent(ScriptedLM([program]), tools=[bank.tool(**settings.pop("tool", {}))])
    payer = StorePayer(store, SCOPE, lease=1)
    try:
        if "resume" in settings:
            return agent.resume(settings["resume"], payer=payer)
        return agent.run("Pay Ann.", budget="$1, 10 steps", payer=payer, run="order-1", **settings)
    finally:
        payer.close()


def taken(store: LedgerStore) -> tuple[int, int]:
    """What is spent and held."""
    [balance] = store.read(SCOPE)
    return balance.spent, balance.held


def test_another_worker_makes_nothing_twice_however_the_plan_is_worded(store: LedgerStore) -> None:
    bank = Bank()
    first = run(store, bank)
    for program in ("p = pay(to='ann', text='other words')\nanswer(p)", "answer(pay('ann'))"):
        again = run(store, bank, program)
        assert (again.end_state, again.answer, again.used["usd"]) == ("success", "paid ann", 10_000)
    assert first.answer == "paid ann"
    assert len(bank.calls) == 1
    assert taken(store) == (10_000, 0), "it is paid once"
    assert run(store, bank, "p = pay('bob')\nanswer(p)").answer == "paid bob"
    assert taken(store) == (20_000, 0)


@pytest.mark.parametrize("dies", ["before", "after"])
@pytest.mark.parametrize("how", ["resume", "again"])
@pytest.mark.parametrize("kind", ["idempotent", "outcome", "plain"])
def test_a_worker_that_ends_amid_a_call(store: LedgerStore, tmp_path: Path, dies: str, how: str, kind: str) -> None:
    """One tool is called again with its key, one is asked what happened, and of any other nobody knows."""
    bank, trace = Bank(dies=dies), tmp_path / "trace.jsonl"
    tools = {"idempotent": {"idempotent": True}, "outcome": {"outcome": bank.happened}, "plain": {}}[kind]
    with pytest.raises(Killed):
        run(store, bank, tool=tools, trace=trace)
    assert taken(store) == (0, 10_000)
    more: dict[str, Any] = {"resume": trace} if how == "resume" else {}
    if kind == "plain":
        for _ in range(2):
            with pytest.raises(UnfinishedCallError, match="is unknown"):
                run(store, bank, tool=tools, **more)
        assert taken(store) == (10_000, 0), "it counts as spent"
        [claim] = store.claims(SCOPE)
        store.decide(claim.key, "anna", "asked the bank", done=dies == "after", outcome=decided('"paid ann"'))
    result = run(store, bank, tool=tools, **more)
    assert (result.end_state, result.answer) == ("success", "paid ann")
    assert len(bank.paid) == 1
    assert taken(store) == (10_000, 0)
    calls = 1 if dies == "after" and kind != "idempotent" else 2
    assert [attempt for _, attempt in bank.calls] == [1, 2][:calls]
    assert len({key for key, _ in bank.calls}) == 1


def test_an_outcome_that_cannot_tell_leaves_it_to_people(store: LedgerStore) -> None:
    bank = Bank(dies="after")
    with pytest.raises(Killed):
        run(store, bank, tool={"outcome": lambda ctx: None})
    for outcome, why in ((lambda ctx: None, "returned None"), (lambda ctx: 1 / 0, "division by zero")):
        with pytest.raises(UnfinishedCallError, match=why):
            run(store, bank, tool={"outcome": outcome})
    assert len(bank.calls) == 1


def test_a_call_that_failed_may_be_made_again_and_one_that_is_late_is_unknown(store: LedgerStore) -> None:
    tries: list[int] = []

    @tool(usd="0.01")
    def send(ctx: ToolContext, to: str) -> str:
        """Send."""
        tries.append(ctx.attempt)
        if len(tries) == 1:
            raise ValueError("busy")
        return "sent"

    model = ScriptedLM(["s = send('ann')\nanswer(s)"])
    payer = StorePayer(store, SCOPE)
    for answer in (None, "sent"):
        result = TapeAgent(model, tools=[send]).run("Send.", payer=payer, run="r", budget="$1, 10 steps")
        assert result.answer == answer
    assert tries == [1, 2]
    assert [(claim.state, claim.attempt) for claim in store.claims()] == [("done", 2)]

    @tool(usd="0.01", timeout=0.01)
    async def slow(to: str) -> str:
        """Send slowly."""
        import asyncio

        await asyncio.sleep(10)
        return to

    TapeAgent(ScriptedLM(["answer(slow('ann'))"]), tools=[slow]).run("Send.", payer=payer, run="s", budget="9 steps")
    assert store.claims()[0].state == "unknown"


def test_what_is_played_again_is_not_paid_again(store: LedgerStore) -> None:
    payer = StorePayer(store, SCOPE)
    replay = PaidBefore(payer)
    before, open_ = replay.reserve(Resources.of(usd="0.01")), replay.reserve(Resources.of(usd="0.02"))
    replay.settle(before, Resources.of(usd="0.01"))
    assert taken(store) == (0, 0)
    replay.pay_open()
    replay.is_new = True
    assert taken(store) == (0, 20_000), "its call is made once more"
    replay.settle(open_, Resources.of(usd="0.02"))
    replay.release(replay.reserve(Resources.of(usd="0.01")))
    assert taken(store) == (20_000, 0)
    assert replay.rank == payer.rank


def test_effects_are_listed_and_decided_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tape.budget import open_store

    url = f"file://{tmp_path}/budget.ledger"
    store = open_store(url)
    store.set_cap(Cap("org", "usd", 50_000), "anna", "")
    bank = Bank(dies="after")
    with pytest.raises(Killed):
        run(store, bank)
    with pytest.raises(UnfinishedCallError):
        run(store, bank)
    key = store.claims()[0].key
    assert main(["ledger", "--url", url, "claims", "org"]) == 0
    assert capsys.readouterr().out == f'{key} {SCOPE} pay(to="ann"): unknown\n'
    assert main(["ledger", "--url", url, "decide", key, "done", '"paid ann"', "--who", "anna", "--why", "asked"]) == 0
    assert capsys.readouterr().out == f"the effect {key} is done\n"
    assert run(store, bank).answer == "paid ann"
    assert len(bank.calls) == 1
    store.close()


def test_what_is_no_declaration_is_refused() -> None:
    def look() -> str:
        """Look."""
        return ""

    with pytest.raises(ToolError, match="a pure tool changes nothing; leave out idempotent"):
        tool(pure=True, idempotent=True)(look)
    with pytest.raises(ToolError, match="outcome= is a function"):
        tool(outcome="sent")(look)  # type: ignore[call-overload]
    with pytest.raises(ConfigError, match="given in JSON"):
        decided("sent")
