"""The chat prompt format: what general models are shown, what schema binds them, and how their answers are read."""

import asyncio
import json
import random
from dataclasses import replace

import pytest
from hypothesis import given

from envs.alfworld import prompts
from envs.alfworld.commands import read_command
from envs.alfworld.domain import AlfworldDomain, RulesWorldModel
from envs.alfworld.game.kinds import kind_of
from envs.alfworld.prompts.chat_schema import DONE, LEADS_TO, NOTHING
from envs.alfworld.state import Knowledge
from experiments.training.alfworld.plans import best_plan
from tape.errors import InvalidOutputError
from tape.lm.base import OneOf
from tape.lm.scripted import obeys
from tests.envs.alfworld.chat import COOK, FOUND, KNOWN, READER, act, actions_of, format_of, prompt, result, steps
from tests.envs.alfworld.worlds import KITCHEN, STUDY, domain_of, drawn, known, seeds, sensible, tasks, world_of


def test_the_prompt_shows_what_is_known_and_what_is_left() -> None:
    state = replace(KNOWN, holding="apple 2", marks=frozenset({("apple 2", "clean")}))
    text = prompt(COOK.plan_request(state, {"steps": 7}))
    for line in (
        "Your task: clean some apple and put it in countertop.",
        "You are at: fridge 1.",
        "In your hand: clean apple 2.",
        "- cabinet 1: not looked at yet",
        "- countertop 1: mug 1",
        "- fridge 1: closed, contents not seen",
        "steps left: 7",
    ):
        assert line in text.splitlines()
    assert "- countertop 1: nothing" in prompt(COOK.plan_request(replace(KNOWN, inside=frozenset()), {}))
    first, *rest = KITCHEN.receptacles
    together = (first, *(replace(r, place=2) for r in rest[:2]), *rest[2:])
    full = world_of(replace(KITCHEN, receptacles=together), full=True)
    text = prompt(format_of(full).plan_request(full.known, {}))
    assert "Reached from the same spot: cabinet 2, countertop 1" in text
    assert "- cabinet 1: closed; nothing" in text.splitlines()


def test_a_plan_is_read_by_kind_with_places_and_without_standing_moves() -> None:
    state = replace(known(STUDY), at=("bed 1",), inside=frozenset({("desklamp 1", "desk 2"), ("book 1", "bed 1")}))
    commands = ["go to bed 1", "take book 1 from bed 1", "go to desk 2", "use desklamp 1"]
    text = json.dumps({"thought": "under the lamp", "actions": commands})
    assert obeys(READER.plan_request(state, {"steps": 9}), text)
    plan = READER.read_plan(state, text)
    assert plan.actions == ("take book from bed 1", "go to desk 2", "use desklamp on desk 2")
    assert plan.valid


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('{"actions": ["go to desk 1", "take book from desk 1", "go to de', 2),
        ('{"actions": ["go to desk 1", "fly to desk 1", "go to desk 2"]}', 1),
        ('{"actions": ["go to desk 1", "go to attic 1"]}', 1),
        ('{"actions": ["go to desk 1", "take teapot from desk 1"]}', 1),
        ('{"actions": ["go to desk 1"], "more": 1}', 1),
        ('{"thought": "x", "actions": ["go to desk 1", 3, "go to desk 2"]}', 1),
        ('{"actions": []}', 0),
        ("I would go to desk 1.", 0),
        ("", 0),
    ],
)
def test_a_malformed_plan_keeps_its_readable_beginning(text: str, kept: int) -> None:
    plan = READER.read_plan(known(STUDY), text)
    assert plan.actions == ("go to desk 1", "take book from desk 1")[:kept]
    assert not plan.valid


def test_a_plan_has_at_least_one_command_and_speaks_of_what_there_is() -> None:
    request = COOK.plan_request(KNOWN, {"steps": 2})
    name, two = "open fridge 1", "take apple 2 from fridge 1"
    for actions in ([name], [name, two]):
        assert obeys(request, json.dumps({"thought": "", "actions": actions}))
    wrong = ([], [name] * 41, ["open attic 1"], ["take teapot from fridge 1"], ["open countertop 1"], ["PLACE"])
    for actions in wrong:
        assert not obeys(request, json.dumps({"thought": "", "actions": actions}))
    assert not obeys(request, json.dumps({"thought": "x" * 201, "actions": [name]}))


