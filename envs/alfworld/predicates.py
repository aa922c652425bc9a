"""Typed predicates of a house: what is grounded, what commands need and change, what to query (AEC appendix A).

Objects are named by kind: ``in(apple, fridge 1)`` means that some apple is there. Where a kind leaves open which
object is meant, values become unknown rather than guessed.
"""

from __future__ import annotations

from collections.abc import Sequence

from envs.alfworld.assumptions import needed
from envs.alfworld.commands import AlfworldCommand, read_command
from envs.alfworld.game.goal import LOOK, TWO
from envs.alfworld.game.kinds import AFTER, ALWAYS_OPENABLE, LAMPS, OPENABLE, TREATMENTS, kind_of
from envs.alfworld.inference import RULES
from envs.alfworld.rules import fits
from envs.alfworld.state import BARE, CLOSED, NEW, SEARCHED, SHUT, VISIBLE, Knowledge, Layout, as_state
from tape.protocols import Action, State
from tape.protocols.hooks import EpisodeHooks
from tape.protocols.parts import Predicates
from tape.protocols.predicates import Assignment, Effects, InferenceRule, Predicate, QueryMacro

EMPTY = Predicate("empty_handed")
NEVER = Predicate("never")
"""False whatever happens: what the kinds of things rule out needs it."""
PLAIN = "plain"
"""In place of a mark: stored whatever was done to it."""


def at(place: str) -> Predicate:
    """The receptacle is within reach."""
    return Predicate("at", (place,))


def inside(kind: str, place: str) -> Predicate:
    """An object of the kind is in the receptacle."""
    return Predicate("in", (kind, place))


def two(kind: str, place: str) -> Predicate:
    """At least two objects of the kind are in the receptacle."""
    return Predicate("two_in", (kind, place))


def doubled(kind: str) -> Predicate:
    """One and the same object of the kind has been seen in two receptacles, or in one and in hand."""
    return Predicate("doubled", (kind,))


def shut(place: str) -> Predicate:
    """The receptacle is closed."""
    return Predicate("shut", (place,))


def searched(place: str) -> Predicate:
    """The receptacle's contents have been seen, and nothing but the agent has changed them since."""
    return Predicate("searched", (place,))


def holding(kind: str) -> Predicate:
    """The agent holds an object of the kind."""
    return Predicate("holding", (kind,))


def made(mark: str) -> Predicate:
    """The object in hand is clean, hot or cool."""
    return Predicate("made", (mark,))


def stored(kind: str, mark: str, place: str) -> Predicate:
    """An object of the kind that is clean, hot or cool (or whatever: ``plain``) is in the receptacle."""
    return Predicate("stored", (kind, mark, place))


def lit(kind: str, place: str) -> Predicate:
    """A lamp of the kind on the receptacle has been switched on."""
    return Predicate("lit", (kind, place))


def openable(place: str) -> Predicate:
    """The receptacle can be opened and closed."""
    return Predicate("openable", (place,))


