"""Typed predicates of ScienceWorld: which sentences mean them, and what a state shows of them.

A sentence that is none of these is left to a model's verdict (SDP appendix A.3).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from envs.scienceworld.commands import CONTAINING, SEALED, named, names_of, words_of
from envs.scienceworld.state import ScienceState
from envs.scienceworld.things import Thing, every_name, find, plain, read_things, same
from tape.protocols.predicates import Predicate

if TYPE_CHECKING:
    from tape.methods.sdp.target import Required

_THE = r"(?:the |an? |some )?"
_HAS = (
    r"(?:(?:now |still )?(?:contains|includes|has|holds)"
    r"|(?P<no>does not (?:contain|include|have|hold)|no longer (?:contains|includes|has|holds)))"
)
_NOT = r"(?P<no>not |n't |no longer )?"
_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(f"(?:{form})", re.IGNORECASE))
    for name, form in (
        ("at", rf"the agent is {_NOT}(?:now )?(?:in|at|inside) {_THE}(?P<a>.+)"),
        ("carries", rf"the agent's inventory {_HAS} {_THE}(?P<a>.+)"),
        ("carries", rf"the agent (?:is carrying|carries|holds|has picked up) {_THE}(?P<a>.+)"),
        ("carries", rf"{_THE}(?P<a>.+) is {_NOT}in the (?:agent's )?inventory"),
        ("focused", rf"the agent has focused on {_THE}(?P<a>.+)"),
        ("active", rf"{_THE}(?P<a>.+) is {_NOT}(?:turned on|activated|switched on|on)"),
        ("inactive", rf"{_THE}(?P<a>.+) is {_NOT}(?:turned off|deactivated|switched off|off)"),
        ("open", rf"{_THE}(?P<a>.+?)(?: door)? is {_NOT}open"),
        ("shut", rf"{_THE}(?P<a>.+?)(?: door)? is {_NOT}(?:closed|shut)"),
        ("in", rf"{_THE}(?P<b>.+) contains {_THE}(?P<a>.+)"),
        ("in", rf"{_THE}(?P<a>.+) is {_NOT}(?:in|on|inside|on top of) {_THE}(?P<b>.+)"),
    )
)
_OPPOSITE = {"inactive": "active", "shut": "open"}
_SEVERAL = re.compile(r",| and | or |\bboth\b|\bthen\b", re.IGNORECASE)
_NO_NAME = re.compile(
    r"(?:any|no|not|none|nothing|neither|every|each|all|only|now|still|empty|has|have|contains?|includes?|of)"
    r"(?:thing|body)?\b|possession of\b",
    re.IGNORECASE,
)
"""How words begin that name no one thing: a sentence with them is not of the form that it looks like."""

_EXPLORES = re.compile(
    r"the location of .+ (?:is|has become) (?:now )?known(?: to the agent)?"
    r"|the agent (?:now )?knows (?:where .+ (?:is|are)(?: located)?|the location of .+)"
    r"|the agent has (?:explored|visited|searched) .+"
    r"|.+ ha(?:s|ve) been (?:explored|visited|searched)(?: by the agent)?"
    r"|.+ ha(?:s|ve) been (?:found|located)(?: by the agent)?",
    re.IGNORECASE,
)
"""Sentences about exploring, as a whole: "found to be a conductor" and "located in the kitchen" mean other things."""

_DENIES = re.compile(r"\b(?:no|not|none|nothing|never|neither|nobody|unknown)\b|n't\b", re.IGNORECASE)
_CIRCUIT = re.compile(r"bulb|buzzer|motor|fan")

UNLISTED = {"drain"}
"""What is there although descriptions leave it out: that of a sink."""

HIDING = {"drawer", "table", "desk", "counter", "chair", "couch", "bed"}
"""What is in or on them can be reached; of a drawer no description lists it, of the others none where they are carried
or on a plane."""

_TITLED = {"recipe", "instructions"}

KINDS = {
    "at": "navigate",
    "carries": "acquire",
    "focused": "focus",
    "active": "device",
    "open": "container",
    "in": "place",
}
"""Kinds of targets, by typed predicate."""


def meaning(text: str) -> Required:
    """The typed predicates that a sentence means; empty where it is none of the forms, or speaks of several things."""
    words = _sentence(text)
    for name, form in _FORMS:
        if (match := form.fullmatch(words)) is None:
            continue
        parts = match.groupdict()
        args = tuple(plain(parts[key]) for key in ("a", "b") if parts.get(key))
        if any(not arg or _SEVERAL.search(arg) or _NO_NAME.match(arg) for arg in args):
            return ()
        value = not parts.get("no")
        if name in _OPPOSITE:
            name, value = _OPPOSITE[name], not value  # noqa: PLW2901
        return ((Predicate(name, args), value),)
    return ()


def explores(text: str) -> bool:
    """Whether a sentence is about a place that has been found or looked over."""
    words = _sentence(text)
    return bool(_EXPLORES.fullmatch(words)) and not _DENIES.search(words)


def _sentence(text: str) -> str:
    return " ".join(text.split()).rstrip(". ")


def sentence(predicate: Predicate, *, value: bool = True) -> str:
    """A typed predicate in words that :func:`meaning` understands."""
    a, *b = predicate.args
    no = "" if value else "not "
    match predicate.name:
        case "at":
            return f"The agent is {no}in the {a}"
        case "carries":
            return f"The agent's inventory {'contains' if value else 'does not contain'} the {a}"
        case "focused":
            return f"The agent has focused on the {a}"
        case "active":
            return f"The {a} is {no}turned on"
        case "open":
            return f"The {a} is {no}open"
    return f"The {a} is {no}in the {b[0]}"


class ShownState(Mapping[Predicate, bool]):
    """What a state shows: sound, and silent about what is out of sight.

    A sentence may hold any words where a name should be. So a denial is certified only of names that exist:
    of rooms that can be reached, and of things that were seen in this episode.
    """

    def __init__(self, state: ScienceState) -> None:
        self._state = state
        self._here = state.room
        self._seen = read_things(self._here.things)
        self._held = read_things(state.inventory)

    @cached_property
    def _names(self) -> frozenset[str]:
        """What may be called within reach, see :func:`envs.scienceworld.commands.names_of`."""
        room = plain(self._here.name)
        around = (words_of(room), "agent", "inventory", "air")
        return frozenset((*around, *names_of(self._seen, room), *names_of(self._held, "inventory")))

    @cached_property
    def _by_thing(self) -> list[list[str]]:
        """The same, by thing."""
        return [names for _, names in (*named(self._seen, plain(self._here.name)), *named(self._held, "inventory"))]

    @cached_property
    def _plain_names(self) -> tuple[str, ...]:
        """Those without what is in a thing."""
        return tuple(name for name in self._names if CONTAINING not in name.split())

    def __getitem__(self, predicate: Predicate) -> bool:
        value = self._value(predicate)
        if value is None:
            raise KeyError(predicate)
        return value

    def _value(self, predicate: Predicate) -> bool | None:
        match predicate:
            case ("at", (room,)):
                return plain(self._here.name) == plain(room) if self._here.name and self._is_room(room) else None
            case ("carries", (thing,)):
                return bool(find(thing, self._held)) or (None if self._state.cut else self._absent(thing))
            case ("focused", (thing,)):
                bare = (name.partition(" (")[0] for name in self._state.focused)  # a book's title is in parentheses
                return any(same(thing, name) for name in (*self._state.focused, *bare)) or self._absent(thing)
            case ("active", (thing,)):
                return _agreed(thing, self._everything(), lambda result: result.active)
            case ("open", (thing,)):
                return self._open(thing)
            case ("door", (to,)):
                doors = [plain(room) for room, _ in self._here.doors]
                return to in doors or (False if doors and self._is_room(to) else None)
            case ("reach", (thing,)):
                return self._reach(thing)
            case ("asked", ()):
                return bool(self._state.choices)
            case ("joined", (command,)):
                return command in self._state.joined
            case ("never", ()):
                return False
            case ("several", (thing,)):
                return self._called(words_of(thing)) > 1
            case ("in", (thing, where)):
                inside = _agreed(where, self._everything(), lambda result: _holds(result, thing))
                return self._absent(thing) if inside is False else inside
        return None

    def _reach(self, thing: str) -> bool | None:
        """Whether a name is listed; unknown where it was never listed, for the world has names that are not."""
        words = {*thing.split()}
        # By what is in it a thing is called in full alone, else words of several contents would make up a name.
        called = self._names if CONTAINING in words else self._plain_names
        if any(_calls(words, name) for name in called):
            return True
        sealed = (
            words_of(name) for item in self._everything() if item.name in SEALED for name in every_name(item.inside)
        )
        listed = (item for thing in self._everything() for item in (thing, *thing.everything()))
        hiding = any(item.name in HIDING and not item.listed for item in listed)
        if hiding or words & UNLISTED or any(words <= {*name.split()} for name in sealed):
            return None
        return False if any(_calls(words, words_of(name)) for name in self._state.seen) else None

    def _called(self, name: str) -> int:
        """How many things a name means; where some have that very name, how many of these."""
        words = {*name.split()}
        exact = sum(name in names for names in self._by_thing)
        return exact or sum(any(words <= {*text.split()} for text in names) for names in self._by_thing)

    def _absent(self, thing: str) -> bool | None:
        """False for the name of a thing seen in this episode, which is not where it was looked for; else None."""
        names = (*self._state.seen, *every_name(self._everything()))
        return False if any(same(thing, name) for name in names) else None

    def _is_room(self, name: str) -> bool:
        """Whether there is such a room, as far as is known."""
        rooms = (self._here.name, *self._state.rooms, *self._state.visited, *(to for to, _ in self._here.doors))
        return plain(name) in map(plain, rooms)

    def _everything(self) -> tuple[Thing, ...]:
        return (*self._seen, *self._held)

    def _open(self, thing: str) -> bool | None:
        to = plain(thing).removeprefix("door to ").removeprefix("the ")
        doors = {plain(room): is_open for room, is_open in self._here.doors}
        if thing.startswith("door to ") and to not in doors:
            return False if doors and self._is_room(to) else None  # there is no such door here
        return doors[to] if to in doors else _agreed(thing, self._everything(), lambda result: result.open)

    def __iter__(self) -> Iterator[Predicate]:
        """Where the agent is, what it carries and focused on, and what it has connected."""
        if self._here.name:
            yield Predicate("at", (plain(self._here.name),))
        yield from (Predicate("carries", (thing.name,)) for thing in self._held)
        yield from (Predicate("focused", (plain(name),)) for name in dict.fromkeys(self._state.focused))
        yield from (Predicate("joined", (command,)) for command in self._state.joined)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _calls(words: set[str], name: str) -> bool:
    """Whether words may call a thing of this name: some of them do, but a recipe is not called by what it makes."""
    parts = {*name.split()}
    return words <= parts and ("titled" not in parts or bool(words & _TITLED))


def _agreed(name: str, things: tuple[Thing, ...], of: Callable[[Thing], bool | None]) -> bool | None:
    """What all things that a name may mean have in common; None where they differ, or none is in sight."""
    values = {of(thing) for thing in find(name, things)}
    return values.pop() if len(values) == 1 else None


def _holds(thing: Thing, wanted: str) -> bool | None:
    """Whether something is in or on a thing; None where its contents cannot be seen."""
    if find(wanted, thing.inside):
        return True
    closed = any(result.open is False for result in (thing, *thing.everything()))
    return False if thing.listed and not closed else None


# --- the truth, for measurements alone --------------------------------------------------------


def truth(requires: Required, world: Mapping[str, Any], focused: tuple[str, ...]) -> bool | None:
    """Whether typed predicates hold in the simulator's tree of objects; no agent may see it."""
    values = [_true(predicate, world, focused) for predicate, _ in requires]
    if any(value is None for value in values):
        return None
    return all(value is wanted for value, (_, wanted) in zip(values, requires, strict=True))


