"""What the simulated model reads in a prompt: the same words that any model gets."""

from __future__ import annotations

import re
from dataclasses import dataclass

from envs.scienceworld.prompts.chat_text import NOTHING
from envs.scienceworld.reading import described_lines, read_room
from tape.errors import ModelError
from tape.lm.base import Request

_TASK = re.compile(r"^Task: (\S+), variation (\d+), simplifications: (.+?)\. ", re.MULTILINE)
_PLACE = re.compile(r"^where you are: (.*(?:\n(?:\t.*|You also see:.*))*)", re.MULTILINE)
_NUMBERED = re.compile(r"^(\d+)\. ")


@dataclass(frozen=True)
class Prompt:
    """What a prompt shows.

    Attributes:
        text: The whole prompt.
        task: Name of the task.
        variation: Its variation.
        simplification: Simplifications, by commas.
        room: Where the agent is; empty where the prompt does not show it.
        lines: The description of the room, line by line.
        carried: What the agent carries.
        rooms: Rooms that can be reached.
        history: What was done.
        dropped: How many earlier actions are not shown.
        useless: What is of no use just here, or was not understood.
        stuck_at: The predicate that could not be brought about, where the prompt names one.
        asked: Whether the world asks to choose by number.
        score: The score.
        over: Whether the task is over.
    """

    text: str
    task: str
    variation: int
    simplification: str
    room: str
    lines: tuple[str, ...]
    carried: tuple[str, ...]
    rooms: tuple[str, ...]
    history: tuple[str, ...]
    dropped: int
    useless: tuple[str, ...]
    stuck_at: tuple[str, ...]
    asked: bool
    score: int
    over: bool

    def field(self, name: str) -> str:
        """A line of the prompt by its name; empty where there is none."""
        return field_of(self.text, name)

    def numbered(self) -> list[str]:
        """The numbered lines at the prompt's end: paths or conditions."""
        return [line.split(mark, 1)[1] for line in self.text.splitlines() for mark in (". ", ": ") if _item(line, mark)]


def _item(line: str, mark: str) -> bool:
    return re.match(rf"\d+{re.escape(mark)}", line) is not None


def field_of(text: str, name: str) -> str:
    """A line of a prompt by its name; empty where there is none."""
    match = re.search(rf"^{re.escape(name)}: (.*)$", text, re.MULTILINE)
    return match[1].strip() if match else ""


def read_prompt(request: Request) -> Prompt:
    """Read a prompt.

    Raises:
        ModelError: It is about no task of ScienceWorld.
    """
    # What is asked comes last; before it stand the rules, and worked examples of other games.
    whole = request.prompt
    text = whole if isinstance(whole, str) else whole[-1].content
    task = _TASK.search(text)
    if task is None:
        raise ModelError(
            f"the simulated model plays ScienceWorld alone, and this {request.role or 'other'} request names no task "
            "of it; give another --model"
        )
    place = _PLACE.search(text)
    look = place[1] if place else ""
    done = [item for item in field_of(text, "done so far").split("; ") if item]
    first = _NUMBERED.match(done[0]) if done else None
    score = re.match(r"-?\d+", field_of(text, "score"))
    carried = field_of(text, "you carry")
    return Prompt(
        text=text,
        task=task[1],
        variation=int(task[2]),
        simplification="" if task[3] == "none" else task[3],
        room=read_room(look).name,
        lines=tuple(described_lines(look)),
        carried=tuple(carried.split("; ")) if carried not in ("", NOTHING) else (),
        rooms=tuple(filter(None, field_of(text, "rooms that can be reached").split(", "))),
        history=tuple(_NUMBERED.sub("", item) for item in done),
        dropped=int(first[1]) - 1 if first else 0,
        useless=(
            *field_of(text, "of no use just here").split("; "),
            *re.findall(r"^failed: (.+?) \((?:the world does not understand)", text, re.MULTILINE),
        ),
        stuck_at=tuple(re.findall(r"^The condition ['\"](.+?)['\"] could not be brought about", text, re.MULTILINE)),
        asked=bool(field_of(text, "asked to choose by number")),
        score=int(score[0]) if score else 0,
        over="the task is over" in field_of(text, "score"),
    )