class AlfworldPredicates(Predicates, EpisodeHooks):
    """What the domain declares of predicates."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def ground(self, state: State) -> Assignment:
        """What has been seen; receptacles that were not looked into are left out."""
        assert isinstance(state, Knowledge)
        goal, values = self.layout.goal, dict[Predicate, bool]()
        values |= {NEVER: False, EMPTY: not state.holding}
        here = {*state.at, *(name for place in state.at for name in self.layout.group.get(place, ()))}
        for place, status in zip(self.layout.receptacles, state.status, strict=True):
            if place in here:
                values[at(place)] = True
            if status != NEW:
                values |= {shut(place): status in CLOSED, openable(place): status != BARE}
            values[searched(place)] = status in SEARCHED
        values |= dict.fromkeys((holding(kind) for kind in goal.kinds), False)
        if state.holding:
            values[holding(kind_of(state.holding))] = True
            values |= {made(mark): True for mark in state.marks_of(state.holding)}
        values |= {doubled(kind): _doubled(state, kind) for kind in goal.kinds}
        for thing, place in sorted(state.inside):
            kind = kind_of(thing)
            if inside(kind, place) in values:
                values[two(kind, place)] = True
            elif state.of(place) in SEARCHED:  # elsewhere there may be more than has been seen
                values[two(kind, place)] = False
            values[inside(kind, place)] = True
            values |= {stored(kind, mark, place): True for mark in (PLAIN, *state.marks_of(thing))}
            if "lit" in state.marks_of(thing):
                values[lit(kind, place)] = True
        return values

    def preconditions(self, action: Action) -> Assignment:
        """By the rules of the game; going somewhere needs nothing, for where it fails the agent is there already."""
        command = read_command(action)
        if command is None or not self._can_ever(command):
            return {NEVER: True}
        if command.verb == "go":
            return {}
        place, kind = command.place, kind_of(command.thing) if command.thing else ""
        needs = {at(place): True}
        if command.verb == "open":
            return {**needs, shut(place): True}
        if command.verb == "close":
            return {**needs, openable(place): True, shut(place): False}
        if command.verb == "use":
            return {**needs, inside(kind, place): True}
        if command.verb == "take":
            return {**needs, shut(place): False, inside(kind, place): True, EMPTY: True}
        needs[holding(kind)] = True
        return {**needs, shut(place): False} if command.verb == "put" else needs

    def _can_ever(self, command: AlfworldCommand) -> bool:
        """Whether the kinds of things admit a command; a command to use a lamp has to name its place."""
        kind, where = kind_of(command.thing) if command.thing else "", kind_of(command.place)
        if command.place not in self.layout.number:
            return False
        match command.verb:
            case "open" | "close":
                return where in OPENABLE
            case "take":
                return kind not in LAMPS
            case "use":
                return kind in LAMPS
            case "put":
                return fits(self.layout.goal, kind, where)
            case "go":
                return True
        appliance, treatable = TREATMENTS[command.verb]
        return where == appliance and kind in treatable

    def effects(self, action: Action, known: Assignment) -> Effects:
        """By the rules of the game; the marks of an object taken from among several are unknown."""
        command = read_command(action)
        if command is None or not self._can_ever(command):
            return {}
        place, kind = command.place, kind_of(command.thing) if command.thing else ""
        if command.verb == "go":
            return self._arrive(place, known)
        if command.verb in ("open", "close"):
            # What is seen on opening is unknown beforehand, so whether it will have been seen is unknown too.
            return {shut(place): command.verb == "close", **({searched(place): None} if command.verb == "open" else {})}
        if command.verb == "use":
            return {lit(kind, place): True}
        if command.verb == "take":
            return self._take(kind, place, known)
        if command.verb == "put":
            return self._put(kind, place, known)
        mark = AFTER[command.verb]
        other = {"hot": "cool", "cool": "hot"}.get(mark)
        return {made(mark): True, **({made(other): False} if other else {})}

    def _arrive(self, place: str, known: Assignment) -> Effects:
        if known.get(at(place), False):
            return {}
        with_it = self.layout.reached_with(place)
        # Which receptacles share a spot is unknown unless the layout shows it: what was in reach may still be.
        left: dict[Predicate, bool | None] = {p: None for p in known if p.name == "at" and p.args[0] not in with_it}
        reached: dict[Predicate, bool | None] = {at(name): True for name in with_it}
        # What is not closed is looked into on arrival; what is seen there is unknown beforehand.
        new = {searched(name): None for name in with_it if not known.get(searched(name), False)}
        return {**left, **reached, **new}

    @staticmethod
    def _take(kind: str, place: str, known: Assignment) -> Effects:
        several = known.get(two(kind, place))
        gone: dict[Predicate, bool | None] = {p: None for p in known if _about(p, kind, place)}
        if several is False:  # the only one: what was done to it goes with it
            gone |= {made(p.args[1]): True for p in known if _is_marked(p, kind, place) and known[p]}
            gone[two(kind, place)] = False
        left = None if several is None else several
        return {**gone, inside(kind, place): left, EMPTY: False, holding(kind): True}

    @staticmethod
    def _put(kind: str, place: str, known: Assignment) -> Effects:
        marks = [p.args[0] for p, value in known.items() if p.name == "made" and value]
        there = known.get(inside(kind, place))
        done: dict[Predicate, bool | None] = {stored(kind, mark, place): True for mark in (PLAIN, *marks)}
        done |= {p: None for p in known if p.name == "made"}
        if there is False:
            done[two(kind, place)] = False
        elif not known.get(two(kind, place), False):
            # An object can be in two places at once: then the one that is there may be the one in hand.
            done[two(kind, place)] = True if there and known.get(doubled(kind)) is False else None
        return {**done, inside(kind, place): True, EMPTY: True, holding(kind): False}

    def goals(self) -> Sequence[Assignment]:
        """One alternative for every receptacle of the target's kind, or for every place that the lamp may be in."""
        goal = self.layout.goal
        if goal.task == LOOK:
            return [
                dict.fromkeys((lit(goal.target, r), holding(goal.thing), at(r), inside(goal.target, r)), True)
                for r in self.layout.receptacles
            ]
        targets = [place for place in self.layout.receptacles if kind_of(place) == goal.target]
        if goal.task == TWO:
            # The first of the two is a goal of its own, so a plan may be certified up to there.
            return [{two(goal.thing, place): True, inside(goal.thing, place): True} for place in targets]
        mark = AFTER[goal.treatment] if goal.treatment else PLAIN
        return [{stored(goal.thing, mark, place): True} for place in targets]

    def rules(self) -> Sequence[InferenceRule]:
        """What follows from what has been seen."""
        return RULES

    def query(self, state: State, predicate: Predicate) -> QueryMacro | None:
        """Go and look; open what is closed. One macro may show that another is needed: of what turns out closed."""
        assert isinstance(state, Knowledge)
        place = predicate.args[-1] if predicate.args else ""
        if predicate.name not in ("in", "shut", "openable", "two_in", "searched", "at"):
            return None
        if place not in self.layout.number:
            return None
        status, shuts = state.of(place), kind_of(place) in ALWAYS_OPENABLE
        commands = [AlfworldCommand("go", place)]
        if place in state.at:
            # The game describes a receptacle on arrival only, so the query leaves one never looked at and comes back.
            away = next((name for name in self.layout.receptacles if name not in state.at), "")
            commands = [AlfworldCommand("go", away), *commands] if status == NEW and away and not shuts else []
        closed = status == SHUT or (status == NEW and shuts)
        if closed and predicate.name in ("in", "two_in", "searched"):
            commands.append(AlfworldCommand("open", place))
        return QueryMacro(predicate, tuple(c.text for c in commands)) if commands else None

    def alternatives(self, state: State, predicate: Predicate) -> Sequence[Predicate]:
        """In which place an object is that the goal needs and that has not been seen: those not looked into."""
        kind = predicate.args[0] if predicate.name == "in" else ""
        return [inside(*pair) for pairs in needed(as_state(state)) for pair in pairs if pair[0] == kind]

    def establishing(self, state: State, predicate: Predicate, value: bool) -> Sequence[Action] | None:
        """Go there, open or close it, switch it on, do it to the object in hand, or put down what is held."""
        commands = self._establishing(as_state(state), predicate, value)
        return None if commands is None else [command.text for command in commands]

    def _establishing(self, state: Knowledge, predicate: Predicate, value: bool) -> list[AlfworldCommand] | None:
        name, args = predicate
        if name == "at" and value:
            return self._reach(state, args[0])
        if name == "shut":
            return self._shut(state, args[0], value=value)
        if name == "made" and value and state.holding:
            return self._treat(state, args[0])
        if predicate == EMPTY and value and state.holding:
            for place in state.at:
                if state.of(place) in VISIBLE and fits(state.layout.goal, kind_of(state.holding), kind_of(place)):
                    return [AlfworldCommand("put", place, kind_of(state.holding))]
        return None

    def _reach(self, state: Knowledge, place: str) -> list[AlfworldCommand] | None:
        if place not in self.layout.number:
            return None
        return [] if place in state.at else [AlfworldCommand("go", place)]

    def _shut(self, state: Knowledge, place: str, *, value: bool) -> list[AlfworldCommand] | None:
        reach = self._reach(state, place)
        if reach is None or state.of(place) in (NEW, BARE):
            return None
        done = (state.of(place) in CLOSED) == value
        return [] if done else [*reach, AlfworldCommand("close" if value else "open", place)]

    def _treat(self, state: Knowledge, mark: str) -> list[AlfworldCommand] | None:
        kind = kind_of(state.holding)
        verb = next((verb for verb, after in AFTER.items() if after == mark), None)
        if verb is None or kind not in TREATMENTS[verb][1]:
            return None
        appliances = [r for r in self.layout.receptacles if kind_of(r) == TREATMENTS[verb][0]]
        if not appliances:
            return None
        nearest = min(appliances, key=lambda r: r not in state.at)
        return [*(self._reach(state, nearest) or []), AlfworldCommand(verb, nearest, kind)]


def _about(predicate: Predicate, kind: str, place: str) -> bool:
    """Whether taking an object of a kind from a receptacle may change a predicate."""
    args = predicate.args
    return predicate.name in ("two_in", "stored", "in") and args[0] == kind and args[-1] == place


def _is_marked(predicate: Predicate, kind: str, place: str) -> bool:
    """Whether a predicate is about what was done to an object of a kind in a receptacle."""
    name, args = predicate
    return name == "stored" and (args[0], args[2]) == (kind, place) and args[1] != PLAIN


def _doubled(state: Knowledge, kind: str) -> bool:
    """Whether an object has been seen in more than one place; in some official games there are such."""
    names = [thing for thing, _ in state.inside if kind_of(thing) == kind] + [state.holding]
    return len(names) > len(set(names))