def _true(predicate: Predicate, world: Mapping[str, Any], focused: tuple[str, ...]) -> bool | None:
    path = _way_to_agent(world)
    room, agent = path[-2], path[-1]
    near, world_nodes = [node for node in _nodes(room) if node is not agent], list(_nodes(world))
    if predicate.name not in ("at", "focused") and not all(_meant(name, world_nodes) for name in predicate.args):
        return None  # descriptions make names up that the tree does not have, as of a red apple or a blue jay egg
    match predicate:
        case ("at", (name,)):
            return plain(str(room["name"])) == plain(name)
        case ("carries", (thing,)):
            held = [node for node in _nodes(agent) if node["name"] not in ("agent", "inventory")]
            return bool(_meant(thing, held))
        case ("focused", (thing,)):
            # The tree does not show it; what was focused on is what the simulator has acknowledged.
            return any(same(thing, name) for name in focused)
        case ("active", (thing,)):
            # The tree does not show whether current makes a bulb shine or a motor turn.
            nodes = [node for node in _meant(thing, near) if not _CIRCUIT.search(str(node["name"]))]
            return _all_agree([(node["propDevice"] or {}).get("isActivated") for node in nodes])
        case ("open", (thing,)):
            return _all_agree([(node["propContainer"] or {}).get("isOpen") for node in _meant(thing, near)])
        case ("in", (thing, where)):
            return _all_agree([bool(_meant(thing, list(_nodes(node))[1:])) for node in _meant(where, near)])
    return None


def _all_agree(values: list[bool | None]) -> bool | None:
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None


def _nodes(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield node
    for inner in node["contents"].values():
        yield from _nodes(inner)


def _meant(wanted: str, nodes: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    exact = [node for node in nodes if plain(str(node["name"])) == plain(wanted)]
    return exact or [node for node in nodes if same(wanted, str(node["name"]))]


def _way_to_agent(node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The objects around the agent, from the outermost in."""
    if node["name"] == "agent":
        return [node]
    for inner in node["contents"].values():
        if way := _way_to_agent(inner):
            return [node, *way]
    return []
