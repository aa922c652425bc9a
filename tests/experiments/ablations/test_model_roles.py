"""C_theta and f_theta by the model: costs that it predicts, and states that it considers equal."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from experiments.ablations.cost_model import LmCosts
from experiments.ablations.merger import LmMerger
from tape.agents.tape import TapeAgent
from tape.budget import Budget, Resources
from tape.budget.prices import Answer
from tape.errors import ConfigError
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.protocols.result import EpisodeResult
from tape.tools import Tool, ToolEnvironment, tool
from tape.trace import ActedEvent, LedgerEvent, TraceWriter
from tape.world import World
from tape.world.scripted import ScriptedPlayer
from tests.profiles import examples
from tests.tape.engine.roles import Weighing, context, options
from tests.tape.tools.helpers import TOOLS, obtained, program

BY_LM = "experiments.ablations.cost_model:LmCosts"
MERGES = "experiments.ablations.merger:LmMerger"


def episode(lm: ScriptedLM) -> Any:
    """The part of an episode that predictions need."""
    return SimpleNamespace(roles=context(lm))


def predicted(lm: ScriptedLM, *actions: str, kinds: Sequence[str] = ("usd",)) -> list[Resources]:
    return asyncio.run(LmCosts(episode(lm)).predict([("here", action) for action in actions], kinds))


def test_a_predicted_cost_is_the_expected_one_rounded_up() -> None:
    lm = Weighing(lambda request, count: [0.5, *[0.0] * (count - 2), 0.5])
    assert predicted(lm, "80", "1") == [Resources({"steps": 1, "usd": 40}), Resources({"steps": 1, "usd": 1})]
    assert options(lm.requests[0])[::8] == ("$0", "$0.00008")
    assert options(lm.requests[1]) == ("$0", "$0.000001")


@examples(40)
@given(st.integers(0, 10**7), st.lists(st.floats(0, 1), min_size=9, max_size=9))
def test_no_prediction_is_above_the_declared_worst_case(worst: int, weights: list[float]) -> None:
    lm = Weighing(lambda request, count: weights[:count])
    [cost] = predicted(lm, str(worst))
    assert 0 <= (cost["usd"] or 0) <= worst
    if len(lm.requests) == 1 and not any(weights[: len(options(lm.requests[0]))]):
        assert cost["usd"] == worst


def test_only_what_is_capped_and_open_is_asked_about_once() -> None:
    lm = Weighing(lambda request, count: [1.0, *[0.0] * (count - 1)])
    model = LmCosts(episode(lm))
    pairs = [("here", "0"), ("here", "5"), ("here", "5"), ("there", "5")]
    first = asyncio.run(model.predict(pairs, ("usd",)))
    assert [cost["usd"] for cost in first] == [0, 0, 0, 0]
    assert [cost["steps"] for cost in first] == [1] * 4
    assert len(lm.requests) == 2  # nothing of what costs nothing, and no pair twice
    assert asyncio.run(model.predict(pairs, ("usd",))) == first
    assert len(lm.requests) == 2


def test_an_unreadable_cost_leaves_the_worst_case_and_counts() -> None:
    lm = Weighing(lambda request, count: [0.0] * count)
    roles = context(lm)
    played: Any = SimpleNamespace(roles=roles)
    [cost] = asyncio.run(LmCosts(played).predict([("here", "7")], ("usd", "steps")))
    assert cost == Resources({"steps": 1, "usd": 7})
    assert roles.malformed == 2


CENT = 10_000  # micro-dollars


@dataclass(frozen=True)
class Drawn:
    """A cost model: $0.05 at most, whatever it really is."""

    cents: Sequence[int]

    def worst(self, arguments: Mapping[str, Any] | None = None) -> Resources:
        return Resources({"usd": 5 * CENT})

    def actual(self, arguments: Mapping[str, Any], answer: Answer) -> Resources:
        return Resources({"usd": self.cents[int(arguments["part"]) % len(self.cents)] * CENT})


def look_up(cents: Sequence[int]) -> Tool:
    @tool(cost=Drawn(cents))
    def look(part: int) -> str:
        """Look a part up."""
        return f"part {part}"

    return look


def looking(cents: Sequence[int], cost: str, **switches: Any) -> tuple[EpisodeResult, TraceWriter]:
    """Three calls of a tool that declares $0.05 and really costs something else, under $0.12."""
    plan = [("look", {"part": part}) for part in range(3)]

    def reply(request: Request, sample: int) -> str:
        del sample
        if request.role == "select":
            return max(options(request), key=len)
        if request.role != "plan":
            return {"cost": cost, "score": "right"}[request.role]
        return program(plan[len(obtained(request)) :], "#3", request)

    trace = TraceWriter("test", None)
    agent = TapeAgent(ScriptedLM(reply), num_plans=1, max_replans=3, **switches)
    env = ToolEnvironment("look up", [look_up(cents)], judge=lambda answer: answer == "part 2")
    return agent.run(env, budget=Budget.of(usd="$0.12"), trace=trace), trace


def test_plans_that_the_worst_case_rules_out_are_followed_where_costs_are_predicted() -> None:
    refused, _ = looking([1], "$0.00625")
    assert (refused.end_state, refused.steps) == ("infeasible", 0)
    episode_result, _ = looking([1], "$0.00625", ablations={"cost_model": BY_LM})
    assert (episode_result.end_state, episode_result.used["usd"]) == ("success", 3 * CENT)
    assert episode_result.lm_calls["cost"] >= 3


def test_what_no_longer_fits_at_its_worst_is_planned_again_and_not_executed() -> None:
    result, _ = looking([5], "$0.00625", ablations={"cost_model": BY_LM})
    assert result.end_state == "infeasible"  # $0.02 are left, and every call may take $0.05
    assert result.steps == 2
    assert result.used["usd"] == 10 * CENT
    assert result.replans == 1
    assert result.detail.endswith(", by predicted costs")


@examples(12)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=4), st.sampled_from(["$0", "$0.0125", "$0.05"]))
def test_whatever_is_predicted_nothing_is_executed_that_does_not_fit_at_its_worst(cents: list[int], cost: str) -> None:
    result, trace = looking(cents, cost, ablations={"cost_model": BY_LM})
    assert result.used.get("usd", 0) <= 12 * CENT
    assert not result.budget_violations
    left = 12 * CENT
    for event in trace.events:
        if isinstance(event, LedgerEvent) and event.purpose.startswith("step:look"):
            if event.what == "reserve":
                assert (event.amounts.get("usd") or 0) == 5 * CENT <= left
            elif event.what == "settle":
                left -= event.amounts.get("usd") or 0
    assert sum(isinstance(event, ActedEvent) for event in trace.events) == result.steps


@pytest.mark.parametrize("costs", ["declared", BY_LM])
def test_a_path_that_the_model_takes_without_looking_at_its_costs_is_begun(costs: str) -> None:
    selector = "experiments.ablations.selectors:LmSelector"
    result, _ = looking(
        [1], "$0.05", ablations={"selector": selector, "resample": 0, "cost_model": costs}, on_infeasible="partial"
    )
    assert (result.success, result.steps, result.budget_violations) == (True, 4, [])


def same_number(request: Request, sample: int) -> str:
    """A merger that considers texts with the same number equal."""
    del sample
    asked = str(request.prompt[-1].content)  # type: ignore[union-attr]
    own = re.search(r"this state is:\n.*?(\d+)", asked)
    assert own is not None
    listed = re.findall(r"^(\d+)\. .*?(\d+)$", asked, re.MULTILINE)
    return next((number for number, other in listed if other == own[1]), "none")


def test_a_new_state_merges_with_the_known_one_that_the_model_names() -> None:
    lm = ScriptedLM(same_number)
    merger = LmMerger(context(lm))
    asyncio.run(merger.merge(["cup 1", "cup 1", "mug 1", "cup 2", "a mug 2", "a cup 1"]))
    keys = {text: merger.key(text) for text in ("cup 1", "mug 1", "cup 2", "a mug 2", "a cup 1")}
    assert keys == {"cup 1": "cup 1", "mug 1": "cup 1", "cup 2": "cup 2", "a mug 2": "cup 2", "a cup 1": "cup 1"}
    assert len(lm.requests) == 4  # the first has nothing to be compared with, and no text is asked about twice
    asyncio.run(merger.merge(["cup 2", "mug 1"]))
    assert len(lm.requests) == 4
    assert merger.key("not merged yet 1") == "not merged yet 1"


def test_the_expected_node_is_offered_first_and_few_others() -> None:
    lm = ScriptedLM(lambda request, sample: "1" if "unlike" in str(request.prompt) else "none")
    merger = LmMerger(context(lm))
    known = [f"cup {number} on the table" for number in range(10)]
    asyncio.run(merger.merge(["wholly different", *known]))
    asyncio.run(merger.merge(["unlike cup 3 on the table"], "wholly different"))
    assert merger.key("unlike cup 3 on the table") == "wholly different"
    assert len(options(lm.requests[-1])) == 7
    assert "2. cup 3 on the table" in str(lm.requests[-1].prompt)


def test_an_unreadable_answer_merges_nothing_and_counts() -> None:
    roles = context(ScriptedLM(["perhaps 1"]))
    merger = LmMerger(roles)
    asyncio.run(merger.merge(["a", "b"]))
    assert (merger.key("a"), merger.key("b"), roles.malformed) == ("a", "b", 1)


@examples(40)
@given(st.lists(st.text(st.sampled_from("ab 1"), max_size=9), max_size=12), st.randoms(use_true_random=False))
def test_nodes_are_states_that_came_before_and_stay(states: list[str], chance: random.Random) -> None:
    merger = LmMerger(context(ScriptedLM(lambda request, sample: chance.choice(options(request)))))
    before: dict[str, str] = {}
    for state in states:
        asyncio.run(merger.merge([state]))
        before.setdefault(state, merger.key(state))
        assert merger.key(merger.key(state)) == merger.key(state)
    assert {state: merger.key(state) for state in before} == before


def test_a_merging_request_takes_no_more_than_its_worst_case() -> None:
    lm = ScriptedLM(["none"])
    roles = context(lm)
    merger = LmMerger(roles)
    worst = merger.worst_case("x")["tokens"] or 0
    asyncio.run(merger.merge([f"{'word ' * 500}{number}" for number in range(9)]))
    assert len(lm.requests) == 8
    body = [roles.lm.worst_case(request)["tokens"] or 0 for request in lm.requests]
    assert max(body) - 500 <= worst  # the state in full is what the actor is shown as well


class Room(BaseModel):
    door: str = "shut"
    text: str = "a shut door"


class Open(BaseModel):
    """Open the door."""


class Leave(BaseModel):
    """Go through the open door."""


def room() -> World:
    world = World("room", rules="A door can be opened and gone through.", deterministic=True)

    @world.action
    def open_it(here: Room, action: Open) -> Room:
        return Room(door="open", text="the door stands open")

    @world.action
    def leave(here: Room, action: Leave) -> Room:
        return Room(door="behind" if here.door == "open" else here.door, text=here.text)

    @world.goal
    def out(here: Room) -> bool:
        return here.door == "behind"

    world.add_task("out", Room(), budget=Budget.of(steps=4), task="Leave the room.")
    return world


class Merging(ScriptedPlayer):
    """Distinguishes states by the door alone; predicts other words than will be observed."""

    def __init__(self, world: World) -> None:
        super().__init__(world, wrong={"Open()": {"text": "an open door"}})

    def _answered(self, state: str, question: str, sample: int) -> Any:
        if "Which of them is the same state" not in question:
            return super()._answered(state, question, sample)
        listed = re.findall(r"^(\d+)\. (\{.*\})$", question, re.MULTILINE)
        door = json.loads(state)["door"]
        return next((number for number, other in listed if json.loads(other)["door"] == door), "none")


def leaving(**switches: Any) -> EpisodeResult:
    world = room()
    [task] = world.tasks()
    return TapeAgent(Merging(world), **switches).run(world.make(task), budget=task.budget)


def test_words_alone_are_no_mismatch_where_the_model_merges_states() -> None:
    apart, merged = leaving(), leaving(ablations={"merger": MERGES})
    assert (apart.end_state, apart.mismatches) == ("success", 1)
    assert (merged.end_state, merged.mismatches, merged.replans) == ("success", 0, 0)
    assert merged.lm_calls["merge"] == 3  # the two predicted states, and what was seen once it was opened
    assert "merge" not in apart.lm_calls


def test_merging_is_part_of_what_a_step_may_cost() -> None:
    world = room()
    [task] = world.tasks()
    caps = Budget.of(steps=4, tokens=10**6)
    graphs = []
    for merger in ("declared", MERGES):
        agent = TapeAgent(Merging(world), execution="forced", ablations={"merger": merger})
        planned = agent.plan(world.make(task), budget=caps)
        graphs.append(next(planned.graph.edges()).cost["tokens"] or 0)
    assert graphs[0] == 0 < graphs[1]


def test_where_outcomes_are_declared_nothing_is_merged() -> None:
    with pytest.raises(ConfigError, match="nothing to merge"):
        TapeAgent(ScriptedLM([""]), ablations={"merger": MERGES}).run(ToolEnvironment("look up", TOOLS))
