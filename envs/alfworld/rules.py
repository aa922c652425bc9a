"""What commands do to what is known, by the rules of the game (the exact world model, and what predicates rest on)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from envs.alfworld.commands import AlfworldCommand
from envs.alfworld.game.goal import Goal
from envs.alfworld.game.kinds import AFTER, CAN_CONTAIN, LAMPS, OPENABLE, TREATMENTS, kind_of
from envs.alfworld.state import BARE, CLOSED, KEPT, NEW, OPEN, SEARCHED, SHUT, VISIBLE, Knowledge

_UNDONE = {"hot": "cool", "cool": "hot"}


def apply(state: Knowledge, command: AlfworldCommand) -> Knowledge | None:
    """The state after a command, as far as it follows from what is known and assumed; None where it cannot be done.

    Of a receptacle never looked at, one of a kind that may be closed is taken to be.
    """
    if command.place and command.place not in state.layout.number:
        return None
    if command.verb == "go":
        return arrive(state, command.place)
    if command.verb == "use":
        return _use(state, command)
    if command.place not in state.at:
        return None
    if command.verb == "open":
        return state.found(command.place, OPEN) if state.of(command.place) in CLOSED else None
    if command.verb == "close":
        return state.found(command.place, KEPT) if state.of(command.place) == OPEN else None
    return _handle(state, command)


def arrive(state: Knowledge, place: str, status: str | None = None) -> Knowledge | None:
    """The state after going somewhere; with the status found there, or else the likely one."""
    if place in state.at:
        return None
    here = replace(state, at=state.layout.reached_with(place))
    if status is None:
        status = state.of(place)
        if status == NEW:
            status = SHUT if kind_of(place) in OPENABLE else BARE
    return here.found(place, status)


def _use(state: Knowledge, command: AlfworldCommand) -> Knowledge | None:
    places = {command.place} & set(state.at) if command.place else state.at
    texts = [t for t, where in state.inside if _is(t, command.thing) and where in places and kind_of(t) in LAMPS]
    return replace(state, marks=state.marks | {(min(texts), "lit")}) if texts else None


def _is(thing: str, named: str) -> bool:
    """Whether an object is meant by a name or a kind."""
    return thing == named or kind_of(thing) == named


def _handle(state: Knowledge, command: AlfworldCommand) -> Knowledge | None:
    thing, place = command.thing, command.place
    if command.verb == "take":
        there = [t for t in state.contents(place) if _is(t, thing)]
        if state.holding or not there or state.of(place) not in VISIBLE or kind_of(there[0]) in LAMPS:
            return None
        return take(state, meant(state, there), place)
    if not state.holding or not _is(state.holding, thing):
        return None
    if command.verb == "put":
        if state.of(place) in CLOSED or not fits(state.layout.goal, kind_of(state.holding), kind_of(place)):
            return None
        return put(state, place)
    appliance, treatable = TREATMENTS[command.verb]
    if kind_of(place) != appliance or kind_of(state.holding) not in treatable:
        return None
    return treat(state, AFTER[command.verb])


def meant(state: Knowledge, things: Sequence[str]) -> str:
    """Of objects that a kind may mean, the one treated as the goal asks, else the first by name."""
    goal = state.layout.goal
    wanted = AFTER[goal.treatment] if goal.treatment else ""
    return min(things, key=lambda thing: ((thing, wanted) not in state.marks, thing))


def take(state: Knowledge, thing: str, place: str) -> Knowledge:
    """With an object in hand that was in a receptacle."""
    return replace(state, holding=thing, inside=state.inside - {(thing, place)})


def put(state: Knowledge, place: str) -> Knowledge:
    """With the object in hand put into a receptacle."""
    return replace(state, holding="", inside=state.inside | {(state.holding, place)})


def treat(state: Knowledge, mark: str) -> Knowledge:
    """With the object in hand cleaned, heated or cooled."""
    undone = (state.holding, _UNDONE.get(mark, ""))
    return replace(state, marks=(state.marks - {undone}) | {(state.holding, mark)})


def fits(goal: Goal, kind: str, where: str) -> bool:
    """Whether a kind of receptacle can hold a kind of object: by the table of kinds, or because the goal needs it."""
    return kind in CAN_CONTAIN.get(where, ()) or (kind, where) == (goal.thing, goal.target)


def satisfied(state: Knowledge) -> bool:
    """Whether the goal is reached by what is known; assumptions that were not looked into do not count."""
    goal = state.layout.goal
    if goal.treatment is None and goal.count == 1 and goal.target in LAMPS:
        lit = {t for t, mark in state.marks if mark == "lit" and kind_of(t) == goal.target}
        near = any(t in lit and where in state.at for t, where in state.inside)
        return near and bool(state.holding) and kind_of(state.holding) == goal.thing
    done = AFTER[goal.treatment] if goal.treatment else None
    stored: dict[str, set[str]] = {}
    for thing, where in state.inside:
        if (
            kind_of(thing) == goal.thing
            and kind_of(where) == goal.target
            and (not done or (thing, done) in state.marks)
        ):
            stored.setdefault(where, set()).add(thing)
    return any(len(things) >= goal.count for things in stored.values())


def unsearched(state: Knowledge) -> tuple[str, ...]:
    """Receptacles whose contents are not known."""
    return tuple(r for r, status in zip(state.layout.receptacles, state.status, strict=True) if status not in SEARCHED)
