"""The sentences that ALFWorld games answer with, taken apart; whole sentences or nothing.

Two versions of the official grammar are known: with articles (``You pick up the apple 1 from the fridge 1.``) and
without (``You take apple 1 from fridge 1.``). A text that is cut off or garbled matches no pattern to its end.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_NAME = r"[a-z]+ [1-9]\d*"
_THE = r"(?:[Tt]he )?"
_ITEM = re.compile(rf"(?:an? )?(?P<name>{_NAME})")
_SEEN = r"(?P<seen>[a-z0-9, ]+)"

CONTENTS = (
    ("open", re.compile(rf"In {_THE}(?P<r>{_NAME}), you see {_SEEN}\.")),
    ("open", re.compile(rf"The (?P<r>{_NAME}) is open\. In it, you see {_SEEN}\.")),
    ("closed", re.compile(rf"{_THE}(?P<r>{_NAME}) is closed\.")),
    ("surface", re.compile(rf"On {_THE}(?P<r>{_NAME}), you see {_SEEN}\.")),
)
ARRIVED = re.compile(rf"You arrive at (?P<place>loc [1-9]\d*|{_NAME})\. (?P<rest>.*)")
OPENED = re.compile(rf"You open {_THE}(?P<r>{_NAME})\. (?P<rest>.*)")
CLOSED = re.compile(rf"You close {_THE}(?P<r>{_NAME})\.")
TAKEN = re.compile(rf"You (?:take|pick up) {_THE}(?P<o>{_NAME}) from {_THE}(?P<r>{_NAME})\.")
PUT = re.compile(
    rf"You (?:put {_THE}(?P<o>{_NAME}) in/on {_THE}(?P<r>{_NAME})"
    rf"|move {_THE}(?P<o2>{_NAME}) to {_THE}(?P<r2>{_NAME}))\."
)
TREATED = re.compile(rf"You (?P<verb>heat|clean|cool) {_THE}(?P<o>{_NAME}) using {_THE}(?P<r>{_NAME})\.")
SWITCHED_ON = re.compile(rf"You turn on {_THE}(?P<o>{_NAME})\.")
SLICED = re.compile(rf"You sliced {_THE}(?P<o>{_NAME}) with {_THE}(?P<k>{_NAME})\.")
CARRYING = re.compile(rf"You are carrying: (?:an? )?(?P<o>{_NAME})\.")
EMPTY_HANDED = re.compile(r"You are not carrying anything\.")
FACING = re.compile(rf"You are facing (?P<the>the )?(?P<here>[a-z0-9, ()]+)\. Next to it, you see {_SEEN}\.")
MIDDLE = re.compile(r"You are in the middle of a room\. Looking quickly around you, you see (?P<seen>[a-z0-9, ]+)\.")
_FACED = re.compile(rf"(?:an? )?(?P<name>{_NAME}) ?(?:\((?:it )?is (?P<state>open|closed)\))?")

DESCRIBED = tuple(
    (re.compile(pattern.format(o=rf"(?P<o>{_NAME})")), values)
    for pattern, values in (
        (r"This is a hot and clean (?:sliced )?{o}\.", {"hot": True, "clean": True}),
        (r"This is a cool and clean (?:sliced )?{o}\.", {"cool": True, "clean": True}),
        (r"This is a hot (?:sliced )?{o}\.", {"hot": True, "clean": False}),
        (r"This is a clean (?:sliced )?{o}\.", {"clean": True, "hot": False, "cool": False}),
        (r"This is a (?:cold|cool sliced) {o}\.", {"cool": True, "clean": False, "hot": False}),
        (r"This {o} is on\.", {"lit": True}),
        (r"This is a sliced {o}\.", {"clean": False, "hot": False, "cool": False}),
        (r"There's nothing special about (?:the )?{o}\.", {"clean": False, "hot": False, "cool": False, "lit": False}),
    )
)
"""What the description of an object shows. The game writes the first that applies, so the later ones also deny."""


NOTHING = "Nothing happens."
"""To a command that did nothing."""
_NORMAL = re.compile(rf"This is a normal {_NAME}\. In it, you see {_SEEN}\.")
_WHOLE = (_NORMAL, CLOSED, TAKEN, PUT, TREATED, SWITCHED_ON, SLICED, CARRYING, EMPTY_HANDED, FACING, MIDDLE)


def whole(text: str) -> bool:
    """Whether an answer is one of the sentences known here, to its end, so that nothing is missing."""
    answer = text.strip()
    for pattern in (ARRIVED, OPENED):
        match = pattern.fullmatch(answer)
        if match is not None:
            return any(_matches(contents, match["rest"]) for _, contents in CONTENTS)
    patterns = (*_WHOLE, *(pattern for _, pattern in CONTENTS), *(pattern for pattern, _ in DESCRIBED))
    return answer == NOTHING or any(_matches(pattern, answer) for pattern in patterns)


def _matches(pattern: re.Pattern[str], answer: str) -> bool:
    """Whether a text is such a sentence, and what it lists is a list."""
    match = pattern.fullmatch(answer)
    return match is not None and ("seen" not in pattern.groupindex or items(match["seen"] or "nothing") is not None)


class Faced(NamedTuple):
    """A receptacle of a ``look``.

    Attributes:
        name: Its name.
        state: ``open``, ``closed`` or None where the game does not mention it.
    """

    name: str
    state: str | None


def items(listed: str) -> tuple[str, ...] | None:
    """The names in a list, ``nothing``, ``a``, ``a, and b`` or ``a, b, and c``; None if it is none of these."""
    if listed == "nothing":
        return ()
    names = []
    for part in _parts(listed) or ("",):
        match = _ITEM.fullmatch(part)
        if match is None:
            return None
        names.append(match["name"])
    return tuple(names) if len(set(names)) == len(names) else None


def faced(listed: str) -> tuple[Faced, ...] | None:
    """The receptacles that a ``look`` lists, and whether each is open; None if malformed."""
    matches = [_FACED.fullmatch(part) for part in _parts(listed) or ("",)]
    whole = [match for match in matches if match is not None]
    return tuple(Faced(match["name"], match["state"]) for match in whole) if len(whole) == len(matches) else None


def _parts(listed: str) -> list[str] | None:
    """Take a list apart; None where the words between are not those of a list."""
    *most, last = listed.split(", ")
    if not most:
        return [last]
    if not last.startswith("and ") or any(part.startswith("and ") for part in most):
        return None
    return [*most, last.removeprefix("and ")]
