"""The JSON that general models write about tools, as pydantic models made from the tools' own schemas."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal, Union

from pydantic import BaseModel, ConfigDict, Field, create_model

from tape.errors import InvalidOutputError
from tape.tools.calls import ANSWER
from tape.tools.tool import Tool, Toolbox

MOST_CALLS = 12
"""Calls in a plan."""

LONGEST_THOUGHT = 300
"""Characters of a thought."""

Placeholder = Annotated[str, Field(pattern=r"^#[1-9][0-9]?$")]
Value = Annotated[float, Field(allow_inf_nan=False)] | str
_STRICT = ConfigDict(extra="forbid")
_THOUGHT = (str, Field(max_length=LONGEST_THOUGHT))


class Reading(BaseModel):
    """What a text says about a question."""

    model_config = _STRICT
    found: bool
    answer: str


class FinalAnswer(BaseModel):
    """The answer to the task."""

    model_config = _STRICT
    answer: Value


def _model(name: str, /, **fields: Any) -> type[BaseModel]:
    return create_model(name, __config__=_STRICT, **fields)


def _or_placeholder(kind: Any) -> Any:
    return kind if kind is str else Union[kind, Placeholder]  # noqa: UP007 - some hints know no |


def _one_of(models: Sequence[type[BaseModel]]) -> Any:
    return reduce(or_, models)


def call_models(toolbox: Toolbox) -> list[type[BaseModel]]:
    """One model a tool: its name as the only value, and its arguments, each of which may be a placeholder."""
    return [_call_model(item) for item in toolbox.all()]


def _call_model(item: Tool) -> type[BaseModel]:
    fields = {
        name: (_or_placeholder(field.annotation), ... if field.is_required() else field.default)
        for name, field in item.arguments.model_fields.items()
    }
    title = item.name.replace(".", "_")
    return _model(
        f"{title}_call", tool=(Literal[item.name], ...), arguments=(_model(f"{title}_arguments", **fields), ...)
    )


def plan_model(toolbox: Toolbox) -> type[BaseModel]:
    """A list of calls and the answer."""
    calls: Any = list[_one_of(call_models(toolbox))]  # type: ignore[misc]
    return _model("Plan", calls=(calls, Field(max_length=MOST_CALLS)), answer=(Value, ...))


def act_model(toolbox: Toolbox) -> type[BaseModel]:
    """A thought and one call, or the answer."""
    final = _model(
        "answer_call", tool=(Literal[ANSWER], ...), arguments=(_model("answer_arguments", value=(Value, ...)), ...)
    )
    return _model("Act", thought=_THOUGHT, call=(_one_of([*call_models(toolbox), final]), ...))


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
