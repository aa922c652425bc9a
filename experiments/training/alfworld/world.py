"""A household played by its rules in memory: what a training example saw before it is asked."""

from __future__ import annotations

import random
from collections import Counter
from copy import copy
from dataclasses import replace

from envs.alfworld.commands import AlfworldCommand
from envs.alfworld.game.house import House
from envs.alfworld.game.kinds import AFTER, CAN_CONTAIN, LAMPS, TREATMENTS, kind_of
from envs.alfworld.rules import meant
from envs.alfworld.state import BARE, KEPT, OPEN, SHUT, Knowledge, Layout, unseen
from experiments.training.alfworld.plans import Scene, pairs_of


class World:
    """A household and what is known of it.

    Args:
        house: As it really is.
        full: Whether everything is known from the start (``full`` observation), the shared spots included.
        names: New names of its receptacles, by their own; numbers in the text should not matter.
    """

    def __init__(self, house: House, *, full: bool, names: dict[str, str]) -> None:
        receptacles = tuple(names[r.name] for r in house.receptacles)
        spots: dict[int, list[str]] = {}
        for r in house.receptacles:
            spots.setdefault(r.place, []).append(names[r.name])
        self._spot = {name: tuple(group) for group in spots.values() for name in group}
        together = tuple(group for group in self._spot.values() if len(group) > 1) if full else ()
        self.layout = Layout(house.goal, receptacles, tuple(dict.fromkeys(together)))
        self.openable = {names[r.name] for r in house.receptacles if r.openable}
        self.closed = set(self.openable)
        self.inside = {(thing, names[r]) for thing, r in house.inside}
        self.known = Knowledge.start(self.layout)
        if full:
            for name in receptacles:
                self._see(name)

    def twin(self) -> World:
        """Another of the same, to try something in."""
        other = copy(self)
        other.closed, other.inside = set(self.closed), set(self.inside)
        return other

    def _see(self, receptacle: str) -> None:
        """Learn what is in a receptacle."""
        status = BARE if receptacle not in self.openable else KEPT if receptacle in self.closed else OPEN
        known = self.known.found(receptacle, status)
        there = frozenset(pair for pair in self.inside if pair[1] == receptacle)
        others = frozenset(pair for pair in known.inside if pair[1] != receptacle)
        self.known = replace(known, inside=others | there)

    def do(self, command: AlfworldCommand) -> bool:
        """Do a command, the object by its kind; False, and nothing changes, where it cannot be done."""
        place, known = command.place, self.known
        if command.verb == "go":
            if place in known.at:
                return False
            self.known = replace(known, at=self.layout.reached_with(place))
            if place in self.closed:
                if known.of(place) not in (KEPT, SHUT):
                    self.known = self.known.found(place, SHUT)
            else:
                self._see(place)
            return True
        if command.verb in ("open", "close"):
            if (
                place not in known.at
                or place not in self.openable
                or (place in self.closed) != (command.verb == "open")
            ):
                return False
            self.closed ^= {place}
            self._see(place)
            return True
        if command.verb == "use":
            return self._use(command)
        return self._handle(command)

    def _use(self, command: AlfworldCommand) -> bool:
        places = {command.place} & set(self.known.at) if command.place else self.known.at
        for thing, where in sorted(self.inside):
            if kind_of(thing) == command.thing in LAMPS and where in places:
                self.known = replace(self.known, marks=self.known.marks | {(thing, "lit")})
                return True
        return False

    def _handle(self, command: AlfworldCommand) -> bool:
        known, place = self.known, command.place
        if place not in known.at:
            return False
        held = kind_of(known.holding) == command.thing if known.holding else False
        if command.verb == "take":
            there = [t for t, r in self.inside if r == place and kind_of(t) == command.thing]
            if known.holding or not there or place in self.closed or command.thing in LAMPS:
                return False
            pair = (meant(known, there), place)
            self.inside.discard(pair)
            self.known = replace(known, holding=pair[0], inside=known.inside - {pair})
            return True
        if not held:
            return False
        if command.verb == "put":
            if place in self.closed or command.thing not in CAN_CONTAIN[kind_of(place)]:
                return False
            pair = (known.holding, place)
            self.inside.add(pair)
            self.known = replace(known, holding="", inside=known.inside | {pair})
            return True
        appliance, treatable = TREATMENTS[command.verb]
        if kind_of(place) != appliance or command.thing not in treatable:
            return False
        undone = {"hot": "cool", "cool": "hot"}.get(AFTER[command.verb])
        marks = (known.marks - {(known.holding, undone)}) | {(known.holding, AFTER[command.verb])}
        self.known = replace(known, marks=frozenset(marks))
        return True

    def scene(self) -> Scene:
        """Everything that matters as it really is, for the best plan from here."""
        known = self.known
        marks = {thing: known.marks_of(thing) for thing, _ in known.marks}
        return Scene(
            self.layout,
            known.at,
            kind_of(known.holding) if known.holding else "",
            known.marks_of(known.holding),
            pairs_of(self.inside, marks, self.layout.goal.kinds),
            frozenset(self.closed),
        )

    def hidden(self) -> list[tuple[str, str]]:
        """Kind and receptacle of every object of the goal's kinds that has not been seen."""
        pairs = sorted(self.inside - self.known.inside)
        return [(kind_of(thing), where) for thing, where in pairs if kind_of(thing) in self.layout.goal.kinds]

    def assumed(self) -> frozenset[tuple[str, str]]:
        """The same as what a plan may assume."""
        count = Counter[str]()
        group = set()
        for kind, where in self.hidden():
            count[kind] += 1
            group.add((unseen(kind, count[kind]), where))
        return frozenset(group)

    def explore(self, rng: random.Random, most: int) -> None:
        """Look into some receptacles."""
        chosen = rng.sample(self.layout.receptacles, rng.randint(0, min(most, len(self.layout.receptacles))))
        for receptacle in chosen:
            self.do(AlfworldCommand("go", receptacle))
            if receptacle in self.closed and receptacle in self.known.at and rng.random() < 0.85:
                self.do(AlfworldCommand("open", receptacle))
                if rng.random() < 0.15:
                    self.do(AlfworldCommand("close", receptacle))

    def possible(self, rng: random.Random) -> AlfworldCommand:
        """Some command that may or may not be possible here."""
        goal, known = self.layout.goal, self.known
        near = rng.choice(known.at) if known.at and rng.random() < 0.75 else rng.choice(self.layout.receptacles)
        verb = rng.choice(("go", "open", "close", "take", "take", "put", "put", "clean", "heat", "cool", "use"))
        if verb == "use":
            return AlfworldCommand(
                verb, thing=goal.target if goal.target in goal.kinds else rng.choice(("desklamp", "floorlamp"))
            )
        if verb in ("go", "open", "close"):
            if verb == "go" and rng.random() < 0.8:
                near = rng.choice(self.layout.receptacles)
            return AlfworldCommand(verb, near)
        if verb in TREATMENTS:
            appliances = [r for r in self.layout.receptacles if kind_of(r) in ("sinkbasin", "microwave", "fridge")]
            near = rng.choice(appliances) if appliances and rng.random() < 0.6 else near
        return AlfworldCommand(verb, near, goal.thing)
