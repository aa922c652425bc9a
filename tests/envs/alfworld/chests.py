"""A small domain to search in: a key is in one of some chests, each closed; nothing is seen of what is closed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tape.protocols import Action, Observation, State
from tape.protocols.predicates import Assignment, Effects, InferenceRule, Predicate, QueryMacro
from tests.tape.methods.aec.declared import Declared


def at(place: str) -> Predicate:
    return Predicate("at", (place,))


def is_open(chest: str) -> Predicate:
    return Predicate("open", (chest,))


def key_in(chest: str) -> Predicate:
    return Predicate("in", ("key", chest))


HOLDING = Predicate("holding", ("key",))


class Seen(NamedTuple):
    """What the player knows: where it is, what was opened, where the key was seen, whether it is held."""

    place: str
    opened: frozenset[str] = frozenset()
    seen_in: str | None = None
    holding: bool = False


@dataclass
class Chests(Declared):
    """The domain; `locked` chests do not show whether they are open, and `hidden` is where the key really is."""

    chests: tuple[str, ...]
    hidden: str
    locked: frozenset[str] = frozenset()

    def actions(self) -> list[Action]:
        return [f"{verb} {chest}" for verb in ("go", "open", "take") for chest in self.chests]

    def play(self, state: Seen, action: Action) -> Seen:
        """The truth."""
        verb, chest = action.split(" ")
        if verb == "go":
            return state._replace(place=chest)
        if state.place != chest:
            return state
        if verb == "open":
            seen = chest if chest == self.hidden and not state.holding else state.seen_in
            return state._replace(opened=state.opened | {chest}, seen_in=seen)
        if chest == self.hidden and chest in state.opened and not state.holding:
            return state._replace(seen_in=None, holding=True)
        return state

    def ground(self, state: State) -> Assignment:
        assert isinstance(state, Seen)
        known = {at(place): place == state.place for place in (*self.chests, "door")} | {HOLDING: state.holding}
        for chest in self.chests:
            if chest not in self.locked or chest in state.opened:
                known[is_open(chest)] = chest in state.opened
            if chest in state.opened:
                known[key_in(chest)] = state.seen_in == chest
        return known

    def preconditions(self, action: Action) -> Assignment:
        verb, chest = action.split(" ")
        if verb == "go":
            return {}
        return {at(chest): True} if verb == "open" else {at(chest): True, is_open(chest): True, key_in(chest): True}

    def effects(self, action: Action, known: Assignment) -> Effects:
        verb, chest = action.split(" ")
        if verb == "go":
            return {at(place): place == chest for place in (*self.chests, "door")}
        return {is_open(chest): True} if verb == "open" else {HOLDING: True, key_in(chest): False}

    def goals(self) -> Sequence[Assignment]:
        return ({HOLDING: True},)

    def rules(self) -> Sequence[InferenceRule]:
        return (OnePlace(self.chests),)

    def query(self, state: State, predicate: Predicate) -> QueryMacro | None:
        if predicate.name != "in":
            return None
        return QueryMacro(predicate, (f"go {predicate.args[1]}", f"open {predicate.args[1]}"))

    def establishing(self, state: State, predicate: Predicate, value: bool) -> Sequence[Action] | None:
        if predicate.name == "open" and value:
            return (f"go {predicate.args[0]}", f"open {predicate.args[0]}")
        return None

    def project(self, observation: Observation) -> State:
        return Seen("door", seen_in=observation.text)

    def admissible(self, state: State) -> Sequence[Action] | None:
        return self.actions()


@dataclass(frozen=True)
class OnePlace:
    """The key is in one chest at most, and in none while it is held."""

    chests: tuple[str, ...]
    name: str = "one place"

    def __call__(self, known: Assignment) -> Assignment:
        if known.get(HOLDING):
            return {key_in(chest): False for chest in self.chests}
        for chest in self.chests:
            if known.get(key_in(chest)):
                return {key_in(other): other == chest for other in self.chests} | {HOLDING: False}
        return {}
