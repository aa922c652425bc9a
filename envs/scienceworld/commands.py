"""What ScienceWorld's commands need and what they certainly change, as typed predicates (AEC section 3.2).

Written from what the descriptions show, not from the simulator. Things are spoken of by the words of
their names, in one order (:func:`words_of`), since commands and descriptions name them in several.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from envs.scienceworld.things import Thing, plain
from tape.protocols import Action
from tape.protocols.predicates import Assignment, Effects, Predicate

NEVER = Predicate("never")
"""False whatever happens: what is no known form of a command needs it."""

ASKED = Predicate("asked")
"""The world has asked which of several things is meant."""

_ROUTINE = re.compile(r"look around|inventory|wait1?|(?:reset )?task")
_NUMBER = re.compile(r"\d+")
_MOVE = re.compile(r"(?P<verb>go|teleport) to (?:the )?(?P<a>.+)")
_TWO = (
    re.compile(r"(?P<verb>move|connect) (?P<a>.+) to (?P<b>.+)"),
    re.compile(r"(?P<verb>pour|dunk|put) (?P<a>.+) into (?P<b>.+)"),
    re.compile(r"(?P<verb>pour|dunk|put) (?P<a>.+) (?:in(?! inventory)|on) (?P<b>.+)"),
    re.compile(r"(?P<verb>use) (?P<a>.+) on (?P<b>.+)"),
)
_DROP = re.compile(r"(?P<verb>put down|drop) (?P<a>.+)")
_ONE = re.compile(
    r"(?P<verb>pick up|take|focus on|open|close|activate|deactivate|turn on|turn off|use|read|examine|look at|look in"
    r"|look on|eat|mix|flush|disconnect) (?P<a>.+)"
)
_PART = re.compile(
    r"(?:anode|cathode|terminal \d) (?:in|on|of) (?P<a>.+)|(?P<b>.+) (?:anode|cathode|terminal \d)(?: in .+)?"
)
_DOOR = re.compile(r"door(?: to .+)?|.+ door")
CHANGES = re.compile(
    r"substance|stage|\begg\b|seed|flower|fruit|\b(?:baby|juvenile|adult|hatchling|caterpillar|tadpole|larva|pupa)\b"
)
"""In the name or the line of what may be something else when it is seen again."""
CONTAINING = "containing"
SEALED = ("glass jar",)
"""What shows its contents while it is closed, and does not show whether it is."""
_JOINING = frozenset(["a", "an", "the", "in", "on", "of", "with", "and", "at", "stage", "called"])
SETS = {
    "open": ("open", True),
    "close": ("open", False),
    "activate": ("active", True),
    "turn on": ("active", True),
    "deactivate": ("active", False),
    "turn off": ("active", False),
    "focus on": ("focused", True),
}
"""What a command makes of its thing."""
_INTO = {"move", "dunk", "put"}
_LOOKS = re.compile(r"look around|inventory|task")
"""What shows again what is seen anyhow. All else that the world takes may bring something on that no description
shows, a question among it, so a plan that does it needs it although nothing seems to come of it."""


class ScienceCommand(NamedTuple):
    """A command taken apart.

    Attributes:
        verb: What is done; empty where nothing is but looking, waiting or answering a question.
        things: What it is done with, as the command names them.
    """

    verb: str
    things: tuple[str, ...]


def read_command(action: Action) -> ScienceCommand | None:
    """A command taken apart; None where it is of no known form."""
    text = " ".join(action.split())
    if _ROUTINE.fullmatch(text):
        return ScienceCommand("", ())
    if _NUMBER.fullmatch(text):
        return ScienceCommand("answer", ())
    for form in (_MOVE, _DROP, *_TWO, _ONE):
        if match := form.fullmatch(text):
            return ScienceCommand(
                match["verb"], tuple(thing for name in ("a", "b") if (thing := match.groupdict().get(name)))
            )
    return None


def lets_time_pass(action: Action) -> bool:
    """Whether a command that changes nothing in sight may all the same bring something on."""
    return _LOOKS.fullmatch(action) is None


def joins(action: Action) -> bool:
    """Whether a command connects two things, which no description shows."""
    return action.startswith("connect ")


def reach(thing: str) -> Predicate:
    """The thing is in the room or carried, and listed."""
    return Predicate("reach", (words_of(thing),))


def door(name: str) -> Predicate:
    """There is a door to a room here; ``name`` is that of the door."""
    return Predicate("door", (name.removeprefix("door to "),))


def several(thing: str) -> Predicate:
    """The name means more than one thing in reach, so that the world may ask which."""
    return Predicate("several", (thing,))


def joined(action: Action) -> Predicate:
    """What a command was to connect is connected."""
    return Predicate("joined", (action,))


def words_of(name: str) -> str:
    """A name as all names of the same thing read: its words in one order, without those that only join them.

    So an adult apple tree is an apple tree in the adult stage, and the cathode of a battery the battery.
    """
    part = _PART.fullmatch(plain(name))
    words = plain(part["a"] or part["b"] if part else name).split()
    return " ".join(sorted({*words} - _JOINING))


def named(things: Iterable[Thing], where: str) -> Iterator[tuple[Thing, list[str]]]:
    """Things at any depth, each with what commands may call it: alone, or with what it is in or what is in it."""
    for thing in things:
        inner = [_short(inside.name) for inside in thing.inside]
        held = [f" {CONTAINING} {' '.join(names)}" for names in ([], inner, *([name] for name in inner)) if names]
        texts = list[str]()
        for name in dict.fromkeys((thing.name, _short(thing.name))):
            for more in ("", *(held or [" containing nothing"])):
                texts += (words_of(name + more), words_of(f"{name}{more} in {where}"))
        yield thing, texts
        if thing.name not in SEALED:
            yield from named(thing.inside, thing.name)


def names_of(things: Iterable[Thing], where: str) -> Iterator[str]:
    """All that commands may call things."""
    for _, names in named(things, where):
        yield from names


class ScienceCommands:
    """What the domain declares of commands."""

    def preconditions(self, action: Action) -> Assignment:
        """What a command names is in reach; a door that is gone through is open; a number answers a question.

        While a question is open, all else but looking and waiting is refused.
        """
        command = read_command(action)
        if command is None:
            return {NEVER: True}
        match command.verb:
            case "":
                return {}
            case "teleport":
                return {ASKED: False}
            case "answer":
                return {ASKED: True}
            case "go":
                return {ASKED: False, Predicate("open", (f"door to {plain(command.things[0])}",)): True}
            case "put down" | "drop":
                return {ASKED: False, reach(f"{_bare(command.things[0])} in inventory"): True}
        named = [reach(thing) for thing in command.things if not _DOOR.fullmatch(thing)]
        doors = [door(plain(thing)) for thing in command.things if thing.startswith("door to ")]
        return {ASKED: False, **dict.fromkeys((*named, *doors), True)}

    def effects(self, action: Action, known: Assignment) -> Effects:
        """What is certain where a command is understood; what else comes of it no one can declare."""
        command = read_command(action)
        if command is None or not command.things:
            return {} if command is None or not command.verb else {ASKED: False}
        verb, first, *rest = command.verb, *command.things
        if verb in ("go", "teleport"):
            return _arrive(plain(first), known)
        effects = self._on_things(action, verb, first, rest, known)
        asks = any(known.get(several(_bare(thing))) for thing in command.things)
        return dict.fromkeys(effects) if asks else effects

    def _on_things(self, action: Action, verb: str, first: str, rest: Sequence[str], known: Assignment) -> Effects:
        """What a command brings about that names things, each of them one thing."""
        if verb in SETS:
            name, value = SETS[verb]
            works = name != "active" or not value  # what is broken cannot be turned on, and nothing shows it before
            return {Predicate(name, (_bare(first),)): value if works else None}
        if verb in ("pick up", "take"):
            gone = [p for p in known if p.name == "stands" and p.args[0] == words_of(first)]
            taken = (reach(first), reach(f"{_bare(first)} in inventory"), Predicate("carries", (_bare(first),)))
            named = None if CHANGES.search(first) else True  # what grows may be called something else at once
            return {**dict.fromkeys(gone), **dict.fromkeys(taken, named)}
        if verb in ("put down", "drop"):
            return {Predicate("carries", (_bare(first),)): None, reach(_bare(first)): True}
        if verb in _INTO and rest:
            # There may be nothing to dunk it into, and what grows may be called something else at once.
            inside = None if verb == "dunk" or CHANGES.search(first) else True
            return {
                Predicate("in", (_bare(first), _bare(rest[0]))): inside,
                Predicate("carries", (_bare(first),)): None,
            }
        return {joined(action): None if _connected(_parts(first, rest), known) else True} if joins(action) else {}


def _parts(first: str, rest: Sequence[str]) -> set[frozenset[str]]:
    """What a command connects, each by its words: the terminal 1 of a wire is no other one."""
    return {frozenset(plain(thing).split()) - _JOINING for thing in (first, *rest)}


def _connected(parts: set[frozenset[str]], known: Assignment) -> bool:
    """Whether one of them was connected before: a terminal takes one wire."""
    before = (read_command(p.args[0]) for p, value in known.items() if p.name == "joined" and value)
    return any(
        parts & _parts(command.things[0], command.things[1:])
        for command in before
        if command is not None and command.things
    )


def _arrive(room: str, known: Assignment) -> Effects:
    """In another room other things are in reach, and other doors; what is carried comes along, by all its names.

    What stays as it is where it was left is known of a room that was seen; of all else nothing is.
    """
    held = {words_of(p.args[0]) for p, value in known.items() if p.name in ("carries", "held") and value}
    held |= {words_of(f"{thing} in inventory") for thing in held}
    facts: dict[Predicate, bool | None] = {Predicate("at", (room,)): True}
    for predicate in known:
        name, args = predicate
        if name == "at" and args[0] != room:
            facts[predicate] = False
        elif name == "reach":
            facts.setdefault(predicate, True if args[0] in held and not CHANGES.search(args[0]) else None)
        elif name == "door" or (name == "open" and args[0].startswith("door to ")):
            facts.setdefault(predicate, None)
        elif name == "stands" and args[1] == room and known[predicate]:
            facts[Predicate("reach", (args[0],))] = True
        elif name == "way" and args[0] == room:
            facts[Predicate("open", (f"door to {args[1]}",))] = known[predicate]
            facts[door(args[1])] = True
    return facts


def _short(name: str) -> str:
    """A name without its state: an apple tree in the adult stage is an apple tree."""
    return name.partition(" in the ")[0]


def _bare(thing: str) -> str:
    """A thing's own name, without where it is."""
    name = plain(thing)
    return name.removesuffix(" in inventory")
