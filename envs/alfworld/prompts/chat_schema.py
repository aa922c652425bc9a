"""The JSON that general models write about a house, as pydantic models of its places and things."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from envs.alfworld.commands import AlfworldCommand
from envs.alfworld.game.kinds import LAMPS, OPENABLE, TREATMENTS, kind_of
from envs.alfworld.state import BARE, KEPT, OPEN, SHUT

MOST_PLANNED = 40
"""Most commands of a plan."""

LONGEST_THOUGHT = 200
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
CommandText = Annotated[str, Field(pattern=f"^(?:{_COMMAND})$", max_length=100)]
"""A command of any house, as far as its form goes: what is read where nothing was enforced."""

NOTHING = "nothing"
"""What comes of a command that is not possible."""

DONE: Mapping[str, str] = MappingProxyType(
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

LEADS_TO = " -> "
"""Between a command and what comes of it."""

_STRICT = ConfigDict(extra="forbid")
_THOUGHT = (str, Field(max_length=LONGEST_THOUGHT))


class AlfworldActAnswer(BaseModel):
    """A short thought and one command."""

    model_config = _STRICT
    thought: str = Field(max_length=LONGEST_THOUGHT)
    action: CommandText


def _model(name: str, **fields: Any) -> type[BaseModel]:
    return create_model(name, __config__=_STRICT, **fields)


@lru_cache(maxsize=64)
def command_text(places: tuple[str, ...], kinds: tuple[str, ...]) -> Any:
    """A command on the places of a house and on things of some kinds, with or without their numbers."""

    def one(names: Sequence[str]) -> str:
        return f"(?:{'|'.join(names)})"

    thing = f"{one(kinds)}(?: [0-9]{{1,2}})?"
    closable = [place for place in places if kind_of(place) in OPENABLE]
    forms = [
        f"go to {one(places)}",
        f"take {thing} from {one(places)}",
        f"put {thing} in/on {one(places)}",
        *([f"(?:open|close) {one(closable)}"] if closable else []),
    ]
    for verb, (appliance, _) in TREATMENTS.items():
        if there := [place for place in places if kind_of(place) == appliance]:
            forms.append(f"{verb} {thing} with {one(there)}")
    if lamps := [kind for kind in kinds if kind in LAMPS]:
        forms.append(f"use {one(lamps)}(?: [0-9]{{1,2}})?(?: on {one(places)})?")
    return Annotated[str, Field(pattern=f"^(?:{'|'.join(forms)})$")]


@lru_cache(maxsize=64)
def plan_model(places: tuple[str, ...], kinds: tuple[str, ...]) -> type[BaseModel]:
    """A thought and a whole plan: at least one command; what is longer than the steps left is one all the same."""
    commands: Any = list[command_text(places, kinds)]  # type: ignore[misc]
    return _model("Plan", thought=_THOUGHT, actions=(commands, Field(min_length=1, max_length=MOST_PLANNED)))


@lru_cache(maxsize=64)
def free_model(places: tuple[str, ...], kinds: tuple[str, ...]) -> type[BaseModel]:
    """A thought and any command of the household."""
    return _model("Act", thought=_THOUGHT, action=(command_text(places, kinds), ...))


def act_model(actions: tuple[str, ...]) -> type[BaseModel]:
    """A thought and one of some commands."""
    return _model("ChosenAct", thought=_THOUGHT, action=(Literal[actions], ...))


def results(command: AlfworldCommand, *, status: str = "", sure: bool = False, none: bool = False) -> tuple[str, ...]:
    """What may come of a command, each after the command itself.

    Args:
        command: The command.
        status: What is known of its place; empty where nobody has looked.
        sure: It does change something.
        none: It certainly does not.
    """
    done, known = DONE[command.verb], SHUT if status == KEPT else status
    results = [done]
    if command.verb == "go":
        results = [f"{done}, {word}" for word, name in IS.items() if known in ("", name)]
    results = [] if none else results
    if not (sure and results):
        results = [*results, NOTHING]
    return tuple(f"{command.text}{LEADS_TO}{result}" for result in results)


def step_name(number: int) -> str:
    """The field of a rollout's step, from 1."""
    return f"step_{number}"


def rollout_model(commands: Sequence[AlfworldCommand]) -> type[BaseModel]:
    """What comes of each of some commands, one field a command: no more and no fewer."""
    fields = {step_name(i): (Literal[results(command)], ...) for i, command in enumerate(commands, 1)}
    return _model("Rollout", **fields)
