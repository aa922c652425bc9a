"""The shortest plan in a household of which everything that matters is known: what the household LM learns to write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from envs.alfworld.commands import AlfworldCommand
from envs.alfworld.game.goal import LOOK, TWO
from envs.alfworld.game.kinds import AFTER, TREATMENTS, kind_of
from envs.alfworld.state import Layout


@dataclass(frozen=True)
class Scene:
    """A moment of a game.

    Attributes:
        layout: The household; receptacles known to share a spot are reached together.
        at: Receptacles within reach.
        holding: Kind of the object in hand, or empty.
        held: What was done to it.
        pairs: Kind, receptacle and marks of the objects of the goal's kinds.
        closed: Receptacles that are closed.
    """

    layout: Layout
    at: tuple[str, ...]
    holding: str
    held: tuple[str, ...]
    pairs: tuple[tuple[str, str, tuple[str, ...]], ...]
    closed: frozenset[str]


class _Draft:
    """A plan in the making; every method appends what is needed for it."""

    def __init__(self, scene: Scene) -> None:
        self._scene, self.at, self._closed = scene, scene.at, set(scene.closed)
        self.commands: list[AlfworldCommand] = []

    def go(self, place: str) -> None:
        if place not in self.at:
            self.commands.append(AlfworldCommand("go", place))
            self.at = self._scene.layout.reached_with(place)

    def reach_into(self, place: str) -> None:
        self.go(place)
        if place in self._closed:
            self.commands.append(AlfworldCommand("open", place))
            self._closed.discard(place)

    def take(self, thing: str, place: str) -> None:
        self.reach_into(place)
        self.commands.append(AlfworldCommand("take", place, thing))

    def treat(self, verb: str, thing: str, place: str) -> None:
        self.go(place)
        self.commands.append(AlfworldCommand(verb, place, thing))

    def put(self, thing: str, place: str) -> None:
        self.reach_into(place)
        self.commands.append(AlfworldCommand("put", place, thing))

    def use(self, lamp: str, place: str) -> None:
        self.go(place)
        self.commands.append(AlfworldCommand("use", thing=lamp))


def best_plan(scene: Scene) -> tuple[AlfworldCommand, ...] | None:
    """The fewest commands to the goal; of equally many the first in the layout's order. None if there is no way."""
    drafts = list(_drafts(scene))
    number = scene.layout.number

    def order(plan: tuple[AlfworldCommand, ...]) -> tuple[int, list[tuple[int, str]]]:
        return len(plan), [(number.get(c.place, -1), c.verb) for c in plan]

    return min(drafts, key=order, default=None)


def _drafts(scene: Scene) -> Iterable[tuple[AlfworldCommand, ...]]:
    goal = scene.layout.goal
    if scene.holding and scene.holding != goal.thing:
        return
    if goal.task == TWO:
        yield from _two(scene)
        return
    for thing, place, marks in _objects(scene):
        if goal.task == LOOK:
            yield from _look(scene, thing, place)
        else:
            yield from _put_one(scene, thing, place, marks)


def _objects(scene: Scene) -> list[tuple[str, str, tuple[str, ...]]]:
    """What can be used: the object in hand (its place is empty), else all of the kind."""
    thing = scene.layout.goal.thing
    if scene.holding:
        return [(thing, "", scene.held)]
    return [pair for pair in scene.pairs if pair[0] == thing]


def _look(scene: Scene, thing: str, place: str) -> Iterable[tuple[AlfworldCommand, ...]]:
    for kind, stand, marks in scene.pairs:
        if kind != scene.layout.goal.target:
            continue
        draft = _Draft(scene)
        if place:
            draft.take(thing, place)
        if "lit" in marks:
            draft.go(stand)
        else:
            draft.use(kind, stand)
        yield tuple(draft.commands)
        if place and "lit" not in marks:  # the lamp first: the object may be within its reach
            draft = _Draft(scene)
            draft.use(kind, stand)
            draft.take(thing, place)
            if stand in draft.at:
                yield tuple(draft.commands)


def _put_one(scene: Scene, thing: str, place: str, marks: tuple[str, ...]) -> Iterable[tuple[AlfworldCommand, ...]]:
    goal = scene.layout.goal
    treatment = goal.treatment
    needed = treatment is not None and AFTER[treatment] not in marks
    appliances = _of_kind(scene, TREATMENTS[treatment][0]) if treatment and needed else [""]
    for appliance in appliances:
        for target in _of_kind(scene, goal.target):
            draft = _Draft(scene)
            if place:
                draft.take(thing, place)
            if treatment and needed:
                draft.treat(treatment, thing, appliance)
            draft.put(thing, target)
            yield tuple(draft.commands)


def _two(scene: Scene) -> Iterable[tuple[AlfworldCommand, ...]]:
    goal = scene.layout.goal
    for target in _of_kind(scene, goal.target):
        there = sum(place == target for kind, place, _ in scene.pairs if kind == goal.thing)
        elsewhere = [place for kind, place, _ in scene.pairs if kind == goal.thing and place != target]
        need = goal.count - there - bool(scene.holding)
        if need > len(elsewhere):
            continue
        for fetched in _tuples(elsewhere, max(need, 0)):
            draft = _Draft(scene)
            if scene.holding:
                draft.put(goal.thing, target)
            for place in fetched:
                draft.take(goal.thing, place)
                draft.put(goal.thing, target)
            yield tuple(draft.commands)


def _tuples(places: list[str], count: int) -> Iterable[tuple[str, ...]]:
    if count == 0:
        yield ()
        return
    for i, place in enumerate(places):
        for rest in _tuples(places[:i] + places[i + 1 :], count - 1):
            yield (place, *rest)


def _of_kind(scene: Scene, kind: str) -> list[str]:
    return [name for name in scene.layout.receptacles if kind_of(name) == kind]


def pairs_of(
    inside: Iterable[tuple[str, str]], marks: Mapping[str, tuple[str, ...]], kinds: Iterable[str]
) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """Pairs of a :class:`Scene` from objects by name."""
    wanted = set(kinds)
    return tuple(sorted((kind_of(t), r, marks.get(t, ())) for t, r in inside if kind_of(t) in wanted))
