"""The JSON that general models write about a game, as pydantic models."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

MOST_PLANNED = 60
"""Most commands of a plan; what is longer is planned again where it ends."""

LONGEST_THOUGHT = 300

CommandText = Annotated[str, Field(pattern=r'^[^"\\\x00-\x1f]{1,120}$')]
"""A command: any short text."""

_BEGINNING = re.compile(r'\s*\{\s*"actions"\s*:\s*\[')
_TEXT = re.compile(r'\s*"([^"\\\x00-\x1f]{1,120})"\s*,?')
_STRICT = ConfigDict(extra="forbid")


class PlanAnswer(BaseModel):
    """A whole plan."""

    model_config = _STRICT
    actions: list[CommandText] = Field(max_length=MOST_PLANNED)


class NextAnswer(BaseModel):
    """What a command leads to.

    Attributes:
        command: The command that was asked about.
        valid: Whether the world takes it for a command.
        room: The room afterwards.
        gone: Lines of the description that are not there any more, where the room stays the same.
        new: Lines that are new; in another room, all that are known.
        carry: Everything that is carried afterwards.
        focus: What it focuses on, if it does.
        reading: What it measures or reads, if it does.
        score: The score afterwards.
        over: Whether the task is over then.
    """

    model_config = _STRICT
    command: CommandText
    valid: bool
    room: str = ""
    gone: list[str] = []
    new: list[str] = []
    carry: list[str] = []
    focus: str = ""
    reading: str = ""
    score: int = 0
    over: bool = False


class ActAnswer(BaseModel):
    """A short thought and one command."""

    model_config = _STRICT
    thought: str = Field(max_length=LONGEST_THOUGHT)
    action: CommandText


def act_model(action: str) -> type[BaseModel]:
    """A thought, and a command that is fixed."""
    fields: dict[str, Any] = {
        "thought": (str, Field(max_length=LONGEST_THOUGHT)),
        "action": (Literal[action], ...),
    }
    return create_model("FixedAct", __config__=_STRICT, **fields)


def next_model(action: str, *, valid: bool) -> type[BaseModel]:
    """What a command leads to; ``valid``: the world does take it for one."""
    fields: dict[str, Any] = {"command": (Literal[action], ...)}
    if valid:
        fields["valid"] = (Literal[True], ...)
    return create_model("NextOf", __base__=NextAnswer, **fields)


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
