"""The projector z: from what the grounder found in the game's answers to what is known of the household."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from envs.alfworld import grounder as ground
from envs.alfworld.game.house import House
from envs.alfworld.grounder import SeenFact
from envs.alfworld.state import BARE, KEPT, OPEN, SEARCHED, SHUT, Knowledge, Layout

_MARKS = {ground.CLEAN: "clean", ground.HOT: "hot", ground.COOL: "cool", ground.LIT: "lit"}


def updated(state: Knowledge, command: str, findings: Iterable[SeenFact]) -> Knowledge:
    """What is known after an answer.

    Args:
        state: Before.
        command: As the game was given it.
        findings: What the grounder found in the answer.
    """
    values = {(f.predicate.name, *f.predicate.args): f.value for f in findings}
    state = _moved(state, command, values)
    for (name, *args), value in sorted(values.items()):
        state = _with_status(state, name, args, value)
    inside = set(state.inside)
    for (name, *args), value in values.items():
        if name == ground.CONTENTS_KNOWN and value:
            inside = {(thing, where) for thing, where in inside if where != args[0]}
    for (name, *args), value in values.items():
        if name == ground.IN:
            inside.discard((args[0], args[1]))
            if value:
                inside.add((args[0], args[1]))
    marks, holding = set(state.marks), state.holding
    for (name, *args), value in values.items():
        if name in _MARKS:
            pair = (args[0], _MARKS[name])
            marks = marks | {pair} if value else marks - {pair}
        elif name == ground.HOLDING and value:
            holding = args[0]
        elif name == ground.HANDS_FREE and value:
            holding = ""
    return replace(state, inside=frozenset(inside), marks=frozenset(marks), holding=holding)


def _moved(state: Knowledge, command: str, values: dict[tuple[str, ...], bool]) -> Knowledge:
    """With what is within reach; the receptacle that was gone to comes first."""
    places = {args[0]: value for (name, *args), value in values.items() if name == ground.AT}
    if not places:
        return state
    gone_to = command.removeprefix("go to ") if command.startswith("go to ") else ""
    # An arrival shows whether the receptacle can be closed; a refusal does not.
    arrived = (ground.OPENABLE, gone_to) in values
    reached = sorted((name for name, value in places.items() if value), key=state.layout.number.__getitem__)
    first = [gone_to] if gone_to in reached else []
    names = dict.fromkeys([*first, *(() if arrived else state.at), *reached])
    return replace(state, at=tuple(name for name in names if places.get(name, True)))


def _with_status(state: Knowledge, name: str, args: list[str], value: bool) -> Knowledge:
    if name == ground.OPEN:
        if value:
            return state.found(args[0], OPEN)
        return state.found(args[0], KEPT if state.of(args[0]) in SEARCHED else SHUT)
    if name == ground.CONTENTS_KNOWN and value and state.of(args[0]) != OPEN:
        return state.found(args[0], BARE)
    return state


def layout_of(house: House, *, full: bool) -> Layout:
    """What an agent knows of a house at the start: its furniture, and in ``full`` mode what shares a spot."""
    spots: dict[int, list[str]] = {}
    for receptacle in house.receptacles:
        spots.setdefault(receptacle.place, []).append(receptacle.name)
    shared = tuple(tuple(names) for names in spots.values() if len(names) > 1) if full else ()
    return Layout(house.goal, tuple(r.name for r in house.receptacles), shared)


def all_seen(house: House) -> Knowledge:
    """What is known at the start in ``full`` mode: the contents of every receptacle (TAPE appendix E.1)."""
    layout = layout_of(house, full=True)
    status = tuple(KEPT if r.openable else BARE for r in house.receptacles)
    return Knowledge(layout, inside=frozenset(house.inside), status=status)
