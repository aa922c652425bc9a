"""What a plan assumes about receptacles that were not looked into."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from envs.alfworld.commands import AlfworldCommand
from envs.alfworld.game.kinds import kind_of
from envs.alfworld.state import SEARCHED, Knowledge


def assumed_by(state: Knowledge, commands: Sequence[AlfworldCommand]) -> tuple[tuple[str, str], ...]:
    """Unseen objects and the unsearched receptacles in which a plan finds them, in the plan's order.

    What the plan itself has put somewhere is not assumed to be there.
    """
    texts: list[tuple[str, str]] = []
    there = Counter((kind_of(thing), where) for thing, where in state.inside)
    for command in commands:
        pair = (kind_of(command.thing) if command.thing else "", command.place)
        if command.verb == "put":
            there[pair] += 1
        elif command.verb in ("take", "use") and command.place in state.layout.number:
            if there[pair] == 0 and state.of(command.place) not in SEARCHED:
                texts.append((state.unseen_name(pair[0], (thing for thing, _ in texts)), command.place))
                there[pair] += 1
            there[pair] -= command.verb == "take"
    return tuple(texts)


def assume(state: Knowledge, commands: Sequence[AlfworldCommand]) -> Knowledge:
    """The state with what a plan assumes, and nothing else assumed."""
    return replace(state, assumed=frozenset(assumed_by(state, commands)))


def needed(state: Knowledge) -> list[list[tuple[str, str]]]:
    """For each object that the goal needs and that was not seen: its kind, and the places where it may be."""
    goal = state.layout.goal
    seen = Counter(kind_of(thing) for thing in {thing for thing, _ in state.inside})
    seen[kind_of(state.holding)] += bool(state.holding)
    missing = [goal.thing] * max(goal.count - seen[goal.thing], 0)
    missing += [kind for kind in goal.kinds[1:] if not seen[kind]]
    places = [r for r, status in zip(state.layout.receptacles, state.status, strict=True) if status not in SEARCHED]
    return [[(kind, place) for place in places] for kind in missing]


def hypothesise(state: Knowledge, pairs: Sequence[tuple[str, str]]) -> Knowledge:
    """The state with an unseen object of each kind assumed in a place."""
    texts: list[tuple[str, str]] = []
    for kind, place in pairs:
        texts.append((state.unseen_name(kind, (thing for thing, _ in texts)), place))
    return replace(state, assumed=frozenset(texts))


def plain(state: Knowledge) -> Knowledge:
    """The state without assumptions."""
    return replace(state, assumed=frozenset()) if state.assumed else state
