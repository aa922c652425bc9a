"""A seeded generator of ALFWorld games, solvable by construction."""

from __future__ import annotations

import random
from collections import Counter

from envs.alfworld.game.goal import LOOK, SIMPLE, TASK_TYPES, TREATED, TWO, Goal
from envs.alfworld.game.house import House, Receptacle, name_order
from envs.alfworld.game.kinds import ALWAYS_OPENABLE, CAN_CONTAIN, LAMPS, OPENABLE, TREATMENTS, kind_of
from envs.alfworld.game.rooms import FURNITURE, SOMETIMES_OPEN, THINGS, tendency

_SHARED_PLACE = 0.12
"""Probability that a receptacle is reached from the same spot as the one before it."""

_ROOMS = {
    SIMPLE: ("kitchen", "bedroom", "livingroom", "bathroom"),
    LOOK: ("bedroom", "livingroom"),
    TWO: ("kitchen", "bedroom", "livingroom", "bathroom"),
    **dict.fromkeys(TREATED, ("kitchen",)),
    "pick_clean_then_place_in_recep": ("kitchen", "kitchen", "bathroom"),
}


def draw_house(rng: random.Random, task: str | None = None, size: float = 1.0) -> House:
    """Draw a house and a task in it that is not done yet and can be done.

    Args:
        rng: All randomness.
        task: One of ``TASK_TYPES``, or None for any.
        size: In (0, 1]: how much furniture there may be, from the least to the most.
    """
    task = task or rng.choice(TASK_TYPES)
    while True:
        house = _try(rng, task, size)
        if house is not None:
            return house


def _try(rng: random.Random, task: str, size: float) -> House | None:
    room = rng.choice(_ROOMS[task])
    receptacles = _furnish(rng, room, size)
    here = Counter(kind_of(r.name) for r in receptacles)
    goal = _pose(rng, task, room, here)
    if goal is None:
        return None
    inside = _place(rng, room, receptacles, goal, size)
    house = House(receptacles, inside, goal)
    return house if _fair(house) else None


def _furnish(rng: random.Random, room: str, size: float) -> tuple[Receptacle, ...]:
    names = []
    for kind, (least, most) in FURNITURE[room].items():
        count = rng.randint(least, least + round((most - least) * size))
        names += [f"{kind} {number}" for number in range(1, count + 1)]
    receptacles: list[Receptacle] = []
    place = 0
    for name in sorted(names, key=name_order):
        place += not receptacles or rng.random() >= _SHARED_PLACE
        kind = kind_of(name)
        openable = kind in OPENABLE and (kind in ALWAYS_OPENABLE or rng.random() >= SOMETIMES_OPEN[kind])
        receptacles.append(Receptacle(name, openable, place))
    return tuple(receptacles)


def _pose(rng: random.Random, task: str, room: str, here: Counter[str]) -> Goal | None:
    """A goal for what the room holds, or None."""
    things = [t for t in THINGS[room] if t not in LAMPS]
    if task == LOOK:
        lamps = [lamp for lamp in LAMPS if lamp in THINGS[room] and any(tendency(lamp, kind) for kind in here)]
        return Goal(task, rng.choice(things), rng.choice(lamps)) if lamps else None
    treatment = TREATED.get(task)
    if treatment:
        appliance, treatable = TREATMENTS[treatment]
        things = [t for t in things if t in treatable] if here[appliance] else []
    pairs = [(t, kind) for t in things for kind in here if t in CAN_CONTAIN[kind]]
    # Kinds of objects first: else those that fit everywhere would be in most of the tasks.
    options = sorted({t for t, _ in pairs})
    if not options:
        return None
    thing = rng.choice(options)
    return Goal(task, thing, rng.choice(sorted({kind for t, kind in pairs if t == thing})))


def _place(
    rng: random.Random, room: str, receptacles: tuple[Receptacle, ...], goal: Goal, size: float
) -> tuple[tuple[str, str], ...]:
    """Put the room's things somewhere; those of the goal are always there."""
    counts = Counter({thing: rng.randint(0, 3) for thing in THINGS[room] if rng.random() < 0.3 + 0.5 * size})
    for lamp in LAMPS:
        counts[lamp] = min(counts[lamp], 1)
    counts[goal.thing] = max(counts[goal.thing], goal.count)
    if goal.task == LOOK:
        counts[goal.target] = 1
        counts.update({lamp: -counts[lamp] for lamp in LAMPS if lamp != goal.target})
    inside = []
    for thing, count in sorted(counts.items()):
        weights = [
            tendency(thing, kind_of(r.name)) * (thing in LAMPS or thing in CAN_CONTAIN[kind_of(r.name)])
            for r in receptacles
        ]
        if not any(weights):
            continue
        chosen = rng.choices(receptacles, weights, k=count) if count > 0 else []
        inside += [(f"{thing} {number}", r.name) for number, r in enumerate(chosen, 1)]
    return tuple(inside)


def _fair(house: House) -> bool:
    """Whether the goal's things are there, none is done already, and they are not all at their end."""
    goal = house.goal
    where = [kind_of(r) for thing, r in house.inside if kind_of(thing) == goal.thing]
    if len(where) < goal.count:
        return False
    if goal.task == LOOK:
        return any(kind_of(thing) == goal.target for thing, _ in house.inside)
    if goal.task == TWO:
        at_target = Counter(
            r for thing, r in house.inside if kind_of(thing) == goal.thing and kind_of(r) == goal.target
        )
        return max(at_target.values(), default=0) < goal.count
    return goal.treatment is not None or goal.target not in where
