"""Problems, the oracle and the scripted reader."""

from __future__ import annotations

import json
import random
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.tool_chains.errors import ToolChainsError
from envs.tool_chains.generator import ChainSettings, generate
from envs.tool_chains.loader import load, own_tools
from envs.tool_chains.oracle import dijkstra, within
from envs.tool_chains.plugin import PLUGIN
from envs.tool_chains.problem import CHANGES, Offer, named
from envs.tool_chains.typed import TypedEnvironment, cheapest_chains
from envs.tool_chains.typed.domain import as_typed
from envs.tool_chains.typed.loader import ToolFileError, tools_of
from envs.tool_chains.words import PARTS, all_specs, read, request_text, type_name, words
from tests.profiles import examples


@st.composite
def offers(draw: st.DrawFn) -> list[Offer]:
    """A few tools between a few types; circles and tools side by side among them."""
    result = []
    for number in range(draw(st.integers(1, 12))):
        takes, gives = draw(st.lists(st.sampled_from("abcdef"), min_size=2, max_size=2, unique=True))
        result.append(Offer(f"t{number}", takes, gives, draw(st.integers(1, 9)), 100 * draw(st.integers(1, 5))))
    return result


def records(some: list[Offer]) -> list[dict[str, Any]]:
    costs = [{"usd": offer.cents / 100, "seconds": offer.millis / 1000} for offer in some]
    return [{"name": o.name, "takes": o.takes, "gives": o.gives, "cost": c} for o, c in zip(some, costs, strict=True)]


@examples(150)
@given(offers(), st.integers(0, 15))
def test_oracle_and_exact_planner_agree_with_and_without_a_limit(some: list[Offer], tenths: int) -> None:
    tools, by_name = tools_of(records(some), "test"), named(some)
    for limits, cheapest in (
        ({}, dijkstra(some, ["a"], "f")),
        ({"seconds": 100 * tenths}, within(some, "a", "f", 100 * tenths)),
    ):
        planned = cheapest_chains(tools, "f", ["a"], limits=limits)
        assert bool(planned) is (cheapest is not None)
        if cheapest is not None:
            assert planned.best.cost["usd"] == cheapest.cents * 10_000
            assert sum(by_name[name].cents for name in cheapest.tools) == cheapest.cents
            if cheapest.ways == 1:
                assert planned.best.tools == cheapest.tools


@pytest.mark.parametrize(
    ("change", "level", "tools"), [*((change, 5, 20) for change in CHANGES), ("none", 7, 60), ("wish", 10, 300)]
)
def test_problems_are_what_was_asked_for(change: str, level: int, tools: int) -> None:
    problem = generate("test", 0, ChainSettings(level, tools, change))
    again = generate.__wrapped__("test", 0, ChainSettings(level, tools, change))
    assert problem == again
    assert len(problem.offers) == len(named(problem.offers)) == tools
    assert problem.want in problem.goals
    assert len(set(problem.goals)) == len(problem.goals) == 12
    reference = problem.reference
    assert reference.cents <= problem.cents <= 1.1 * max(reference.cents, 10_000)
    assert reference.millis <= problem.millis
    turn = problem.turn
    assert (turn is None) is (change == "none")
    if turn is not None:
        assert reference.tools[: turn.after] == reference.first[: turn.after]
        assert reference.tools != reference.first
        assert bool(turn.refusing) is (change == "refused")
        assert bool(turn.want) is (change == "wish")
        assert (turn.offers is not None) is (change in ("price", "length"))


def test_tight_and_short_caps_are_so() -> None:
    for number in range(5):
        tight = generate("test", number, ChainSettings(caps="tight"))
        cheapest = dijkstra(tight.offers, [tight.start], tight.want)
        assert tight.reference.cents > cheapest.cents
        assert tight.reference.millis <= tight.millis
        short = generate("test", number, ChainSettings(caps="short"))
        cheapest = dijkstra(short.offers, [short.start], short.want)
        assert short.reference is None
        assert short.cents < cheapest.cents


WRONG = [{"level": 4}, {"tools": 19}, {"tools": 301}, {"change": "weather"}, {"caps": "loose"}, {"slack": -0.1}]


