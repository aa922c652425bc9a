"""Effects that are made once, where a store pays."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast
from unittest.mock import patch

import pytest

from tape import TapeAgent, tool
from tape.budget import Cap, Claimed, Ledger, Resources, StorePayer
from tape.budget.claims import ClaimState, Effect, claiming
from tape.budget.stores.memory import MemoryStore
from tape.engine.effects import made_before
from tape.errors import UnfinishedCallError
from tape.lm.scripted import ScriptedLM
from tape.protocols import Environment
from tape.tools import Happened, PerUnit, ToolContext


@pytest.mark.parametrize(("again", "state"), [(False, "unknown"), (True, "taken")])
def test_a_call_that_was_cancelled_is_not_made_again_by_the_same_payer(again: bool, state: ClaimState) -> None:
    """The first call may have been made: its lease holds for the process that made it too."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    payer = StorePayer(MemoryStore(lambda: now), "org/run", lease=60)

    def stands() -> ClaimState:
        effect = Effect("k", again)
        with claiming(effect):
            payer.settle(payer.reserve(Resources.of(usd="0.01")), Resources())  # how it has ended is not known
        assert effect.claimed is not None
        return effect.claimed.state

    assert stands() == "claimed"
    assert stands() == "busy"
    now += timedelta(seconds=60)
    assert stands() == state


def test_what_a_person_has_decided_needs_no_result() -> None:
    """``store.decide(key, who, why, done=True)`` knows none."""
    effect = Effect("k", claimed=Claimed("k", "done"))
    assert asyncio.run(made_before(cast("Environment", None), "pay('ann')", effect)) == {}


def test_a_resumption_without_the_store_asks_what_became_of_a_claimed_call(tmp_path: Path) -> None:
    """Nobody else knows whether it was made."""
    trace, made, amid = tmp_path / "trace.jsonl", list[str](), list[bytes]()

    @tool(usd="0.01", key=("to",))
    def pay(ctx: ToolContext, to: str) -> str:
        """Pay somebody."""
        made.append(ctx.key)
        amid.append(trace.read_bytes())
        return f"paid {to}"

    agent = TapeAgent(ScriptedLM(['p = pay("ann")\nanswer(p)']), tools=[pay])
    agent.run("Pay Ann.", payer=StorePayer(MemoryStore(), "org/run"), run="order-1", trace=trace)
    trace.write_bytes(amid[0])  # as if it was killed there
    with pytest.raises(UnfinishedCallError):
        agent.resume(trace)
    assert len(made) == 1


def test_a_resumption_tells_the_store_what_its_trace_knows(tmp_path: Path) -> None:
    """The worker ended after the call's result was written down, before the store had it."""
    trace, now = tmp_path / "trace.jsonl", datetime(2026, 1, 1, tzinfo=UTC)
    store, amid = MemoryStore(lambda: now), list[bytes]()

    @tool(usd="0.01", key=("to",))
    def pay(to: str) -> str:
        """Pay somebody."""
        return f"paid {to}"

    def killed(*_: object) -> Claimed:
        amid.append(trace.read_bytes())
        raise KeyboardInterrupt

    agent = TapeAgent(ScriptedLM(['p = pay("ann")\nanswer(p)']), tools=[pay])
    with patch.object(store, "finish", killed), pytest.raises(KeyboardInterrupt):
        agent.run("Pay Ann.", payer=StorePayer(store, "org/run"), run="order-1", trace=trace)
    trace.write_bytes(amid[0])
    now += timedelta(seconds=60)
    assert agent.resume(trace, payer=StorePayer(store, "org/run")).answer == "paid ann"
    assert [claim.state for claim in store.claims()] == ["done"]


def test_a_call_that_was_asked_about_is_paid_by_its_result() -> None:
    """Not at its worst case: what it used is known."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    store, sent = MemoryStore(lambda: now), dict[str, str]()

    def was_sent(ctx: ToolContext) -> Happened | bool:
        return Happened(sent[ctx.key]) if ctx.key in sent else False

    @tool(cost=PerUnit(Resources.of(usd="0.01"), lambda _, result: len(result), at_most=100), outcome=was_sent)
    def send(ctx: ToolContext, text: str) -> str:
        """Send a text."""
        sent[ctx.key] = text
        raise KeyboardInterrupt

    agent = TapeAgent(ScriptedLM(['answer(send("four"))'] * 2), tools=[send])
    with pytest.raises(KeyboardInterrupt):
        agent.run("Send it.", payer=StorePayer(store, "org/run"), run="order-1")
    now += timedelta(seconds=60)
    assert agent.run("Send it.", payer=StorePayer(store, "org/run"), run="order-1").answer == "four"
    assert [hold.spent["usd"] for hold in store.history() if "usd" in hold.worst and hold.spent.get("usd")] == [40_000]
    assert len(sent) == 1


def test_a_worker_that_ends_while_it_looks_what_fits_has_spent_nothing() -> None:
    """What it held for the question comes back after a second."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    store = MemoryStore(lambda: now)
    store.set_cap(Cap("org", "usd", 10_000), "anna", "")
    with patch.object(StorePayer, "release", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        Ledger(payer=StorePayer(store, "org/run")).require(Resources.of(usd="0.01"))
    assert store.read("org")[0].left == 0
    now += timedelta(seconds=1)
    assert store.read("org")[0].left == 10_000
