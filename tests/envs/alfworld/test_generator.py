"""Generated games and their goals: seeded, fair, solvable, by plans that no search beats."""

import random
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.alfworld import rules
from envs.alfworld.commands import AlfworldCommand
from envs.alfworld.errors import GameError
from envs.alfworld.game.generator import draw_house
from envs.alfworld.game.goal import LOOK, TASK_TYPES, TWO, Goal, read_goal
from envs.alfworld.game.kinds import (
    ALWAYS_OPENABLE,
    CAN_CONTAIN,
    LAMPS,
    OBJECTS,
    OPENABLE,
    RECEPTACLES,
    TREATMENTS,
    kind_of,
)
from envs.alfworld.state import Knowledge
from experiments.training.alfworld.plans import best_plan
from experiments.training.alfworld.world import World
from tests.envs.alfworld.worlds import drawn, seeds, sensible, tasks, world_of
from tests.profiles import parts


@given(seeds, tasks, st.floats(0.0, 1.0))
def test_houses_obey_the_tables_of_kinds(seed: int, task: str, size: float) -> None:
    house, again = (draw_house(random.Random(f"tables:{seed}"), task, size) for _ in range(2))
    assert (house, house.digest(), house.goal.task) == (again, again.digest(), task)
    names = [r.name for r in house.receptacles]
    assert len(set(names)) == len(names)
    for receptacle in house.receptacles:
        kind = kind_of(receptacle.name)
        assert receptacle.openable <= (kind in OPENABLE)
        assert receptacle.openable or kind not in ALWAYS_OPENABLE
    assert len({thing for thing, _ in house.inside}) == len(house.inside)
    for thing, where in house.inside:
        assert kind_of(thing) in OBJECTS
        assert where in names
        assert kind_of(thing) in LAMPS or kind_of(thing) in CAN_CONTAIN[kind_of(where)]


@given(seeds, tasks, st.floats(0.0, 1.0))
def test_no_goal_is_reached_at_the_start_and_every_goal_can_be(seed: int, task: str, size: float) -> None:
    world = world_of(draw_house(random.Random(f"fair:{seed}"), task, size), full=True)
    assert not rules.satisfied(world.known)
    plan = best_plan(world.scene())
    assert plan
    for command in plan:
        assert not rules.satisfied(world.known)
        assert world.do(command), command
    assert rules.satisfied(world.known)


@pytest.mark.parametrize("task", TASK_TYPES)
def test_houses_have_different_digests(task: str) -> None:
    houses = [draw_house(random.Random(f"apart:{i}"), task) for i in range(40)]
    assert len({house.digest() for house in houses}) == len(set(houses)) > 30


@given(
    st.sampled_from(TASK_TYPES),
    st.sampled_from([o for o in OBJECTS if o not in LAMPS]),
    st.sampled_from(RECEPTACLES),
    st.sampled_from(LAMPS),
)
def test_a_goal_is_read_back_from_its_sentence(task: str, thing: str, receptacle: str, lamp: str) -> None:
    goal = Goal(task, thing, lamp if task == LOOK else receptacle)
    assert read_goal(goal.sentence()) == goal
    assert read_goal(f"You are in a room.\n\nYour task is to: {goal.sentence()}.\n") == goal


@pytest.mark.parametrize(
    ("sentence", "task", "thing", "target"),
    [
        ("put a clean mug in shelf", "pick_clean_then_place_in_recep", "mug", "shelf"),
        ("put a hot apple in fridge.", "pick_heat_then_place_in_recep", "apple", "fridge"),
        ("cool some pan and put it in stoveburner", "pick_cool_then_place_in_recep", "pan", "stoveburner"),
        ("put some  book on sofa", "pick_and_place_simple", "book", "sofa"),
        ("find two pen and put them in drawer", TWO, "pen", "drawer"),
        ("put two cd in/on safe", TWO, "cd", "safe"),
        ("examine the book with the desklamp", LOOK, "book", "desklamp"),
        ("look at cd under the floorlamp", LOOK, "cd", "floorlamp"),
    ],
)
def test_the_official_templates(sentence: str, task: str, thing: str, target: str) -> None:
    assert read_goal(sentence.upper()) == Goal(task, thing, target)


@pytest.mark.parametrize("sentence", ["", "wash the mug", "put a mug in the desklamp", "look at mug under the shelf"])
def test_other_sentences_are_refused_by_name(sentence: str) -> None:
    with pytest.raises(GameError, match="none of the six"):
        read_goal(sentence)


def commands_of(world: World) -> list[AlfworldCommand]:
    """All that may help: everything on the goal's kinds, at every receptacle."""
    goal, commands = world.layout.goal, []
    for place in world.layout.receptacles:
        commands += [AlfworldCommand(verb, place) for verb in ("go", "open")]
        commands += [AlfworldCommand(verb, place, goal.thing) for verb in ("take", "put", *TREATMENTS)]
    return [*commands, AlfworldCommand("use", "", goal.target)]


def fewest(world: World, most: int) -> int | None:
    """Commands to the goal by breadth-first search; None if more than ``most`` states were seen."""
    queue, seen = deque([(world, 0)]), {(world.known, frozenset(world.closed))}
    options = commands_of(world)
    while queue and len(seen) < most:
        here, steps = queue.popleft()
        for command in options:
            if command.verb != "go" and command.verb != "use" and command.place not in here.known.at:
                continue
            after = here.twin()
            if not after.do(command):
                continue
            if rules.satisfied(after.known):
                return steps + 1
            name: tuple[Knowledge, frozenset[str]] = (after.known, frozenset(after.closed))
            if name not in seen:
                seen.add(name)
                queue.append((after, steps + 1))
    return None


def small(seed: int, task: str) -> World:
    """A house of few receptacles, a little way into the game."""
    world = drawn(seed, task, full=True)
    rng = random.Random(f"plans:{seed}")
    for _ in range(rng.randint(0, 5)):
        world.do(sensible(world, rng))
    return world


def playable(world: World) -> bool:
    """Whether what is in hand is of use: else the plans begin by nothing that is taught."""
    held = world.known.holding
    return not rules.satisfied(world.known) and (not held or kind_of(held) == world.layout.goal.thing)


def compare(seeds: range) -> int:
    compared = 0
    for seed in seeds:
        for task in TASK_TYPES:
            world = small(seed, task)
            if len(world.layout.receptacles) > 14 or not playable(world):
                continue
            plan, shortest = best_plan(world.scene()), fewest(world, 1500)
            assert plan is not None
            if shortest is not None:
                assert len(plan) == shortest, (seed, task, plan)
                compared += 1
    return compared


@pytest.mark.slow
@parts(6)
def test_the_best_plan_is_never_longer_than_what_a_search_finds(part: slice) -> None:
    assert compare(range(25)[part]) >= 9
