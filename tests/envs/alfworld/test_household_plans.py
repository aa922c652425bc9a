"""The best plans that the household LM learns from: to the goal, and never longer than a search finds."""

import random
from collections import deque

import pytest
from hypothesis import given

from envs.alfworld import rules
from envs.alfworld.commands import Command
from envs.alfworld.game.goal import TASK_TYPES
from envs.alfworld.game.kinds import TREATMENTS, kind_of
from envs.alfworld.state import Knowledge
from experiments.training.household.plans import best_plan
from experiments.training.household.world import World
from tests.envs.alfworld.households import drawn, seeds, sensible, tasks
from tests.profiles import parts


def commands_of(world: World) -> list[Command]:
    """All that may help: everything on the goal's kinds, at every receptacle."""
    goal, found = world.layout.goal, []
    for place in world.layout.receptacles:
        found += [Command(verb, place) for verb in ("go", "open")]
        found += [Command(verb, place, goal.thing) for verb in ("take", "put", *TREATMENTS)]
    return [*found, Command("use", "", goal.target)]


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
    """A household of few receptacles, a little way into the game."""
    world = drawn(seed, task, full=True)
    rng = random.Random(f"plans:{seed}")
    for _ in range(rng.randint(0, 5)):
        world.do(sensible(world, rng))
    return world


def playable(world: World) -> bool:
    """Whether what is in hand is of use: else the plans begin by nothing that is taught."""
    held = world.known.holding
    return not rules.satisfied(world.known) and (not held or kind_of(held) == world.layout.goal.thing)


@given(seeds, tasks)
def test_the_best_plan_reaches_the_goal(seed: int, task: str) -> None:
    world = small(seed, task)
    if not playable(world):
        return
    plan = best_plan(world.scene())
    assert plan
    for command in plan:
        assert world.do(command), (command, plan)
    assert rules.satisfied(world.known)


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
