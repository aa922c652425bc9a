"""The JSON that general models write about tools, as pydantic models made from the tools' own schemas."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache, reduce
from operator import or_
from typing import Annotated, Any, Literal, Union, cast

from pydantic import BaseModel, ConfigDict, Field, create_model

from tape.errors import InvalidOutputError
from tape.tools.answers import AnswerType
from tape.tools.calls import ANSWER
from tape.tools.domain import LONGEST_PLAN
from tape.tools.tool import Tool
from tape.tools.toolbox import Toolbox

LONGEST_THOUGHT = 300
"""Characters of a thought."""

LONGEST_ARGUMENT = 1000
"""Characters of a text that is an argument or an answer."""

LONGEST_QUOTE, LONGEST_SPAN = 300, 120
"""Characters of a sentence that is copied, and of what it says."""


def _all_required(schema: dict[str, Any]) -> None:
    """A decoder writes every field; who reads an answer forgives one that was left out."""
    schema["required"] = list(schema["properties"])


Placeholder = Annotated[str, Field(pattern=r"^#[1-9][0-9]?$")]
Value = Annotated[float, Field(allow_inf_nan=False)] | Annotated[str, Field(max_length=LONGEST_ARGUMENT)]
_STRICT = ConfigDict(extra="forbid", protected_namespaces=())
_LENIENT = ConfigDict(extra="forbid", json_schema_extra=_all_required)
_THOUGHT = (str, Field(max_length=LONGEST_THOUGHT))


class Reading(BaseModel):
    """What a text says about a question: first the sentence that says it, then what it says; empty where none does."""

    model_config = _LENIENT
    quote: str = Field(default="", max_length=LONGEST_QUOTE)
    answer: str = Field(max_length=LONGEST_SPAN)


class FinalAnswer(BaseModel):
    """The answer to the task."""

    model_config = _STRICT
    answer: Value


def value_of(asked: AnswerType | None) -> Any:
    """The type of an answer in a schema."""
    return Value if asked is None else asked.written


@lru_cache(maxsize=16)
def final_model(asked: AnswerType | None) -> type[BaseModel]:
    """The answer and nothing else."""
    return FinalAnswer if asked is None else _model("FinalAnswer", answer=(asked.written, ...))


def _model(name: str, /, **fields: Any) -> type[BaseModel]:
    return create_model(name, __config__=_STRICT, **fields)


def _or_placeholder(kind: Any, longest: int) -> Any:
    if kind is str:
        return Annotated[str, Field(max_length=longest)]
    return Union[kind, Placeholder]  # noqa: UP007 - some hints know no |


def _one_of(models: Sequence[type[BaseModel]]) -> Any:
    return reduce(or_, models)


@lru_cache(maxsize=16)
def call_models(toolbox: Toolbox, longest: int = LONGEST_ARGUMENT) -> tuple[type[BaseModel], ...]:
    """One model a tool: its name as the only value, and its arguments, each of which may be a placeholder."""
    return tuple(_call_model(item, longest) for item in toolbox.all())


def _call_model(item: Tool, longest: int) -> type[BaseModel]:
    fields = {
        name: (_or_placeholder(field.annotation, longest), ... if field.is_required() else field.default)
        for name, field in item.arguments.model_fields.items()
    }
    title = item.name.replace(".", "_")
    config: ConfigDict = {**_STRICT, "extra": "allow" if item.is_open else "forbid"}
    arguments = create_model(f"{title}_arguments", __config__=config, **cast("Any", fields))
    return _model(f"{title}_call", tool=(Literal[item.name], ...), arguments=(arguments, ...))


@lru_cache(maxsize=16)
def plan_model(
    toolbox: Toolbox,
    longest: int = LONGEST_ARGUMENT,
    least: int = 0,
    most: int = LONGEST_PLAN,
    asked: AnswerType | None = None,
) -> type[BaseModel]:
    """A thought, a list of calls and the answer.

    Args:
        toolbox: The tools.
        longest: Characters of an argument that is a text.
        least: Fewest calls.
        most: Most calls.
        asked: What the answer has to be.
    """
    calls: Any = list[_one_of(call_models(toolbox, longest))]  # type: ignore[misc]
    fields: dict[str, Any] = {
        "thought": (str, Field(default="", max_length=LONGEST_THOUGHT)),
        "calls": (calls, Field(min_length=least, max_length=most)),
        "answer": (value_of(asked), ...),
    }
    return create_model("Plan", __config__=_LENIENT, **fields)


@lru_cache(maxsize=16)
def act_model(toolbox: Toolbox, longest: int = LONGEST_ARGUMENT, asked: AnswerType | None = None) -> type[BaseModel]:
    """A thought and one call, or the answer."""
    value = _model("answer_arguments", value=(value_of(asked), ...))
    final = _model("answer_call", tool=(Literal[ANSWER], ...), arguments=(value, ...))
    return _model("Act", thought=_THOUGHT, call=(_one_of([*call_models(toolbox, longest), final]), ...))


@lru_cache(maxsize=64)
def fixed_model(action: str) -> type[BaseModel]:
    """A thought and this action."""
    return _model("FixedAct", thought=_THOUGHT, action=(Literal[action], ...))


def json_object(text: str) -> dict[str, Any]:
    """The JSON object that a text is.

    Raises:
        InvalidOutputError: It is none.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidOutputError("the answer is no JSON") from None
    if not isinstance(data, dict):
        raise InvalidOutputError("the answer is no JSON object")
    return data
