"""Commands as actions: the game's own, with an object named by its kind where its number is not known yet."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from envs.alfworld.game.kinds import TREATMENTS, kind_of

_NAME = r"[a-z]+(?: [0-9]{1,6})?"
_FORMS = (
    ("go", re.compile(rf"go to (?P<place>{_NAME})")),
    ("open", re.compile(rf"open (?P<place>{_NAME})")),
    ("close", re.compile(rf"close (?P<place>{_NAME})")),
    ("take", re.compile(rf"take (?P<thing>{_NAME}) from (?P<place>{_NAME})")),
    ("put", re.compile(rf"(?:put|move) (?P<thing>{_NAME}) (?:in/on|in|on|to) (?P<place>{_NAME})")),
    *((verb, re.compile(rf"{verb} (?P<thing>{_NAME}) with (?P<place>{_NAME})")) for verb in TREATMENTS),
    ("use", re.compile(rf"use (?P<thing>{_NAME})(?: on (?P<place>{_NAME}))?")),
)


@dataclass(frozen=True)
class AlfworldCommand:
    """A command of the game.

    Attributes:
        verb: ``go``, ``open``, ``close``, ``take``, ``put``, ``clean``, ``heat``, ``cool`` or ``use``.
        place: The receptacle; where it is known, that on which a lamp to ``use`` stands.
        thing: The object, by name or by kind; empty where there is none.
    """

    verb: str
    place: str = ""
    thing: str = ""

    @property
    def text(self) -> str:
        """As the game takes it, once the object has its number and a lamp's place is left out."""
        if self.verb == "go":
            return f"go to {self.place}"
        if self.verb == "take":
            return f"take {self.thing} from {self.place}"
        if self.verb == "put":
            return f"put {self.thing} in/on {self.place}"
        if self.verb in TREATMENTS:
            return f"{self.verb} {self.thing} with {self.place}"
        if self.verb == "use" and self.place:
            return f"use {self.thing} on {self.place}"
        return f"{self.verb} {self.thing or self.place}"

    @property
    def of_kind(self) -> AlfworldCommand:
        """The same with the object by its kind."""
        return AlfworldCommand(self.verb, self.place, kind_of(self.thing) if self.thing else "")


def read_command(text: str) -> AlfworldCommand | None:
    """The command that a text is, or None."""
    written = " ".join(text.strip().lower().split())
    for verb, form in _FORMS:
        if match := form.fullmatch(written):
            parts = match.groupdict()
            return AlfworldCommand(verb, parts.get("place") or "", parts.get("thing") or "")
    return None


def commands_of(actions: Sequence[str]) -> list[AlfworldCommand]:
    """The commands among actions."""
    return [command for command in map(read_command, actions) if command is not None]
