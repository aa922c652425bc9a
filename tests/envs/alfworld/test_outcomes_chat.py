"""The chat prompt format: how general models are asked what commands come to, and how their answers are read."""

import asyncio
import json
import random
from dataclasses import replace

import pytest
from hypothesis import given

from envs.alfworld.commands import read_command
from envs.alfworld.game.kinds import kind_of
from envs.alfworld.prompts.chat_schema import DONE, LEADS_TO, NOTHING
from envs.alfworld.simulator_model import RulesWorldModel
from envs.alfworld.state import Knowledge
from experiments.training.household.plans import best_plan
from tape.errors import InvalidOutputError
from tape.lm.base import Choice
from tape.lm.scripted import obeys
from tests.envs.alfworld.chat import COOK, FOUND, KNOWN, format_of, prompt, result, steps
from tests.envs.alfworld.households import KITCHEN, domain_of, drawn, known, seeds, sensible, tasks


@pytest.mark.slow
@given(seeds, tasks)
def test_what_really_changes_is_read_as_what_is_then_known(seed: int, task: str) -> None:
    world = drawn(seed, task, full=seed % 2 == 0, size=0.15)
    rng = random.Random(f"chat:{seed}")
    world.explore(rng, 4)
    prompt_format = format_of(world)
    for _ in range(12):
        command, before = sensible(world, rng), world.known
        request = prompt_format.next_request(before, command.text)
        text = result(world, command)
        there = [pair for pair in world.known.inside - before.inside if pair[1] == command.place]
        assumed = replace(before, assumed=frozenset(there)) if command.verb in ("go", "open") else before
        if text.endswith(NOTHING):
            assert prompt_format.read_next(assumed, text) is None
        else:
            assert obeys(request, text), (command, text)
            assert obeys(prompt_format.next_request(before, command.text, valid=True), text)
            within = {where for thing, where in before.inside if where in before.at and kind_of(thing) == command.thing}
            # An answer names the kind alone: of two receptacles within one reach that hold it, the first is taken from.
            if command.verb != "take" or len(within) == 1:
                assert prompt_format.read_next(assumed, text) == world.known


@given(seeds, tasks)
def test_a_rollout_under_its_own_assumptions_is_that_of_the_rules(seed: int, task: str) -> None:
    world = drawn(seed, task, full=False)
    domain, prompt_format = domain_of(world), format_of(world)
    plan = [command.text for command in best_plan(world.scene()) or () if command.verb != "use"]
    [predictions] = asyncio.run(RulesWorldModel(domain).rollout([(world.known, plan)]))
    expected = [prediction.state for prediction in predictions]
    results = [f"{action}{LEADS_TO}{NOTHING}" for action in plan]
    for number, (action, state) in enumerate(zip(plan, expected, strict=False)):
        command = read_command(action)
        assert command is not None
        if isinstance(state, Knowledge):
            found = f", {FOUND[state.of(command.place)]}" if command.verb == "go" else ""
            results[number] = f"{action}{LEADS_TO}{DONE[command.verb]}{found}"
    request = prompt_format.rollout_request(world.known, plan)
    if request is None:
        assert not plan
        return
    assert obeys(request, steps(*results))
    assert not obeys(request, steps(*results, "look -> nothing"))
    assert prompt_format.read_rollout(world.known, plan, steps(*results[: len(expected)])) == expected


def test_a_rollout_ends_where_it_is_not_of_its_plan() -> None:
    plan = ["go to fridge 1", "open fridge 1", "take apple from fridge 1"]
    results = ["go to fridge 1 -> arrived, closed", "open fridge 1 -> opened", "take apple from fridge 1 -> taken"]
    start = known(KITCHEN)
    request = COOK.rollout_request(start, plan)
    assert request is not None
    assert "Suppose that there is: apple in/on fridge 1." in prompt(request)
    states = COOK.read_rollout(start, plan, steps(*results))
    assert len(states) == 3
    assert isinstance(states[-1], Knowledge)
    assert states[-1].holding == "apple ?"
    assert "In your hand: apple." in prompt(COOK.plan_request(states[-1], {}))
    assert COOK.read_rollout(start, plan, steps(*results)[:-9]) == states[:2]  # of what is cut off the beginning counts
    indented = json.dumps(json.loads(steps(*results)), indent=4)
    assert COOK.read_rollout(start, plan, indented) == states
    for wrong in ("open microwave 1 -> opened", "open fridge 1 -> taken", "open fridge 1", 3):
        assert len(COOK.read_rollout(start, plan, json.dumps({"step_1": results[0], "step_2": wrong}))) == 1
    assert COOK.read_rollout(start, plan, steps(results[0], "open fridge 1 -> nothing"))[1:] == [None]
    for nothing in ('{"step_1": 3}', "{}", "arrived"):
        with pytest.raises(InvalidOutputError):
            COOK.read_rollout(start, plan, nothing)
    assert COOK.rollout_request(start, []) is None


_WRONG = (
    *("go to fridge 1", "go to fridge 1 -> arrived", "go to attic 1 -> arrived, open", "fly to fridge 1 -> arrived"),
    *("put apple in/on fridge 1 -> put", "heat apple with microwave 1 -> heated", "open fridge 1 -> closed"),
)


@pytest.mark.parametrize("text", ["", "[]", *_WRONG, "take teapot from fridge 1 -> taken"])
def test_what_is_no_result_here_is_invalid(text: str) -> None:
    with pytest.raises(InvalidOutputError):
        COOK.read_next(known(KITCHEN), text)


def test_what_hand_and_furniture_rule_out_can_only_be_said_to_come_to_nothing() -> None:
    held = replace(KNOWN, holding="apple 1")
    for here, action in [(KNOWN, "put apple in/on fridge 1"), (held, "take apple from fridge 1"), (KNOWN, "dance")]:
        request = COOK.next_request(here, action, valid=True)
        assert request.constraint == Choice((f"{action}{LEADS_TO}{NOTHING}",))


def test_a_result_is_asked_for_beside_what_decides_it() -> None:
    request = COOK.next_request(replace(KNOWN, holding="apple 1"), "put apple in/on fridge 1")
    near = "You are at: fridge 1. In your hand: apple 1. fridge 1: closed, contents not seen."
    assert near in prompt(request).splitlines()
    assert request.constraint == Choice(("put apple in/on fridge 1 -> put", "put apple in/on fridge 1 -> nothing"))


def test_an_arrival_finds_what_is_known() -> None:
    for place, found in (("countertop 1", "cannot be closed"), ("fridge 1", "closed")):
        request = COOK.next_request(replace(KNOWN, at=()), f"go to {place}")
        assert request.constraint == Choice((f"go to {place} -> arrived, {found}", f"go to {place} -> nothing"))
    unseen = COOK.next_request(KNOWN, "go to cabinet 1").constraint
    assert isinstance(unseen, Choice)
    assert len(unseen.options) == 4
