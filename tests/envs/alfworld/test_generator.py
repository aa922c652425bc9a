"""Generated households: seeded, fair, not done at the start, and solvable."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.alfworld import rules
from envs.alfworld.game.generator import draw_house
from envs.alfworld.game.goal import TASK_TYPES
from envs.alfworld.game.kinds import ALWAYS_OPENABLE, CAN_CONTAIN, LAMPS, OBJECTS, OPENABLE, kind_of
from experiments.training.household.plans import best_plan
from tests.envs.alfworld.households import seeds, tasks, world_of


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


def test_any_task_may_be_drawn() -> None:
    drawn = Counter(draw_house(random.Random(f"any:{i}")).goal.task for i in range(200))
    assert set(drawn) == set(TASK_TYPES)


@pytest.mark.parametrize("task", TASK_TYPES)
def test_a_digest_tells_houses_apart(task: str) -> None:
    houses = [draw_house(random.Random(f"apart:{i}"), task) for i in range(40)]
    assert len({house.digest() for house in houses}) == len(set(houses)) > 30
