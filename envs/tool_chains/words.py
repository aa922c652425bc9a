"""The words of tool chains: names of types and tools, and users' requests."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tape.reading import read_json

_FILE = Path(__file__).parent / "data" / "words.json"

PARTS = ("things", "finishes", "tongues")
"""The parts of a request."""


@dataclass(frozen=True)
class Spec:
    """A wish: the thing, and two preferences.

    Attributes:
        thing: Its number in the list of words.
        finish: How it is bound.
        tongue: How it is lettered.
    """

    thing: int
    finish: int
    tongue: int


@cache
def words() -> dict[str, Any]:
    """The lists of words."""
    return read_json(_FILE, dict[str, Any])


def all_specs() -> list[Spec]:
    """All wishes."""
    sizes = [range(len(words()[part])) for part in PARTS]
    return [Spec(a, b, c) for a in sizes[0] for b in sizes[1] for c in sizes[2]]


def type_name(spec: Spec, stage: int, level: int, lane: bool = False) -> str:
    """The type of a stage on the way to what is wanted; stage 0 is the start, ``level`` the thing itself.

    Early stages are the same for all things; the binding is chosen later, the lettering last.
    """
    lists = words()
    if stage == 0:
        return str(lists["start"])
    thing, finish = lists["things"][spec.thing]["name"], lists["finishes"][spec.finish]["name"]
    if stage == level:
        return f"{thing}, {finish}, {lists['tongues'][spec.tongue]['name']}"
    work = str(lists["lanes" if lane else "stages"][stage - 1])
    parts = [work, *([thing] if stage >= thing_from(level) else []), *([finish] if stage >= finish_from(level) else [])]
    return " / ".join(parts)


def thing_from(level: int) -> int:
    """The first stage that is of use for one thing only."""
    return max(1, round(0.3 * level))


def finish_from(level: int) -> int:
    """The first stage that is of use for one binding only."""
    return max(thing_from(level) + 1, round(0.6 * level))


def request_text(spec: Spec, rng: random.Random, kind: str = "requests") -> str:
    """A request, or a change of mind, in words."""
    lists = words()
    chosen = {
        name: rng.choice(lists[part][number]["said"])
        for name, part, number in zip(
            ("thing", "finish", "tongue"), PARTS, (spec.thing, spec.finish, spec.tongue), strict=True
        )
    }
    return str(rng.choice(lists[kind]).format(**chosen))


def read(request: str) -> str | None:
    """The type that a request of our own names; None where it is not one of them."""
    named = []
    for part in PARTS:
        result = {entry["name"] for entry in words()[part] if any(phrase in request for phrase in entry["said"])}
        if len(result) != 1:
            return None
        named.append(result.pop())
    return ", ".join(named)
