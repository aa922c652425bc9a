"""Generated games and their goals: seeded, fair, solvable, by plans that no search beats."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.alfworld import rules
from envs.alfworld.errors import GameError
from envs.alfworld.game.generator import draw_house
from envs.alfworld.game.goal import LOOK, TASK_TYPES, TWO, Goal, read_goal
from envs.alfworld.game.kinds import ALWAYS_OPENABLE, CAN_CONTAIN, LAMPS, OBJECTS, OPENABLE, RECEPTACLES, kind_of
from experiments.training.alfworld.plans import best_plan
from tests.envs.alfworld.worlds import seeds, tasks, world_of


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
    houses = [draw_house(random.Random(f"apart:{i}"), task) for i in range(15)]
    assert len({house.digest() for house in houses}) == len(set(houses)) > 10


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
