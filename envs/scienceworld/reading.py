"""Reading the simulator's texts: rooms, things, inventories, refusals, questions, measurements."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

REFUSALS = (
    "No known action matches that input.",
    "Unknown action.  Type 'help' for a list of actions",
    "It's not clear how to get there from here.",
)
"""How the answers begin that the simulator gives to what it does not take for an action, or for a way."""

_ROOM = re.compile(r"^This (?:room|outside location) is called the (.+?)\. ", re.MULTILINE)
_DOOR = re.compile(r"^\tA door to the (.+?) \(that is (open|closed)\)", re.MULTILINE)
_DOOR_LINE = "A door to "
_MOVE_TO = re.compile(r"^(?:teleport|go) to (?:the )?(.+)$")
_DOOR_TO = re.compile(r"^(?:open|close) (?:door to (?P<to>.+)|(?P<of>.+) door)$")
_FOCUS = re.compile(r"^You focus on the (.+?)\.$", re.MULTILINE)
_CHOICE = re.compile(r"^(\d+):\t(.+)$", re.MULTILINE)
_QUESTION = "Ambiguous request:"
_NOW = re.compile(r", currently reading a temperature of -?\d+ degrees celsius|\bapproximately \d+% down the plane")
_MEASURED = re.compile(
    r"^(the thermometer measures a temperature of .+"
    r"|.*\bblock (?:approximately \d+% down|at the (?:bottom|top) of) the plane.*"
    r"|.*\. The time reads \d+ ticks\.?"
    r"|.* is now connected to .*"
    r"|The recipe reads:.*)",
    re.DOTALL,
)
_PARENTHESES = re.compile(r"\(([^()]*)\)")
_ITEMS = re.compile(r", (?!which\b|currently\b|in the\b)")


class Room(NamedTuple):
    """A room, as its description shows it.

    Attributes:
        name: Its name.
        things: A line for everything in it, without the agent and the air.
        doors: Where its doors lead to, and whether they are open.
    """

    name: str
    things: tuple[str, ...]
    doors: tuple[tuple[str, bool], ...]


@lru_cache(maxsize=4_000)
def read_room(look: str) -> Room:
    """Read the description of a room; other texts have no name, and a line that breaks off is left out."""
    look = whole_lines(look)
    name = _ROOM.search(look)
    things = tuple(line for line in described_lines(look) if not line.startswith(_DOOR_LINE))
    doors = tuple((to, state == "open") for to, state in _DOOR.findall(look))
    return Room(name[1] if name else "", things, doors)


def whole_lines(text: str) -> str:
    """A text of the simulator without a last line that breaks off: it ends its texts with a line's end."""
    return text if text.endswith("\n") else text[: text.rfind("\n") + 1]


def described_lines(look: str) -> list[str]:
    """What a description lists, doors included, without the agent and the air."""
    lines = [line.strip() for line in look.splitlines() if line.startswith("\t")]
    return [line for line in lines if line not in ("the agent", "a substance called air")]


def write_room(name: str, lines: Iterable[str]) -> str:
    """A description with such lines, as the simulator would write it."""
    listed = list(lines)
    doors = [line for line in listed if line.startswith(_DOOR_LINE)]
    things = ["the agent", "a substance called air", *(line for line in listed if line not in doors)]
    rows = [f"This room is called the {name}. In it, you see: ", *(f"\t{line}" for line in things)]
    return "\n".join([*rows, "You also see:", *(f"\t{line}" for line in doors), ""])


def read_inventory(text: str) -> tuple[str, ...]:
    """What the agent carries, one thing each, as the simulator writes it; a line that breaks off is left out."""
    return tuple(line.strip() for line in whole_lines(text).splitlines() if line.startswith("\t"))


def refused(text: str) -> bool:
    """Whether the simulator did not take a command for an action."""
    return text.startswith(REFUSALS)


def choices(text: str) -> tuple[str, ...]:
    """What the simulator asks to choose from, in the order of their numbers; empty where it asks nothing."""
    return tuple(meant for _, meant in _CHOICE.findall(text)) if text.startswith(_QUESTION) else ()


def focus(text: str) -> str | None:
    """What the agent has focused on, if an answer reports it."""
    match = _FOCUS.search(text)
    return match[1] if match else None


def measured(text: str) -> str | None:
    """An answer that reports what no description shows: a temperature, time, place on a plane, circuit or recipe."""
    return text.strip() if _MEASURED.match(text) else None


def rooms_of(actions: Iterable[str]) -> tuple[str, ...]:
    """The rooms that valid actions name: those that can be gone to, and those that doors lead to."""
    texts: set[str] = set()
    for action in actions:
        if move := _MOVE_TO.match(action):
            if "door" not in move[1]:
                texts.add(move[1])
        elif door := _DOOR_TO.match(action):
            texts |= {door["to"]} if door["to"] else set()
    return tuple(sorted(texts))


@lru_cache(maxsize=20_000)
def normal(line: str) -> str:
    """A line in which neither the order of what is in a container nor a running measurement shows."""
    line = _NOW.sub("", line)
    held: list[str] = []

    def put_away(match: re.Match[str]) -> str:
        held.append(_sorted(match[1]))
        return f"<{len(held) - 1}>"

    while _PARENTHESES.search(line):
        line = _PARENTHESES.sub(put_away, line)
    line = ". ".join(_sorted(sentence) for sentence in line.strip().rstrip(".").split(". "))
    for i in reversed(range(len(held))):
        line = line.replace(f"<{i}>", f"({held[i]})")
    return line


def _sorted(text: str) -> str:
    """A list in alphabetical order, behind the words that introduce it."""
    intro, mark, items = text.partition(": ") if ": " in text else ("", "", text)
    if text.startswith("containing "):
        intro, mark, items = "containing", " ", text.removeprefix("containing ")
    return f"{intro}{mark}{', '.join(sorted(_ITEMS.split(items)))}" if mark else text