@pytest.mark.parametrize("wrong", [*WRONG, {"caps": "short", "change": "price"}])
def test_unknown_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ToolChainsError, match=str(next(iter(wrong)))):
        ChainSettings(**wrong)


def test_the_scripted_reader_reads_every_wording() -> None:
    rng = random.Random(0)
    for spec in all_specs():
        for kind in ("requests", "changes"):
            assert read(request_text(spec, rng, kind)) == type_name(spec, 5, 5)
    assert read("Please make me a kite.") is None
    phrases = [[(e["name"], phrase) for e in words()[part] for phrase in e["said"]] for part in PARTS]
    for thing, finish, tongue in product(*phrases):
        assert read(f"{thing[1]}, {finish[1]}, {tongue[1]}") == f"{thing[0]}, {finish[0]}, {tongue[0]}"


TOOL = {"name": "smelt", "takes": "ore", "gives": "iron", "cost": {"usd": "0.40"}}
TASK = {"id": "one", "have": ["ore"], "want": "iron", "budget": {"usd": 1}}


def test_tasks_on_tools_of_ones_own_are_read(tmp_path: Path) -> None:
    file = tmp_path / "own.json"
    file.write_text(json.dumps({"tools": [TOOL], "tasks": [TASK, {**TASK, "id": "two", "budget": {}}]}))
    task, two = load(file)
    assert task.budget["usd"] == 1_000_000
    assert set(two.budget) == {"steps"}
    assert task.digest != two.digest
    assert [item.name for item in own_tools(task.file)] == ["smelt"]


def test_a_request_in_words_is_read_among_the_goals_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "own.json"
    asked = {**TASK, "id": "two", "request": "Something hard, please."}
    file.write_text(json.dumps({"tools": [TOOL], "goals": ["iron", "ore"], "tasks": [TASK, asked]}))
    told, asking = (PLUGIN.make(task) for task in PLUGIN.tasks({"data": str(file)}))
    assert isinstance(told, TypedEnvironment)
    assert isinstance(asking, TypedEnvironment)
    assert (told.goals, as_typed(told.reset(0).data).wanted) == ((), "iron")
    state = as_typed(asking.reset(0).data)
    assert (asking.goals, state.wanted, state.unread) == (("iron", "ore"), None, "Something hard, please.")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"tools": [TOOL], "tasks": [{**TASK, "request": 1}]}, r"tasks\[1\].request': is 1; give a text"),
        ({"tools": [TOOL], "goals": "ore", "tasks": [TASK]}, "'goals': is .*give a list of types"),
        ({"tools": [TOOL], "goals": ["ore"], "tasks": [{**TASK, "request": "Hm."}]}, "none of the goals"),
        ([TOOL], "is no object; give"),
        ({"tools": []}, "has no tools"),
        ({"tools": [TOOL]}, "'tasks': is no list of tasks; give"),
        ({"tools": [TOOL], "tasks": [{**TASK, "want": ""}]}, r"tasks\[1\].want': is '?'?.*give a text"),
        ({"tools": [TOOL], "tasks": [{**TASK, "want": "gold"}]}, "'gold' is a type of no tool"),
        ({"tools": [TOOL], "tasks": [{**TASK, "have": "ore"}]}, "give a list of types"),
        ({"tools": [TOOL], "tasks": [{**TASK, "budget": {"gold": 1}}]}, r"tasks\[1\].budget"),
        ({"tools": [TOOL], "tasks": [TASK, TASK]}, "'one' is there already"),
    ],
)
def test_what_is_wrong_in_a_file_of_tasks_is_named(tmp_path: Path, data: Any, message: str) -> None:
    file = tmp_path / "own.json"
    file.write_text(json.dumps(data))
    with pytest.raises(ToolFileError, match=message):
        load(file)


def test_problems_stay_those_of_published_results() -> None:
    """What is drawn and how it is identified do not follow a class that is renamed."""
    assert generate("dev", 0, ChainSettings(5, 40)).digest == "6d5766151d32bd8d"
    assert generate("dev", 1, ChainSettings(10, 100, "price")).digest == "c955fcef72f67c96"
