"""Listeners: every event in order, and no harm from one that fails."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from tape import Budget, Ledger, ReactAgent, Resources, TapeAgent, TraceWriter, read_trace
from tape.agents.base import Agent
from tape.errors import ConfigError
from tape.trace import ActedEvent, Event, FinishedEvent, LedgerEvent, StartedEvent
from tests.tape.agents.cleaning import CAPS, Cleaning, obedient


@pytest.mark.parametrize("agent", [TapeAgent, ReactAgent])
def test_it_hears_every_event_in_order(agent: type[Agent], tmp_path: Path) -> None:
    heard: list[Event] = []
    agent(obedient(), horizon=9).run(
        Cleaning().environment(), budget=CAPS, trace=tmp_path / "t.jsonl", listener=heard.append
    )
    assert heard == list(read_trace(tmp_path / "t.jsonl"))
    assert isinstance(heard[0], StartedEvent)
    assert isinstance(heard[-1], FinishedEvent)


def test_it_hears_one_call_only_of_a_writer_that_goes_on_and_planning_too() -> None:
    trace, one, other, planning = TraceWriter("x"), list[Event](), list[Event](), list[Event]()
    TapeAgent(obedient()).run(Cleaning().environment(), budget=CAPS, trace=trace, listener=one.append)
    TapeAgent(obedient()).run(Cleaning().environment(), budget=CAPS, trace=trace, listener=other.append)
    TapeAgent(obedient()).plan(Cleaning().environment(), budget=CAPS, trace=trace, listener=planning.append)
    assert one + other + planning == trace.events
    assert (len(one), bool(planning)) == (len(other), True)


@pytest.mark.parametrize("fails_at", range(0, 30, 3))
def test_one_that_fails_is_logged_with_its_traceback_and_not_called_again(
    fails_at: int, caplog: pytest.LogCaptureFixture
) -> None:
    calls, steady, parent = 0, TraceWriter("x"), Ledger()

    def listener(event: Event) -> None:
        nonlocal calls
        calls += 1
        if calls == fails_at + 1:
            raise ZeroDivisionError("a broken display")

    world = Cleaning()
    with caplog.at_level(logging.ERROR, logger="tape"):
        result = TapeAgent(obedient(), execution="constrained").run(
            world.environment(), budget=CAPS, trace=steady, parent=parent, listener=listener
        )
    assert (result.end_state, world.done, calls) == ("success", ["look", "drop"], fails_at + 1)
    assert dict(parent.used) == result.used
    assert parent.reserved == Resources()
    [record] = caplog.records
    assert "a listener failed" in record.getMessage()
    assert record.exc_info is not None
    assert record.exc_info[0] is ZeroDivisionError


@pytest.mark.parametrize("fails_at", range(30))
def test_one_that_interrupts_ends_the_episode_and_leaves_nothing_reserved(fails_at: int) -> None:
    """It interrupts a call, a step or a settlement."""
    parent, heard = Ledger(Budget.of(usd="1")), list[Event]()

    def listener(event: Event) -> None:
        heard.append(event)
        if len(heard) == fails_at + 1:
            raise SystemExit

    with pytest.raises(SystemExit):
        TapeAgent(obedient(), execution="constrained").run(
            Cleaning().environment(), budget=CAPS, parent=parent, listener=listener
        )
    assert parent.reserved == Resources()
    settled = [event for event in heard[: fails_at + 1] if isinstance(event, LedgerEvent) and event.what == "settle"]
    assert (parent.used["steps"] or 0) >= sum(event.amounts.get("steps") or 0 for event in settled)


async def later(event: Event) -> None:
    raise AssertionError("never awaited")


@pytest.mark.parametrize("listener", [later, "print", 3])
def test_what_cannot_be_called_in_place_is_refused_before_anything_is_spent(listener: Any) -> None:
    model = obedient()
    with pytest.raises(ConfigError, match=r"listener= is a plain function.*queue\.put_nowait"):
        TapeAgent(model).run(Cleaning().environment(), budget=CAPS, listener=listener)
    assert model.requests == []


def test_a_coroutine_reads_from_a_queue() -> None:
    async def play() -> list[str]:
        queue: asyncio.Queue[Event] = asyncio.Queue()
        episode = asyncio.create_task(
            TapeAgent(obedient()).arun(Cleaning().environment(), budget=CAPS, listener=queue.put_nowait)
        )
        actions: list[str] = []
        while not isinstance(event := await queue.get(), FinishedEvent):
            actions += [event.action] if isinstance(event, ActedEvent) else []
        assert (await episode).actions == actions
        return actions

    assert len(asyncio.run(play())) == 3
