"""The rules of the games written down once more, and a breadth-first search over all commands: slow and plain."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

from envs.alfworld.game.house import House
from envs.alfworld.game.kinds import AFTER, CAN_CONTAIN, LAMPS, TREATMENTS, kind_of


@dataclass(frozen=True)
class World:
    """All that changes in a game."""

    place: int | None = None
    opened: frozenset[str] = frozenset()
    inside: frozenset[tuple[str, str]] = frozenset()
    held: str | None = None
    states: frozenset[tuple[str, str]] = frozenset()


def start(house: House) -> World:
    return World(inside=frozenset(house.inside))


def moves(house: House, world: World) -> dict[str, World]:
    """Every command that does something, look and examine apart, and what it leads to."""
    worlds: dict[str, World] = {}
    here = [r for r in house.receptacles if r.place == world.place]
    for r in house.receptacles:
        if r.place != world.place:
            worlds[f"go to {r.name}"] = replace(world, place=r.place)
    for r in here:
        ajar = not r.openable or r.name in world.opened
        if r.openable and not ajar:
            worlds[f"open {r.name}"] = replace(world, opened=world.opened | {r.name})
        if r.openable and ajar:
            worlds[f"close {r.name}"] = replace(world, opened=world.opened - {r.name})
        if world.held and ajar and kind_of(world.held) in CAN_CONTAIN.get(kind_of(r.name), ()):
            worlds[f"put {world.held} in/on {r.name}"] = replace(
                world, held=None, inside=world.inside | {(world.held, r.name)}
            )
        for verb, (appliance, kinds) in TREATMENTS.items():
            if world.held and kind_of(r.name) == appliance and kind_of(world.held) in kinds:
                undone = {"heat": "cool", "cool": "hot"}.get(verb)
                states = (world.states - {(undone, world.held)}) | {(AFTER[verb], world.held)}
                worlds[f"{verb} {world.held} with {r.name}"] = replace(world, states=states)
        for o, where in world.inside:
            if where != r.name:
                continue
            if ajar and not world.held and kind_of(o) not in (*LAMPS, "houseplant"):
                worlds[f"take {o} from {r.name}"] = replace(world, held=o, inside=world.inside - {(o, r.name)})
            if kind_of(o) in LAMPS:
                worlds[f"use {o}"] = replace(world, states=world.states | {("lit", o)})
    return worlds


def won(house: House, world: World) -> bool:
    goal = house.goal
    if goal.kinds[1:]:
        places = {r.name: r.place for r in house.receptacles}
        lit = any(
            ("lit", o) in world.states and kind_of(o) == goal.target and places[r] == world.place
            for o, r in world.inside
        )
        return lit and world.held is not None and kind_of(world.held) == goal.thing
    needed = AFTER.get(goal.treatment or "")
    for r in house.receptacles:
        if kind_of(r.name) == goal.target:
            there = {
                o
                for o, where in world.inside
                if where == r.name and kind_of(o) == goal.thing and (not needed or (needed, o) in world.states)
            }
            if len(there) >= goal.count:
                return True
    return False


def fewest(house: House, limit: int = 200_000) -> int | None:
    """The length of a shortest plan, by breadth-first search; None if none was found within the limit."""
    queue = deque([(start(house), 0)])
    seen = {start(house)}
    while queue and len(seen) < limit:
        world, steps = queue.popleft()
        if won(house, world):
            return steps
        for after in moves(house, world).values():
            if after not in seen:
                seen.add(after)
                queue.append((after, steps + 1))
    return None
