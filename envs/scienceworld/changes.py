"""What an action has brought about, as a predicate: one observable change, the most specific one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from envs.scienceworld.predicates import KINDS, explores, meaning, sentence
from envs.scienceworld.state import ScienceState
from envs.scienceworld.things import Thing, find, plain, read_things
from tape.methods.sdp.target import Target
from tape.protocols.predicates import Predicate

MEASURED = "The last thing measured or read is: "
GOAL = Target("The task's score reaches 100", "goal", goal=True)
"""The goal predicate (SDP appendix A.3)."""


def target_of(text: str) -> Target:
    """A target from a sentence."""
    if requires := meaning(text):
        return Target(text, KINDS[requires[0][0].name], requires)
    return Target(text, "explore" if explores(text) else "other")


def brought_about(before: ScienceState, after: ScienceState) -> Target | None:
    """The target that an action has reached; None where nothing has changed that shows."""
    for predicate, value in _changes(before, after):
        return Target(sentence(predicate, value=value), KINDS[predicate.name], ((predicate, value),))
    if after.reading != before.reading:
        return Target(f"{MEASURED}{' '.join(after.reading.split())}", "measure")
    return None


def unchanged(state: ScienceState) -> Target:
    """A target for an action after which nothing is to be different: the agent is where it was."""
    predicate = Predicate("at", (plain(state.room.name),))
    return Target(sentence(predicate), "stay", ((predicate, True),))


def along(states: Sequence[ScienceState]) -> list[Target]:
    """One target for each step of a path."""
    return [brought_about(before, after) or unchanged(after) for before, after in pairwise(states)]


def _changes(before: ScienceState, after: ScienceState) -> Iterator[tuple[Predicate, bool]]:
    if len(after.focused) > len(before.focused):
        yield Predicate("focused", (plain(after.focused[-1]),)), True
    if before.room.name != after.room.name:
        yield Predicate("at", (plain(after.room.name),)), True
        return
    held, holds = read_things(before.inventory), read_things(after.inventory)
    for thing in holds:
        if not any(other.name == thing.name for other in held):
            yield Predicate("carries", (thing.name,)), True
    seen, sees = read_things(before.room.things), read_things(after.room.things)
    yield from _flags((*seen, *held), (*sees, *holds))
    then, now = _placed((*seen, *held)), _placed((*sees, *holds))
    for inner, where in sorted(now - then):
        if where and len(find(where, (*sees, *holds))) == 1:
            yield Predicate("in", (inner, where)), True
    for thing in held:
        if not any(other.name == thing.name for other in holds):
            yield Predicate("carries", (thing.name,)), False
    for room, is_open in after.room.doors:
        if (room, not is_open) in before.room.doors:
            yield Predicate("open", (f"door to {plain(room)}",)), is_open


def _placed(things: Sequence[Thing]) -> set[tuple[str, str]]:
    """What is directly in or on what."""
    group = set()
    for thing in things:
        for outer in (thing, *thing.everything()):
            group |= {(inner.name, outer.name) for inner in outer.inside}
    return group


def _flags(before: Sequence[Thing], after: Sequence[Thing]) -> Iterator[tuple[Predicate, bool]]:
    """Devices turned on or off, and things opened or closed."""
    then = {thing.name: thing for thing in before}
    for thing in after:
        old = then.get(thing.name)
        if old is None:
            continue
        if thing.active is not None and thing.active is not old.active:
            yield Predicate("active", (thing.name,)), thing.active
        if thing.open is not None and thing.open is not old.open:
            yield Predicate("open", (thing.name,)), thing.open
