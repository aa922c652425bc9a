"""The grounder G (AEC eq. 9): from a command and the game's answer to facts that are certainly true.

It abstains rather than guesses. An answer counts only if it is the whole sentence that the given command leads to, with
the names of the command. Where nothing follows, there is no finding.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from envs.alfworld.game import sentences
from tape.protocols.predicates import Predicate

AT, OPEN, OPENABLE, IN, CONTENTS_KNOWN = "at", "open", "openable", "in", "contents_known"
HOLDING, HANDS_FREE, CLEAN, HOT, COOL, LIT = "holding", "hands_free", "clean", "hot", "cool", "lit"

ARITY = {
    AT: 1,
    OPEN: 1,
    OPENABLE: 1,
    IN: 2,
    CONTENTS_KNOWN: 1,
    HOLDING: 1,
    HANDS_FREE: 0,
    CLEAN: 1,
    HOT: 1,
    COOL: 1,
    LIT: 1,
}
"""The predicates over names of objects and receptacles. ``contents_known(r)``: the answer lists all that is in ``r``.

``at`` holds of every receptacle that is reached from where the agent is, ``lit`` of a lamp that was switched on, ever.
"""

NOTHING = sentences.NOTHING
_DONE = {"heat": (HOT, COOL), "cool": (COOL, HOT), "clean": (CLEAN, None)}


class SeenFact(NamedTuple):
    """A fact that holds now.

    Attributes:
        predicate: What it speaks of; names and arities are those of :data:`ARITY`.
        value: Whether that is true.
    """

    predicate: Predicate
    value: bool


def finding(name: str, *args: str, value: bool = True) -> SeenFact:
    """Make a finding."""
    return SeenFact(Predicate(name, args), value)


Found = Iterator[SeenFact]


class Grounder:
    """Grounds the answers of one game, in order.

    It remembers which receptacles answers showed to share a place, since places never change; all else follows from
    the last answer alone.

    Args:
        receptacles: Names of all receptacles of the game, as its first answer lists them.
    """

    def __init__(self, receptacles: Iterable[str]) -> None:
        self._receptacles = frozenset(receptacles)
        self._place: dict[str, str] = {}
        self._together: dict[str, frozenset[str]] = {}

    def observe(self, command: str | None, text: str) -> frozenset[SeenFact]:
        """What is certainly true after an answer.

        Args:
            command: As it was given, or None for the first answer.
            text: The answer.
        """
        answer = text.strip()
        asked = "look" if command is None else command.strip()
        if command is None:
            lines = map(str.strip, answer.splitlines())
            answer = next((line for line in lines if sentences.MIDDLE.fullmatch(line)), "")
        facts = set(self._failed(asked) if answer == NOTHING else self._read(asked, answer))
        here = {f.predicate.args[0] for f in facts if f.predicate.name == AT and f.value}
        facts.update(self._elsewhere(here))
        return frozenset(facts)

    def _read(self, asked: str, answer: str) -> Found:
        """Findings of an answer to a command that did something."""
        if asked == "look":
            return self._look(answer)
        if asked == "inventory":
            return _inventory(answer)
        readers: tuple[tuple[str, Callable[[re.Match[str], str], Found]], ...] = (
            (r"go to (?P<r>.+)", self._go),
            (r"open (?P<r>.+)", self._open),
            (r"close (?P<r>.+)", self._close),
            (r"take (?P<o>.+) from (?P<r>.+)", self._take),
            (r"(?:put (?P<o>.+) in/on (?P<r>.+)|move (?P<o2>.+) to (?P<r2>.+))", self._put),
            (r"(?P<verb>heat|clean|cool) (?P<o>.+) with (?P<r>.+)", self._treat),
            (r"slice (?P<o>.+) with (?P<k>.+)", _slice),
            (r"use (?P<o>.+)", _use),
            (r"examine (?P<x>.+)", self._examine),
        )
        for pattern, reader in readers:
            match = re.fullmatch(pattern, asked)
            if match is not None:
                return reader(match, answer)
        return iter(())

    def _failed(self, asked: str) -> Found:
        """What follows from a command that did nothing.

        One can go to any receptacle but those where one is, and examine just those where one is. The other commands
        need several things at once, and the answer does not show which was missing.
        """
        verb, _, name = asked.replace("go to", "go", 1).partition(" ")
        if verb in ("go", "examine") and name in self._receptacles and asked in (f"go to {name}", f"examine {name}"):
            yield finding(AT, name, value=verb == "go")

    def _go(self, asked: re.Match[str], answer: str) -> Found:
        match = sentences.ARRIVED.fullmatch(answer)
        name = asked["r"]
        if match is None or name not in self._receptacles:
            return
        inside = list(self._contents(name, match["rest"]))
        place = match["place"]
        if not inside or (not place.startswith("loc ") and place != name):
            return
        if place.startswith("loc "):
            self._place[name] = place
        yield finding(AT, name)
        yield from inside

    def _open(self, asked: re.Match[str], answer: str) -> Found:
        match = sentences.OPENED.fullmatch(answer)
        if match is None or match["r"] != asked["r"]:
            return
        inside = list(self._contents(asked["r"], match["rest"]))
        if finding(OPEN, asked["r"]) in inside:
            yield finding(AT, asked["r"])
            yield from inside

    def _close(self, asked: re.Match[str], answer: str) -> Found:
        match = sentences.CLOSED.fullmatch(answer)
        if match is not None and match["r"] == asked["r"] in self._receptacles:
            yield finding(AT, asked["r"])
            yield finding(OPENABLE, asked["r"])
            yield finding(OPEN, asked["r"], value=False)

    def _take(self, asked: re.Match[str], answer: str) -> Found:
        match = sentences.TAKEN.fullmatch(answer)
        if match is None or (match["o"], match["r"]) != (asked["o"], asked["r"]) or asked["r"] not in self._receptacles:
            return
        yield finding(AT, asked["r"])
        yield finding(IN, asked["o"], asked["r"], value=False)
        yield from _held(asked["o"])

    def _put(self, asked: re.Match[str], answer: str) -> Found:
        match = sentences.PUT.fullmatch(answer)
        if match is None:
            return
        thing, where = match["o"] or match["o2"], match["r"] or match["r2"]
        if (thing, where) != (asked["o"] or asked["o2"], asked["r"] or asked["r2"]) or where not in self._receptacles:
            return
        yield finding(AT, where)
        yield finding(IN, thing, where)
        yield finding(HOLDING, thing, value=False)
        yield finding(HANDS_FREE)

    def _treat(self, asked: re.Match[str], answer: str) -> Found:
        match = sentences.TREATED.fullmatch(answer)
        if match is None or match.groupdict() != asked.groupdict() or asked["r"] not in self._receptacles:
            return
        done, undone = _DONE[asked["verb"]]
        yield finding(AT, asked["r"])
        yield from _held(asked["o"])
        yield finding(done, asked["o"])
        if undone is not None:
            yield finding(undone, asked["o"], value=False)

    def _examine(self, asked: re.Match[str], answer: str) -> Found:
        name = asked["x"]
        if name in self._receptacles:
            inside = list(self._contents(name, answer))
            if inside:
                yield finding(AT, name)
                yield from inside
            return
        for pattern, values in sentences.DESCRIBED:
            match = pattern.fullmatch(answer)
            if match is not None and match["o"] == name:
                yield from (finding(predicate, name, value=value) for predicate, value in values.items())
                return

    def _contents(self, name: str, answer: str) -> Found:
        """What a sentence lists in a receptacle; nothing if the sentence is not complete."""
        for state, pattern in sentences.CONTENTS:
            match = pattern.fullmatch(answer)
            if match is None or match["r"] != name or name not in self._receptacles:
                continue
            inside = () if state == "closed" else sentences.items(match["seen"])
            if inside is None:
                return
            yield finding(OPENABLE, name, value=state != "surface")
            if state != "surface":
                yield finding(OPEN, name, value=state == "open")
            if state != "closed":
                yield finding(CONTENTS_KNOWN, name)
                yield from (finding(IN, thing, name) for thing in inside)
            return

    def _look(self, answer: str) -> Found:
        if sentences.MIDDLE.fullmatch(answer):
            yield from (finding(AT, name, value=False) for name in self._receptacles)
            return
        match = sentences.FACING.fullmatch(answer)
        seen = sentences.faced(match["here"]) if match else None
        if match is None or not seen or not self._receptacles.issuperset(each.name for each in seen):
            return
        here = frozenset(each.name for each in seen)
        for name in here:
            self._together[name] = here
            yield finding(AT, name)
        for each in seen:
            if each.state is not None:
                yield finding(OPENABLE, each.name)
                yield finding(OPEN, each.name, value=each.state == "open")
            elif not match["the"]:  # the newer grammar does not show whether they are open
                yield finding(OPENABLE, each.name, value=False)

    def _elsewhere(self, here: set[str]) -> Found:
        """Which other receptacles are reached from where the agent is, as far as their places are known."""
        for name in here:
            together, place = self._together.get(name), self._place.get(name)
            if together is not None:
                yield from (finding(AT, other, value=other in together) for other in self._receptacles)
            if place is not None:
                yield from (finding(AT, other, value=its == place) for other, its in self._place.items())


def _held(thing: str) -> Found:
    yield finding(HOLDING, thing)
    yield finding(HANDS_FREE, value=False)


def _inventory(answer: str) -> Found:
    match = sentences.CARRYING.fullmatch(answer)
    if match is not None:
        yield from _held(match["o"])
    elif sentences.EMPTY_HANDED.fullmatch(answer):
        yield finding(HANDS_FREE)


def _use(asked: re.Match[str], answer: str) -> Found:
    match = sentences.SWITCHED_ON.fullmatch(answer)
    if match is not None and match["o"] == asked["o"]:
        yield finding(LIT, asked["o"])


def _slice(asked: re.Match[str], answer: str) -> Found:
    match = sentences.SLICED.fullmatch(answer)
    if match is not None and (match["o"], match["k"]) == (asked["o"], asked["k"]):
        yield from _held(asked["k"])
