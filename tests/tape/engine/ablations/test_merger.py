"""f_theta: states that the model considers equal."""

from __future__ import annotations

import asyncio
import json
import random
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from tape.agents.tape import TapeAgent
from tape.budget import Budget
from tape.engine.ablations.merger import LmMerger
from tape.engine.result import EpisodeResult
from tape.errors import ConfigError
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.tools import ToolEnvironment
from tape.world import World
from tape.world.scripted import ScriptedPlayer
from tests.tape.engine.roles import context, options
from tests.tape.tools.helpers import TOOLS


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


@settings(max_examples=40)
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
    apart, merged = leaving(), leaving(projector="lm")
    assert (apart.end_state, apart.mismatches) == ("success", 1)
    assert (merged.end_state, merged.mismatches, merged.replans) == ("success", 0, 0)
    assert merged.lm_calls["merge"] == 3  # the two predicted states, and what was seen once it was opened
    assert "merge" not in apart.lm_calls


def test_merging_is_part_of_what_a_step_may_cost() -> None:
    world = room()
    [task] = world.tasks()
    caps = Budget.of(steps=4, tokens=10**6)
    graphs = []
    for projector in ("declared", "lm"):
        agent = TapeAgent(Merging(world), execution="forced", projector=projector)
        planned = agent.plan(world.make(task), budget=caps)
        graphs.append(next(planned.graph.edges()).cost["tokens"] or 0)
    assert graphs[0] == 0 < graphs[1]


def test_where_outcomes_are_declared_nothing_is_merged() -> None:
    with pytest.raises(ConfigError, match="nothing to merge"):
        TapeAgent(ScriptedLM([""]), projector="lm").run(ToolEnvironment("look up", TOOLS))
