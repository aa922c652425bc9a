"""Listeners hear every event in order and do no harm; sub-agents cannot spend each other's part of a cap."""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tape import Budget, EpisodeResult, Ledger, ReactAgent, Resources, TapeAgent, TraceWriter, read_trace
from tape.agents.base import Agent
from tape.errors import BudgetExceededError, ConfigError
from tape.trace import ActedEvent, Event, FinishedEvent, LedgerEvent, StartedEvent
from tests.tape.agents.cleaning import ARCHIVE, CAPS, DROP, Cleaning, obedient, planner


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
    trace, events, other, planning = TraceWriter("x"), list[Event](), list[Event](), list[Event]()
    TapeAgent(obedient()).run(Cleaning().environment(), budget=CAPS, trace=trace, listener=events.append)
    TapeAgent(obedient()).run(Cleaning().environment(), budget=CAPS, trace=trace, listener=other.append)
    TapeAgent(obedient()).plan(Cleaning().environment(), budget=CAPS, trace=trace, listener=planning.append)
    assert events + other + planning == trace.events
    assert (len(events), bool(planning)) == (len(other), True)


@pytest.mark.parametrize("fails_at", [0, 9, 21])
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
    assert record.exc_info[0] is ZeroDivisionError


@pytest.mark.parametrize("fails_at", range(0, 30, 3))
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


def test_each_plans_with_its_own_part_and_what_is_left_goes_back() -> None:
    whole = Ledger(Budget.of(usd="0.04"), name="whole")

    async def work(name: str, usd: str) -> EpisodeResult:
        with whole.earmark(usd=usd, name=name) as part:
            return await TapeAgent(planner(lambda _: ARCHIVE)).arun(Cleaning().environment(), parent=part)

    async def both() -> list[EpisodeResult]:
        return list(await asyncio.gather(work("tight", "0.012"), work("ample", "0.025")))

    tight, ample = asyncio.run(both())
    # The tight one could have taken it from the rest of the whole, and is not let to.
    assert (tight.end_state, tight.steps, ample.end_state) == ("infeasible", 0, "success")
    assert "tight" in tight.detail
    assert whole.used["usd"] == (ample.used["usd"] or 0)
    assert (whole.remaining("usd"), whole.reserved) == (40_000 - ample.used["usd"], Resources())


@pytest.mark.parametrize("greedy", [True, False])
def test_a_sibling_that_would_spend_everything_leaves_a_part_alone(greedy: bool) -> None:
    """Both start at once, in threads; the greedy one has done all it can before the other begins to spend."""
    whole, spent = Ledger(Budget.of(usd="0.04")), threading.Event()

    def greed() -> None:
        try:
            while greedy:
                whole.settle(whole.reserve(Resources.of(usd="0.005")), Resources.of(usd="0.005"))
        except BudgetExceededError:
            pass
        spent.set()

    def careful() -> EpisodeResult:
        with whole.earmark(usd="0.025") as part:
            threads.submit(greed)
            assert spent.wait(60)
            return TapeAgent(planner(lambda _: DROP)).run(Cleaning().environment(), parent=part)

    with ThreadPoolExecutor(2) as threads:
        result = threads.submit(careful).result()
    assert result.success
    assert whole.used["usd"] == (result.used["usd"] or 0) + (15_000 if greedy else 0)


def test_a_part_that_has_not_begun_or_has_ended_is_refused_before_anything_is_spent() -> None:
    whole, model = Ledger(Budget.of(usd="1")), obedient()
    part = whole.earmark(usd="0.5")
    with pytest.raises(ConfigError, match="has not begun"):
        TapeAgent(model).run(Cleaning().environment(), parent=part)
    with part:
        pass
    with pytest.raises(ConfigError, match="has ended"):
        TapeAgent(model).run(Cleaning().environment(), parent=part)
    assert (model.requests, whole.used, whole.reserved) == ([], Resources(), Resources())
