"""Typed tools in an episode of which calls run at once."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from envs.tool_chains.typed import Change, TypedEnvironment
from tape.agents.tape import TapeAgent
from tape.budget import Budget
from tape.lm.scripted import ScriptedLM
from tape.protocols.result import EpisodeResult
from tape.tools import Tool, tool
from tape.trace import ScheduledEvent, read_trace
from tests.tape.tools.meeting import Meeting


class World(Meeting):
    """Two sources and a tool that joins what they give."""

    def source(self, name: str, gives: str, usd: str) -> Tool:
        """A tool that takes nothing."""

        @tool(kind=name, takes=(), gives=gives, pure=name not in self.changes, usd=usd, seconds=2)
        async def function(dice: random.Random) -> str:
            """Give it; what it draws is the same whether it begins in its turn or before."""
            async with self.call(name, name):
                return f"{name} {dice.random()}"

        return function

    def tools(self) -> list[Tool]:
        """``left`` and ``right`` give what ``join`` takes; ``dear`` gives what ``right`` does."""

        @tool(kind="join", takes=("one", "two"), gives="whole", pure=True, usd="0.01", seconds=1)
        async def join(a: str, b: str, dice: random.Random) -> str:
            """Join both."""
            self.log.append("join")
            return f"{a} {b} {dice.random()}"

        return [
            self.source("left", "one", "0.01"),
            self.source("right", "two", "0.01"),
            self.source("dear", "two", "0.02"),
            join,
        ]


BUDGET = Budget.of(usd="0.09", steps=9)


def agent(parallel: int = 2) -> TapeAgent:
    """TAPE with the exact planner; its model is never asked."""
    never = ScriptedLM(lambda request, _: pytest.fail(f"asked for {request.role}"))
    return TapeAgent(never, proposer="declared", scorer="declared", parallel=parallel)


def play(
    world: World, parallel: int = 2, *, trace: Path | None = None, changes: Sequence[Change] = ()
) -> EpisodeResult:
    env = TypedEnvironment(world.tools(), have={}, want="whole", changes=changes)
    return agent(parallel).run(env, budget=BUDGET, trace=trace)


BOTH = {"left": "right", "right": "left"}
"""Each ends only once the other has begun."""


def test_calls_that_do_not_wait_for_each_other_run_at_once_and_give_what_they_give_one_after_another(
    tmp_path: Path,
) -> None:
    world = World(waits=BOTH)
    result = play(world, trace=tmp_path / "trace.jsonl")
    assert (result.end_state, world.most, sorted(world.log)) == ("success", 2, ["join", "left", "right"])
    alone = World()
    again = play(alone, parallel=1)
    assert (result.actions, result.answer, result.used) == (again.actions, again.answer, again.used)
    assert alone.most == 1
    done = [event for event in read_trace(tmp_path / "trace.jsonl") if isinstance(event, ScheduledEvent)][-1]
    assert {call.name for call in done.calls} == {"left", "right", "join", "answer"}


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.soak)])
def test_a_cut_off_episode_goes_on(tmp_path: Path, every: int) -> None:
    fails = ["right"]
    trace = tmp_path / "trace.jsonl"
    whole = play(World(waits={"right": "left"}, fails=fails), trace=trace)
    lines = trace.read_text().splitlines(keepends=True)
    for cut in range(1, len(lines), every):
        trace.write_text("".join(lines[:cut]))
        env = TypedEnvironment(World(fails=fails).tools(), have={}, want="whole")
        result = agent().resume(trace, env, steps_again=True)
        assert (result.end_state, result.answer) == (whole.end_state, whole.answer), f"cut at line {cut}"


def test_what_changes_something_runs_alone() -> None:
    world = World(changes=["left"])
    assert play(world).end_state == "success"
    assert world.most == 1


def test_where_something_becomes_different_calls_run_one_after_another() -> None:
    world = World()
    assert play(world, changes=[Change(after=1, note="a note")]).end_state == "success"
    assert world.most == 1