def test_a_free_action_is_read_by_kind() -> None:
    request = COOK.act_request(KNOWN, {"steps": 5}, None, ["open fridge 1", "take apple from fridge 1"])
    assert "Your plan goes on with: open fridge 1; take apple from fridge 1." in prompt(request)
    for written, read in (
        ("open fridge 1", "open fridge 1"),
        ("take mug 1 from countertop 1", "take mug from countertop 1"),
        ("move apple 2 to fridge 1", "put apple in/on fridge 1"),
    ):
        assert obeys(request, act(written)) is not written.startswith("move")  # which is read all the same
        assert COOK.read_act(KNOWN, act(written)) == ("so be it", read)
        assert read in domain_of(world_of(KITCHEN)).admissible(KNOWN)
    for written in ("wait", "go to attic 1", "take teapot 1 from fridge 1"):
        assert not obeys(request, act(written))
        with pytest.raises(InvalidOutputError):
            COOK.read_act(KNOWN, act(written))


def test_a_fixed_action_leaves_no_other_admissible() -> None:
    request = COOK.act_request(KNOWN, {}, "open fridge 1", ["open fridge 1"])
    assert actions_of(request) == {"open fridge 1"}
    assert obeys(request, act("open fridge 1"))
    assert not obeys(request, act("open cabinet 1"))
    lamp = "use desklamp on desk 2"
    here = replace(known(STUDY), at=("desk 2", "desk 1"), inside=frozenset({("desklamp 1", "desk 1")}))
    assert actions_of(READER.act_request(here, {}, lamp, ())) == {lamp}
    assert READER.read_act(here, act(lamp))[1] == lamp


def test_what_was_tried_is_neither_offered_nor_read_while_anything_else_is_left() -> None:
    domain = domain_of(world_of(KITCHEN))
    tried = domain.without(KNOWN, ["open fridge 1", "take apple 1 from fridge 1"])
    request = COOK.act_request(tried, {}, None, ())
    assert "to no use: open fridge 1; take apple from fridge 1." in prompt(request)
    assert not {"open fridge 1", "take apple from fridge 1"} & actions_of(request)
    assert {"go to cabinet 1", "take apple from cabinet 1"} <= actions_of(request)
    with pytest.raises(InvalidOutputError, match="was tried"):
        COOK.read_act(tried, act("take apple 2 from fridge 1"))
    assert COOK.read_act(tried, act("go to cabinet 1"))[1] == "go to cabinet 1"
    everything = domain.without(KNOWN, domain.admissible(KNOWN))
    assert "open fridge 1" in actions_of(COOK.act_request(everything, {}, None, ()))
    assert COOK.read_act(everything, act("open fridge 1"))[1] == "open fridge 1"


def test_where_commands_are_shown_the_prompt_names_them_and_the_schema_admits_no_others() -> None:
    world = world_of(KITCHEN)
    prompt_format = prompts.prompt_format(AlfworldDomain(world.layout, shown=True), "chat")
    state = replace(KNOWN, shown=("go to cabinet 1", "look", "open fridge 1"))
    request = prompt_format.act_request(state, {}, None, ())
    assert "Possible commands: go to cabinet 1; open fridge 1." in prompt(request)
    assert actions_of(request) == {"go to cabinet 1", "open fridge 1"}
    assert "Possible commands" not in prompt(COOK.act_request(KNOWN, {}, None, ()))


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
            name = f", {FOUND[state.of(command.place)]}" if command.verb == "go" else ""
            results[number] = f"{action}{LEADS_TO}{DONE[command.verb]}{name}"
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


def test_what_hand_and_furniture_rule_out_can_only_come_to_nothing() -> None:
    held = replace(KNOWN, holding="apple 1")
    for here, action in [(KNOWN, "put apple in/on fridge 1"), (held, "take apple from fridge 1"), (KNOWN, "dance")]:
        request = COOK.next_request(here, action, valid=True)
        assert request.constraint == OneOf((f"{action}{LEADS_TO}{NOTHING}",))


def test_a_result_is_asked_for_beside_what_decides_it() -> None:
    request = COOK.next_request(replace(KNOWN, holding="apple 1"), "put apple in/on fridge 1")
    near = "You are at: fridge 1. In your hand: apple 1. fridge 1: closed, contents not seen."
    assert near in prompt(request).splitlines()
    assert request.constraint == OneOf(("put apple in/on fridge 1 -> put", "put apple in/on fridge 1 -> nothing"))


def test_an_arrival_finds_what_is_known() -> None:
    for place, name in (("countertop 1", "cannot be closed"), ("fridge 1", "closed")):
        request = COOK.next_request(replace(KNOWN, at=()), f"go to {place}")
        assert request.constraint == OneOf((f"go to {place} -> arrived, {name}", f"go to {place} -> nothing"))
    unseen = COOK.next_request(KNOWN, "go to cabinet 1").constraint
    assert isinstance(unseen, OneOf)
    assert len(unseen.options) == 4
