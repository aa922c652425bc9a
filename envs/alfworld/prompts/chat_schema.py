"""The JSON that general models write about a household, as pydantic models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from envs.alfworld.commands import Command
from envs.alfworld.state import BARE, OPEN, SHUT

MOST_PLANNED = 40
"""Most commands of a plan."""

LONGEST_THOUGHT = 300
"""Characters of a thought."""

_PLACE, _THING = "[a-z]+ [0-9]+", "[a-z]+(?: [0-9]+)?"
_COMMAND = "|".join(
    (
        f"(?:go to|open|close) {_PLACE}",
        f"take {_THING} from {_PLACE}",
        f"(?:put|move) {_THING} (?:in/on|in|on|to) {_PLACE}",
        f"(?:clean|heat|cool) {_THING} with {_PLACE}",
        f"use {_THING}(?: on {_PLACE})?",
    )
)
CommandText = Annotated[str, Field(pattern=f"^(?:{_COMMAND})$")]
"""A command, as far as its form goes."""

_BEGINNING = re.compile(r'\s*\{\s*"actions"\s*:\s*\[')
_TEXT = re.compile(r'\s*"([^"\\]{0,200})"\s*,?')

Kind = Literal["nothing", "arrived", "opened", "closed", "taken", "put", "cleaned", "heated", "cooled", "switched on"]
CHANGE: Mapping[str, Kind] = MappingProxyType(
    {
        "go": "arrived",
        "open": "opened",
        "close": "closed",
        "take": "taken",
        "put": "put",
        "clean": "cleaned",
        "heat": "heated",
        "cool": "cooled",
        "use": "switched on",
    }
)
"""What each verb does."""

IS: Mapping[str, str] = MappingProxyType({"closed": SHUT, "open": OPEN, "cannot be closed": BARE})
"""What a receptacle may be found to be."""

_STRICT = ConfigDict(extra="forbid")


class PlanAnswer(BaseModel):
    """A whole plan."""

    model_config = _STRICT
    actions: list[CommandText] = Field(max_length=MOST_PLANNED)


class Change(BaseModel):
    """What one command changes."""

    model_config = _STRICT
    change: Kind
    place: str = ""
    thing: str = ""
    found: Literal["", "closed", "open", "cannot be closed"] = ""


class RolloutAnswer(BaseModel):
    """What every command of a plan changes, in order."""

    model_config = _STRICT
    changes: list[Change] = Field(max_length=MOST_PLANNED)


class ActAnswer(BaseModel):
    """A short thought and one command."""

    model_config = _STRICT
    thought: str = Field(max_length=LONGEST_THOUGHT)
    action: CommandText


def _model(name: str, **fields: Any) -> type[BaseModel]:
    return create_model(name, __config__=_STRICT, **fields)


def change_model(command: Command, *, sure: bool) -> type[BaseModel]:
    """What one command may change; ``sure``: it does change something."""
    kind = CHANGE[command.verb]
    fields: dict[str, Any] = {"change": (Literal[kind] if sure else Literal["nothing", kind], ...)}
    if command.thing:
        fields["thing"] = (Literal[command.thing], ...)
    if command.place:
        fields["place"] = (Literal[command.place], ...)
    if command.verb == "go":
        fields["found"] = (Literal[tuple(IS)], ...)
    return _model("CommandChange", **fields)


def act_model(actions: tuple[str, ...]) -> type[BaseModel]:
    """A thought and one of some commands."""
    return _model("ChosenAct", thought=(str, Field(max_length=LONGEST_THOUGHT)), action=(Literal[actions], ...))


NO_CHANGE = _model("NoChange", change=(Literal["nothing"], ...))
"""For a command that fails for certain."""


def beginning(text: str) -> list[str]:
    """The texts at the beginning of a malformed plan."""
    head = _BEGINNING.match(text)
    if head is None:
        return []
    found: list[str] = []
    at = head.end()
    while len(found) < MOST_PLANNED and (item := _TEXT.match(text, at)):
        found.append(item[1])
        at = item.end()
    return found
