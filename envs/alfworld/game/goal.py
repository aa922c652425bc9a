"""The six kinds of ALFWorld tasks and the sentences that pose them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from envs.alfworld.errors import GameError
from envs.alfworld.game.kinds import LAMPS

SIMPLE, LOOK, TWO = "pick_and_place_simple", "look_at_obj_in_light", "pick_two_obj_and_place"
TREATED: Mapping[str, str] = MappingProxyType(
    {
        "pick_clean_then_place_in_recep": "clean",
        "pick_heat_then_place_in_recep": "heat",
        "pick_cool_then_place_in_recep": "cool",
    }
)
"""Task types in which the object is treated first, and how."""

TASK_TYPES = (SIMPLE, LOOK, *TREATED, TWO)
"""The official names."""

_ADJECTIVE = {"clean": "clean", "hot": "heat", "cool": "cool"}
_OBJECT, _WHERE = r"(?P<thing>[a-z]+)", r"(?:in|on|in/on) (?P<target>[a-z]+)"
_PATTERNS = (
    (TWO, re.compile(rf"(?:put|find) two {_OBJECT}(?: and put them)? {_WHERE}")),
    (LOOK, re.compile(rf"look at {_OBJECT} under the (?P<target>[a-z]+)")),
    (LOOK, re.compile(rf"examine the {_OBJECT} with the (?P<target>[a-z]+)")),
    ("", re.compile(rf"put a (?P<how>clean|hot|cool) {_OBJECT} {_WHERE}")),
    ("", re.compile(rf"(?P<how>clean|heat|cool) some {_OBJECT} and put it {_WHERE}")),
    (SIMPLE, re.compile(rf"put (?:a|some) {_OBJECT} {_WHERE}")),
)


@dataclass(frozen=True)
class Goal:
    """What has to be achieved.

    Attributes:
        task: One of :data:`TASK_TYPES`.
        thing: The kind of object.
        target: The kind of receptacle that it belongs in, or the kind of lamp to look at it under.
    """

    task: str
    thing: str
    target: str

    @property
    def treatment(self) -> str | None:
        """``clean``, ``heat`` or ``cool``, where the object is treated first."""
        return TREATED.get(self.task)

    @property
    def count(self) -> int:
        """How many objects have to be put."""
        return 2 if self.task == TWO else 1

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of objects that matter."""
        return (self.thing, self.target) if self.task == LOOK else (self.thing,)

    def sentence(self) -> str:
        """The task as the game poses it."""
        if self.task == LOOK:
            return f"look at {self.thing} under the {self.target}"
        if self.task == TWO:
            return f"put two {self.thing} in {self.target}"
        if self.treatment:
            return f"{self.treatment} some {self.thing} and put it in {self.target}"
        return f"put a {self.thing} in {self.target}"


def read_goal(text: str) -> Goal:
    """Read the goal from a sentence or from a whole first observation.

    Raises:
        GameError: The sentence is not of the form of any of the six task types.
    """
    wording = text.partition("Your task is to:")[2] or text
    sentence = " ".join(wording.strip().lower().rstrip(".").split())
    for task, pattern in _PATTERNS:
        match = pattern.fullmatch(sentence)
        if match is None:
            continue
        parts = match.groupdict()
        named = task or _treated(parts["how"])
        if (parts["target"] in LAMPS) == (named == LOOK):
            return Goal(named, parts["thing"], parts["target"])
    raise GameError(
        f"the task {sentence!r} is none of the six that are known; games with tasks in people's own words "
        "(human annotations) cannot be read, use the official templates"
    )


def _treated(how: str) -> str:
    """The task type of a verb or adjective."""
    treatment = _ADJECTIVE.get(how, how)
    return next(name for name, verb in TREATED.items() if verb == treatment)
