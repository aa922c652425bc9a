"""What the prompt formats of tool environments share."""

from __future__ import annotations

import json
from abc import abstractmethod
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from tape.errors import InvalidOutputError
from tape.lm.base import Request
from tape.protocols import State
from tape.protocols.prompt_format import PromptFormat
from tape.tools.calls import Call
from tape.tools.domain import ToolDomain, as_state
from tape.tools.state import ToolState

JUDGED_WRONG = 0.1
"""The value of an answer that the model judges wrong, relative to one judged right.

Judgements err, and of answers that are all judged wrong the one by better tools is still the better one.
"""

UNREAD = (
    "A bundled model reads only the tasks that it was trained on. Tools need a general model, such as openai:NAME, or "
    "plans that are scripted, by tape.lm.scripted.ScriptedLM"
)
"""What to do about a model that reads none of an environment's formats."""


LONGEST_THOUGHT = 300
"""Characters of a thought."""


@lru_cache(maxsize=64)
def fixed_model(action: str) -> type[BaseModel]:
    """A thought and this action."""
    fields: dict[str, Any] = {
        "thought": (str, Field(max_length=LONGEST_THOUGHT)),
        "action": (Literal[action], ...),
    }
    return create_model("FixedAct", __config__=ConfigDict(extra="forbid"), **fields)


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


class ToolFormat(PromptFormat):
    """What all have alike, for models that predict nothing: tools declare what they lead to."""

    def __init__(self, domain: ToolDomain) -> None:
        self._domain = domain

    def unread(self, state: State) -> ToolState:
        """What cannot be read was not found."""
        return as_state(state).read(None)

    @abstractmethod
    def answer_request(self, state: ToolState) -> Request:
        """Ask for the answer with what has been obtained."""

    @abstractmethod
    def longest_answer_request(self) -> Request:
        """A request as long as any that :meth:`answer_request` may make."""

    @abstractmethod
    def read_answer(self, state: ToolState, text: str) -> Call:
        """Read the answer.

        Raises:
            InvalidOutputError: It cannot be read.
        """
