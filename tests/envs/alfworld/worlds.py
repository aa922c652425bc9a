"""Households for tests, drawn by name and played by their rules."""

from __future__ import annotations

import random
from collections.abc import Iterable

from hypothesis import strategies as st

from envs.alfworld import rules
from envs.alfworld.commands import AlfworldCommand
from envs.alfworld.domain import AlfworldDomain
from envs.alfworld.game.generator import draw_house
from envs.alfworld.game.goal import SIMPLE, TASK_TYPES, Goal
from envs.alfworld.game.house import House, Receptacle
from envs.alfworld.game.kinds import kind_of
from envs.alfworld.inference import RULES
from envs.alfworld.state import Knowledge
from experiments.training.alfworld.plans import best_plan
from experiments.training.alfworld.world import World
from tape.protocols.predicates import Assignment, Predicate

KITCHEN = House(
    (
        Receptacle("cabinet 1", True, 1), Receptacle("cabinet 2", False, 2), Receptacle("countertop 1", False, 3),
        Receptacle("fridge 1", True, 4), Receptacle("microwave 1", True, 5), Receptacle("sinkbasin 1", False, 6),
    ),
    (("apple 1", "fridge 1"), ("apple 2", "cabinet 2"), ("mug 1", "countertop 1")),
    Goal("pick_clean_then_place_in_recep", "apple", "countertop"),
)  # fmt: skip
STUDY = House(
    (Receptacle("bed 1", False, 1), Receptacle("desk 1", False, 2), Receptacle("desk 2", False, 3)),
    (("book 1", "bed 1"), ("desklamp 1", "desk 2"), ("pen 1", "desk 1")),
    Goal("look_at_obj_in_light", "book", "desklamp"),
)
SHELVES = House(
    (Receptacle("shelf 1", False, 1), Receptacle("shelf 2", False, 2), Receptacle("cabinet 1", True, 3)),
    (("book 1", "shelf 1"), ("book 2", "shelf 2")),
    Goal(SIMPLE, "book", "cabinet"),
)

seeds = st.integers(0, 400)
tasks = st.sampled_from(TASK_TYPES)


def world_of(house: House, *, full: bool = False) -> World:
    return World(house, full=full, names={r.name: r.name for r in house.receptacles})


def drawn(seed: int, task: str, *, full: bool, size: float = 0.0) -> World:
    return world_of(draw_house(random.Random(f"household-test:{task}:{seed}"), task, size), full=full)


def domain_of(world: World, *, shown: bool = False) -> AlfworldDomain:
    return AlfworldDomain(world.layout, shown=shown)


def sensible(world: World, rng: random.Random) -> AlfworldCommand:
    """A command that leads somewhere more often than not: of the best plan, or one that is often possible."""
    if rng.random() < 0.4 and (plan := best_plan(world.scene())):
        return plan[0] if plan[0].verb != "use" else lamp(world, rng)
    command = world.possible(rng)
    return lamp(world, rng) if command.verb == "use" else command


def lamp(world: World, rng: random.Random) -> AlfworldCommand:
    """Using a lamp, mostly where one is."""
    stands = sorted(where for thing, where in world.inside if kind_of(thing) in ("desklamp", "floorlamp"))
    place = rng.choice(stands) if stands and rng.random() < 0.8 else rng.choice(world.layout.receptacles)
    there = [kind_of(t) for t, where in sorted(world.inside) if where == place and kind_of(t).endswith("lamp")]
    return AlfworldCommand("use", place, there[0] if there else "desklamp")


def known(house: House) -> Knowledge:
    return Knowledge.start(world_of(house).layout)


def follow(state: Knowledge, plan: Iterable[AlfworldCommand]) -> Knowledge:
    """The state after commands that the rules all take."""
    for command in plan:
        after = rules.apply(state, command)
        assert after is not None, command
        state = after
    return state


def closure(known: Assignment) -> dict[Predicate, bool]:
    """What is known and what follows from it."""
    mapping = dict(known)
    for _ in range(3):
        for rule in RULES:
            for predicate, value in rule(mapping).items():
                assert mapping.setdefault(predicate, value) == value, (rule.name, predicate)
    return mapping
