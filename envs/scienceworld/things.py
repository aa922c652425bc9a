"""Things as descriptions list them: their names, what shows of them, and what is in or on them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

_ARTICLE = re.compile(r"^(?:a|an|the|some)\s+", re.IGNORECASE)
_SUBSTANCE = "substance called "
_STATE = re.compile(
    r"\b(?:which|that) is (?:currently )?(turned on|turned off|activated|deactivated|on|off|open|closed)\b"
)
_DOOR = re.compile(r"^The .+? is (open|closed)\.?$")
_CONTENTS = re.compile(r"^(?:On|In|Inside) the .+? (?:is|you see): ?(.*)$", re.DOTALL)
_SLID = re.compile(r" +(?:approximately \d+% down|at the (?:bottom|top) of) the plane")
_TERMINAL = re.compile(r"(?<=\w)its terminal 1 is connected to.*")
"""How a wire goes on among what is carried, without a space."""
_MEANS = {
    "turned on": ("active", True),
    "activated": ("active", True),
    "on": ("active", True),
    "turned off": ("active", False),
    "deactivated": ("active", False),
    "off": ("active", False),
    "open": ("open", True),
    "closed": ("open", False),
}


@dataclass(frozen=True)
class Thing:
    """A thing that is listed.

    Attributes:
        name: Its name, without an article.
        open: Whether it is open; None where the description does not show it.
        active: Whether it is turned on; None where the description does not show it.
        inside: What is listed in or on it.
        listed: Whether its contents are listed at all.
    """

    name: str
    open: bool | None = None
    active: bool | None = None
    inside: tuple[Thing, ...] = ()
    listed: bool = False

    def everything(self) -> Iterator[Thing]:
        """What is in it, at any depth."""
        for thing in self.inside:
            yield thing
            yield from thing.everything()


def plain(name: str) -> str:
    """A name in lower case, without article and without ``substance called``."""
    name = _ARTICLE.sub("", " ".join(name.split()).strip(" .")).lower()
    return name.removeprefix(_SUBSTANCE)


def read_things(lines: Iterable[str]) -> tuple[Thing, ...]:
    """The things of a description, one a line."""
    return tuple(thing for line in lines for thing in [_thing(line)] if thing.name)


def every_name(things: Iterable[Thing]) -> tuple[str, ...]:
    """The names of things and of all that is in or on them, each once."""
    return tuple(dict.fromkeys(result.name for thing in things for result in (thing, *thing.everything())))


@lru_cache(maxsize=20_000)
def _thing(text: str) -> Thing:
    """Read once: the same lines come again in most states of an episode."""
    first, *rest = _split(_TERMINAL.sub("", text.strip()), ". ")
    head, *more = _split(first, ", ")
    name, listed = head, False
    inside: tuple[Thing, ...] = ()
    if " (" in head:
        name, _, held = head.partition(" (")
        if held.startswith("containing "):
            inside, listed = _items(held.removeprefix("containing ").strip().removesuffix(")")), True
    states: dict[str, bool | None] = {"open": None, "active": None}
    for number, part in enumerate(more):
        if part.startswith("with:"):  # what stands on it, to the end of the line
            inside, listed = _items(_SLID.sub("", ", ".join(more[number:]).removeprefix("with:").strip())), True
            break
        if state := _STATE.search(part):
            which, value = _MEANS[state[1]]
            states[which] = value
    for sentence in rest:
        if door := _DOOR.match(sentence.strip()):
            states["open"] = door[1] == "open"
        elif (contents := _CONTENTS.match(sentence.strip())) and contents[1].strip(" ."):
            # Else it is carried, and lines follow that do not show where its contents end.
            inside, listed = (*inside, *_items(contents[1].strip(" ."))), True
    return Thing(plain(name), states["open"], states["active"], inside, listed)


def _items(text: str) -> tuple[Thing, ...]:
    """The things of a list in a sentence."""
    parts: list[str] = []
    for part in _split(text, ", "):
        if parts and part.startswith(("which ", "that ", "currently ", "in the ", "with: ")):
            parts[-1] += f", {part}"
        else:
            parts.append(part)
    return tuple(thing for thing in map(_thing, parts) if thing.name not in ("", "nothing"))


def _split(text: str, mark: str) -> list[str]:
    """Split where a mark stands outside parentheses."""
    parts, depth, start, i = [], 0, 0, 0
    while i < len(text):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth <= 0 and text.startswith(mark, i):
            parts.append(text[start:i])
            start = i = i + len(mark)
            continue
        i += 1
    return [*parts, text[start:]]


def same(wanted: str, name: str) -> bool:
    """Whether a name is the one that is wanted, or that one with more words.

    A pot is met by a metal pot, and a picture by a picture of a cow.
    """
    wanted, name = plain(wanted), plain(name)
    return bool(wanted) and (name == wanted or name.endswith(f" {wanted}") or name.startswith(f"{wanted} of "))


def find(wanted: str, things: Iterable[Thing]) -> list[Thing]:
    """The things that a name means, at any depth; those of that very name where there are any."""
    everything = [result for thing in things for result in (thing, *thing.everything())]
    exact = [thing for thing in everything if thing.name == plain(wanted)]
    return exact or [thing for thing in everything if same(wanted, thing.name)]
