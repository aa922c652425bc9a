"""The JSON that general models write about a game, as pydantic models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

MOST_PLANNED = 60
"""Most commands of a plan; what is longer is planned again where it ends."""

LONGEST_THOUGHT = 200
"""Characters of a thought."""

MOST_LINES = 40
"""Lines that a prediction speaks of at most, in each list."""

CommandText = Annotated[str, Field(pattern=r'^[^"\\\x00-\x1f]{1,120}$')]
"""A command: any short text; what is read where nothing was enforced."""

_THING = r"[A-Za-z0-9][A-Za-z0-9 ,.'-]{0,70}"
_ALONE = "look around|inventory|wait|wait1|[0-9]{1,2}"
_OF_ONE = (
    "go to|teleport to|open|close|pick up|put down|examine|look at|look in|look on|read|activate|deactivate|use|flush|"
    "eat|focus on|mix|disconnect"
)
_TO, _INTO, _ON = "move|connect", "pour|dunk", "use"
_FORM = "|".join(
    (
        _ALONE,
        f"(?:{_OF_ONE}) {_THING}",
        f"(?:{_TO}) {_THING} to {_THING}",
        f"(?:{_INTO}) {_THING} in(?:to)? {_THING}",
        f"(?:{_ON}) {_THING} on {_THING}",
    )
)
WrittenCommand = Annotated[str, Field(pattern=f"^(?:{_FORM})$")]
"""A command with one of the verbs that there are, on things of any name."""

_STRICT = ConfigDict(extra="forbid")
_THOUGHT = (str, Field(max_length=LONGEST_THOUGHT))
_Line = Annotated[str, Field(max_length=300)]
_Name = Annotated[str, Field(max_length=60)]
_Score = Literal[(-100, *range(101))]  # type: ignore[valid-type]


class NextAnswer(BaseModel):
    """What a command leads to, as it is read.

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


class ScienceActAnswer(BaseModel):
    """A short thought and one command, as they are read."""

    model_config = _STRICT
    thought: str = Field(max_length=LONGEST_THOUGHT)
    action: CommandText


PLAN: type[BaseModel] = create_model(
    "Plan",
    __config__=_STRICT,
    thought=_THOUGHT,
    actions=(list[WrittenCommand], Field(min_length=1, max_length=MOST_PLANNED)),
)
"""A thought and a whole plan: at least one command."""

FREE_ACT: type[BaseModel] = create_model("Act", __config__=_STRICT, thought=_THOUGHT, action=(WrittenCommand, ...))
"""A thought and any command."""


def act_model(*actions: str) -> type[BaseModel]:
    """A thought, and one of some commands."""
    chosen: Any = (Literal[actions], ...)
    return create_model("FixedAct", __config__=_STRICT, thought=_THOUGHT, action=chosen)


def next_model(action: str, lines: Sequence[str], *, valid: bool) -> type[BaseModel]:
    """What a command leads to.

    Args:
        action: The command.
        lines: The description now: no other lines can be gone.
        valid: The world does take it for a command.
    """
    line: Any = Literal[tuple(dict.fromkeys(lines))] if lines else _Line
    fields: dict[str, Any] = {
        "command": (Literal[action], ...),
        "valid": (Literal[True] if valid else bool, ...),
        "room": (_Name, ""),
        "gone": (Annotated[list[line], Field(max_length=len(set(lines)))], []),
        "new": (Annotated[list[_Line], Field(max_length=MOST_LINES)], []),
        "carry": (Annotated[list[_Line], Field(max_length=MOST_LINES)], []),
        "focus": (_Name, ""),
        "reading": (_Line, ""),
        "score": (_Score, 0),
        "over": (bool, False),
    }
    return create_model("NextOf", __config__=_STRICT, **fields)
