"""Typed tools: declared, read from files, planned exactly, and run at once."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.tool_chains.typed import Change, PlanningError, TypedEnvironment, cheapest_chains, load_tools, planner
from envs.tool_chains.typed.loader import ToolFileError
from solvers import Status
from tape.agents.tape import TapeAgent
from tape.budget import Budget
from tape.lm.scripted import ScriptedLM
from tape.protocols.result import EpisodeResult
from tape.tools import Tool, ToolError, tool
from tape.trace import ScheduledEvent, read_trace
from tests.envs.tool_chains.typed.goods import HAVE, TOOLS, exhaustive, priced
from tests.profiles import examples
from tests.tape.tools.meeting import Meeting

TYPES = "abcdef"


@st.composite
def nets(draw: st.DrawFn) -> list[Tool]:
    """A few tools that take up to two types each; types may go round in circles."""
    made = []
    for number in range(draw(st.integers(1, 6))):
        takes = draw(st.lists(st.sampled_from(TYPES), max_size=2, unique=True))
        gives = draw(st.sampled_from([kind for kind in TYPES if kind not in takes]))
        made.append(priced(f"t{number}", takes, gives, draw(st.integers(0, 9)), draw(st.integers(0, 3))))
    return made


@examples(150)
@given(nets(), st.lists(st.sampled_from("bcdef"), max_size=2), st.integers(0, 5), st.integers(0, 8))
def test_the_cheapest_chain_is_the_one_of_an_exhaustive_search(
    tools: list[Tool], at_hand: list[str], steps: int, seconds: int
) -> None:
    limits = {"steps": steps, "seconds": 1000 * seconds}
    chains = cheapest_chains(tools, "f", ["a"], at_hand=at_hand, limits=limits)
    least = exhaustive(tools, "f", ["a"], limits, at_hand)
    assert bool(chains) is (least is not None)
    if least is None:
        assert chains.status is Status.INFEASIBLE
        assert chains.reason
        return
    assert (chains.best.cost["usd"] or 0) == least
    assert all((chains.best.cost[kind] or 0) <= left for kind, left in limits.items())
    # What it names can be called in that order.
    by_name, held = {item.name: item for item in tools}, list(at_hand)
    for name in chains.best.tools:
        for text in by_name[name].takes:
            if text != "a":
                held.remove(text)
        held.append(by_name[name].gives)
    assert "f" in held


@examples(60)
@given(nets(), st.integers(2, 4))
def test_several_chains_differ_and_come_in_the_order_of_their_cost(tools: list[Tool], count: int) -> None:
    chains = cheapest_chains(tools, "f", ["a"], limits={"steps": 4}, count=count)
    costs = [chain.cost["usd"] or 0 for chain in chains.chains]
    assert costs == sorted(costs)
    assert len({chain.tools for chain in chains.chains}) == len(costs) <= count
    assert (costs[0] if costs else None) == exhaustive(tools, "f", ["a"], {"steps": 4})


def test_where_no_chain_fits_the_reason_names_what_would_fit() -> None:
    short = cheapest_chains(TOOLS, "axe", HAVE, limits={"usd": 500_000})
    assert not short
    assert "800000" in short.reason
    with pytest.raises(PlanningError, match="800000"):
        _ = short.best
    assert "no chain" in cheapest_chains(TOOLS, "axe", ["ore"]).reason
    assert "nothing is left of usd" in cheapest_chains(TOOLS, "axe", HAVE, limits={"usd": -1}).reason


def test_an_unknown_price_is_refused() -> None:
    @tool(takes="ore", gives="iron", usd=None)
    def gamble(ore: str) -> str:
        """Try your luck."""
        return ore

    with pytest.raises(ToolError, match="gamble: what a call costs in usd is not known"):
        cheapest_chains([*TOOLS, gamble], "axe", HAVE)


def test_too_many_collections_of_types_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "MOST_NODES", 50)
    growing = [priced("one", ["b", "x"], "f", 1), priced("two", ["f", "y"], "b", 1), priced("root", ["a"], "f", 9)]
    growing += [priced("three", ["a"], "x", 1), priced("four", ["a"], "y", 1)]
    with pytest.raises(PlanningError, match="more than 50 collections"):
        cheapest_chains(growing, "f", ["a"])
    assert cheapest_chains(growing, "f", ["a"], limits={"steps": 6}).best.tools == ("root",)


SMELT = {"name": "smelt", "takes": "ore", "gives": "iron", "cost": {"usd": "0.40", "seconds": 1}}


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ({"takes": "ore"}, "gives nothing"),
        ({"takes": ("ore", "coal"), "gives": "iron"}, "names 2 types for 1 parameters"),
        ({"gives": "iron"}, "names 0 types for 1 parameters"),
        ({"takes": "iron", "gives": "iron"}, "have to differ"),
        ({"takes": " ", "gives": "iron"}, "is a name of up to"),
        ({"takes": "ore", "gives": "x" * 200}, "is a name of up to"),
    ],
)
def test_types_that_cannot_be_are_refused(types: dict[str, Any], message: str) -> None:
    with pytest.raises(ToolError, match=message):

        @tool(usd="0.01", **types)
        def wrong(ore: str) -> str:
            """Wrong."""
            return ore


def test_tools_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps([SMELT, {"name": "buy.now", "takes": [], "gives": "iron", "cost": {"usd": 2.5}}]))
    tools = load_tools(file, {"smelt": lambda ore: f"iron of {ore}"})
    assert [item.name for item in tools] == ["smelt", "buy.now"]
    assert tools[0].worst["usd"] == 400_000
    assert tools[0].function(input_1="rock") == "iron of rock"
    assert "simulated" in tools[1].function()
    assert cheapest_chains(tools, "iron", ["ore"]).best.tools == ("smelt",)
    file.write_text(json.dumps({"tools": [SMELT]}))
    assert len(load_tools(file)) == 1


def without(field: str) -> dict[str, Any]:
    return {name: value for name, value in SMELT.items() if name != field}


@pytest.mark.parametrize(
    ("data", "record", "field", "remedy"),
    [
        ({}, None, "", "holds no list of tools; give"),
        ([], None, "", "has no tools; give one"),
        (["smelt"], 1, "", "give an object with name"),
        ([SMELT, SMELT], 2, "name", "tool 1 already; give each its own name"),
        ([without("name")], 1, "name", "is missing; give a text"),
        ([{**SMELT, "name": "two words"}], 1, "name", "names have letters"),
        ([{**SMELT, "name": "answer"}], 1, "name", "give the tool another name"),
        ([without("takes")], 1, "takes", r"or \[\] where it takes nothing"),
        ([{**SMELT, "takes": [1]}], 1, "takes", "give the types as texts"),
        ([{**SMELT, "gives": ""}], 1, "gives", "is empty; give the type"),
        ([{**SMELT, "gives": "ore"}], 1, "", "have to differ"),
        ([without("cost")], 1, "cost", "give an object of resources"),
        ([{**SMELT, "cost": {"usd": True}}], 1, "cost.usd", "give a number or a decimal text"),
        ([{**SMELT, "cost": {"usd": "-1"}}], 1, "cost.usd", "-1"),
        ([{**SMELT, "cost": {"gold": 1}}], 1, "cost.gold", "gold"),
        ([{**SMELT, "price": 1}], 1, "price", "is not known; there are name, takes"),
    ],
)
def test_errors_in_a_file_name_record_field_and_remedy(
    tmp_path: Path, data: Any, record: int | None, field: str, remedy: str
) -> None:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps(data))
    with pytest.raises(ToolFileError, match=remedy) as caught:
        load_tools(file)
    assert (caught.value.file, caught.value.record, caught.value.field) == (str(file), record, field)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_file_that_is_no_json_is_named(tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_text("[{")
    with pytest.raises(ToolFileError, match=r"tools\.json: .*give a JSON list of tools"):
        load_tools(file)
    with pytest.raises(ToolFileError, match="nothing\\.json"):
        load_tools(tmp_path / "nothing.json")
    file.write_text(json.dumps([SMELT]))
    with pytest.raises(ToolFileError, match="no tool 'forge'"):
        load_tools(file, {"forge": str})


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
