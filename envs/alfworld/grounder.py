"""The grounder G (AEC eq. 9): from a command and the game's answer to facts that are certainly true.

It abstains rather than guesses. An answer counts only if it is the whole sentence that the given command leads to, with
the names of the command. Where nothing follows, nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from envs.alfworld.game import sentences as say
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
"""The predicates over names of objects and receptacles. ``contents_known(r)``: just now all that is in ``r`` was said.

``at`` holds of every receptacle that is reached from where the agent is, ``lit`` of a lamp that was switched on, ever.
"""

NOTHING = say.NOTHING
_DONE = {"heat": (HOT, COOL), "cool": (COOL, HOT), "clean": (CLEAN, None)}


class Finding(NamedTuple):
    """A fact that holds now.

    Attributes:
        predicate: What it speaks of; names and arities are those of :data:`ARITY`.
        value: Whether that is true.
    """

    predicate: Predicate
    value: bool


def finding(name: str, *args: str, value: bool = True) -> Finding:
    """Make a finding."""
    return Finding(Predicate(name, args), value)


Found = Iterator[Finding]


class Grounder:
    """Grounds the answers of one game, in order.

    It remembers which receptacles share a place, as far as that was said, since places never change; all else follows
    from the last answer alone.

    Args:
        receptacles: Names of all receptacles of the game, as its first answer lists them.
    """

    def __init__(self, receptacles: Iterable[str]) -> None:
        self._receptacles = frozenset(receptacles)
        self._place: dict[str, str] = {}
        self._company: dict[str, frozenset[str]] = {}

    def observe(self, command: str | None, text: str) -> frozenset[Finding]:
        """What is certainly true after an answer.

        Args:
            command: As it was given, or None for the first answer.
            text: The answer.
        """
        said = text.strip()
        asked = "look" if command is None else command.strip()
        if command is None:
            said = next((line for line in said.splitlines() if say.MIDDLE.fullmatch(line.strip())), "").strip()
        found = set(self._failed(asked) if said == NOTHING else self._read(asked, said))
        here = {f.predicate.args[0] for f in found if f.predicate.name == AT and f.value}
        found.update(self._elsewhere(here))
        return frozenset(found)

    def _read(self, asked: str, said: str) -> Found:
        """Findings of an answer to a command that did something."""
        if asked == "look":
            return self._look(said)
        if asked == "inventory":
            return _inventory(said)
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
            found = re.fullmatch(pattern, asked)
            if found is not None:
                return reader(found, said)
        return iter(())

    def _failed(self, asked: str) -> Found:
        """What follows from a command that did nothing.

        One can go to any receptacle but those where one is, and examine just those where one is. The other commands
        need several things at once, and which was missing is not said.
        """
        verb, _, name = asked.replace("go to", "go", 1).partition(" ")
        if verb in ("go", "examine") and name in self._receptacles and asked in (f"go to {name}", f"examine {name}"):
            yield finding(AT, name, value=verb == "go")

    def _go(self, asked: re.Match[str], said: str) -> Found:
        found = say.ARRIVED.fullmatch(said)
        name = asked["r"]
        if found is None or name not in self._receptacles:
            return
        inside = list(self._contents(name, found["rest"]))
        place = found["place"]
        if not inside or (not place.startswith("loc ") and place != name):
            return
        if place.startswith("loc "):
            self._place[name] = place
        yield finding(AT, name)
        yield from inside

    def _open(self, asked: re.Match[str], said: str) -> Found:
        found = say.OPENED.fullmatch(said)
        if found is None or found["r"] != asked["r"]:
            return
        inside = list(self._contents(asked["r"], found["rest"]))
        if finding(OPEN, asked["r"]) in inside:
            yield finding(AT, asked["r"])
            yield from inside

    def _close(self, asked: re.Match[str], said: str) -> Found:
        found = say.CLOSED.fullmatch(said)
        if found is not None and found["r"] == asked["r"] in self._receptacles:
            yield finding(AT, asked["r"])
            yield finding(OPENABLE, asked["r"])
            yield finding(OPEN, asked["r"], value=False)

    def _take(self, asked: re.Match[str], said: str) -> Found:
        found = say.TAKEN.fullmatch(said)
        if found is None or (found["o"], found["r"]) != (asked["o"], asked["r"]) or asked["r"] not in self._receptacles:
            return
        yield finding(AT, asked["r"])
        yield finding(IN, asked["o"], asked["r"], value=False)
        yield from _held(asked["o"])

    def _put(self, asked: re.Match[str], said: str) -> Found:
        found = say.PUT.fullmatch(said)
        if found is None:
            return
        thing, where = found["o"] or found["o2"], found["r"] or found["r2"]
        if (thing, where) != (asked["o"] or asked["o2"], asked["r"] or asked["r2"]) or where not in self._receptacles:
            return
        yield finding(AT, where)
        yield finding(IN, thing, where)
        yield finding(HOLDING, thing, value=False)
        yield finding(HANDS_FREE)

    def _treat(self, asked: re.Match[str], said: str) -> Found:
        found = say.TREATED.fullmatch(said)
        if found is None or found.groupdict() != asked.groupdict() or asked["r"] not in self._receptacles:
            return
        done, undone = _DONE[asked["verb"]]
        yield finding(AT, asked["r"])
        yield from _held(asked["o"])
        yield finding(done, asked["o"])
        if undone is not None:
            yield finding(undone, asked["o"], value=False)

    def _examine(self, asked: re.Match[str], said: str) -> Found:
        name = asked["x"]
        if name in self._receptacles:
            inside = list(self._contents(name, said))
            if inside:
                yield finding(AT, name)
                yield from inside
            return
        for pattern, values in say.DESCRIBED:
            found = pattern.fullmatch(said)
            if found is not None and found["o"] == name:
                yield from (finding(predicate, name, value=value) for predicate, value in values.items())
                return

    def _contents(self, name: str, said: str) -> Found:
        """What is said of what is in a receptacle; nothing if that is not the whole sentence."""
        for state, pattern in say.CONTENTS:
            found = pattern.fullmatch(said)
            if found is None or found["r"] != name or name not in self._receptacles:
                continue
            inside = () if state == "closed" else say.items(found["seen"])
            if inside is None:
                return
            yield finding(OPENABLE, name, value=state != "surface")
            if state != "surface":
                yield finding(OPEN, name, value=state == "open")
            if state != "closed":
                yield finding(CONTENTS_KNOWN, name)
                yield from (finding(IN, thing, name) for thing in inside)
            return

    def _look(self, said: str) -> Found:
        if say.MIDDLE.fullmatch(said):
            yield from (finding(AT, name, value=False) for name in self._receptacles)
            return
        found = say.FACING.fullmatch(said)
        seen = say.faced(found["here"]) if found else None
        if found is None or not seen or not self._receptacles.issuperset(each.name for each in seen):
            return
        here = frozenset(each.name for each in seen)
        for name in here:
            self._company[name] = here
            yield finding(AT, name)
        for each in seen:
            if each.state is not None:
                yield finding(OPENABLE, each.name)
                yield finding(OPEN, each.name, value=each.state == "open")
            elif not found["the"]:  # the newer grammar does not say whether they are open
                yield finding(OPENABLE, each.name, value=False)

    def _elsewhere(self, here: set[str]) -> Found:
        """Which other receptacles are reached from where the agent is, as far as their places were said."""
        for name in here:
            company, place = self._company.get(name), self._place.get(name)
            if company is not None:
                yield from (finding(AT, other, value=other in company) for other in self._receptacles)
            if place is not None:
                yield from (finding(AT, other, value=its == place) for other, its in self._place.items())


def _held(thing: str) -> Found:
    yield finding(HOLDING, thing)
    yield finding(HANDS_FREE, value=False)


def _inventory(said: str) -> Found:
    found = say.CARRYING.fullmatch(said)
    if found is not None:
        yield from _held(found["o"])
    elif say.EMPTY_HANDED.fullmatch(said):
        yield finding(HANDS_FREE)


def _use(asked: re.Match[str], said: str) -> Found:
    found = say.SWITCHED_ON.fullmatch(said)
    if found is not None and found["o"] == asked["o"]:
        yield finding(LIT, asked["o"])


def _slice(asked: re.Match[str], said: str) -> Found:
    found = say.SLICED.fullmatch(said)
    if found is not None and (found["o"], found["k"]) == (asked["o"], asked["k"]):
        yield from _held(asked["k"])
