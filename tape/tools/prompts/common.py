"""What the prompt formats of tool environments share."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from tape.errors import InvalidOutputError
from tape.lm.base import JsonSchema, Request
from tape.protocols import State
from tape.protocols.prompt_format import PromptFormat, turns
from tape.reading import parsed
from tape.tools.calls import Call
from tape.tools.domain import ToolDomain, as_state
from tape.tools.results import LONGEST_TEXT, cut
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
    """The JSON object that a text is."""
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
        """Read the answer."""


QUOTING = """You read texts. Use only what they state. Copy the sentence that answers the question as the quote,
then give the shortest answer, in words of the quote. If no sentence answers the question, both are empty."""
ASKED = """You read texts. Answer the question from the texts alone, in as few words as possible, with no sentence
around them. If the texts do not say it, answer: unknown"""
QUOTE_TOKENS, ASK_TOKENS = 200, 64


LONGEST_QUOTE, LONGEST_SPAN = 300, 120
"""Characters of a sentence that is copied, and of what it says."""


def _all_required(schema: dict[str, Any]) -> None:
    """A decoder writes every field; who reads an answer forgives one that was left out."""
    schema["required"] = list(schema["properties"])


class QuestionReading(BaseModel):
    """What a text says about a question: first the sentence that says it, then what it says; empty where none does."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=_all_required)
    quote: str = Field(default="", max_length=LONGEST_QUOTE)
    answer: str = Field(max_length=LONGEST_SPAN)


def reading_question(question: str, text: str) -> str:
    """A text and what it is read for; the text comes first, since several questions may share it."""
    return f"Text:\n{text}\n\nQuestion: {question}\n\nWhich sentence answers the question, and what is the answer?"


def read_example(question: str, text: str, quote: str, answer: str) -> tuple[str, str]:
    """A worked example of reading; with an empty quote the text does not say."""
    return reading_question(question, text), json.dumps({"quote": quote, "answer": answer}, ensure_ascii=False)


READ: Sequence[tuple[str, str]] = (
    read_example(
        "builder of the Osprey Bridge",
        "Osprey Bridge: Osprey Bridge crosses the Minch in two spans. The stone for it was cut by Ingrid Lund's men, "
        "who built it in 1931. Heron Bridge: Heron Bridge was built by Paul Sauer.",
        "The stone for it was cut by Ingrid Lund's men, who built it in 1931.",
        "Ingrid Lund's men",
    ),
    read_example("owner of the Osprey Bridge", "Heron Bridge: Heron Bridge is owned by Paul Sauer.", "", ""),
)
"""Worked examples where an environment has none of its own."""


def reading_request(question: str, text: str, examples: Sequence[tuple[str, str]], *, asks: bool) -> Request:
    """Ask for what a text says; where a program asks, for the answer alone, without a quote."""
    shown = cut(text, LONGEST_TEXT)
    if asks:
        prompt = turns(ASKED, (), f"Text:\n{shown}\n\nQuestion: {question}")
        return Request(prompt, ASK_TOKENS, temperature=0.0, role="project")
    prompt = turns(QUOTING, examples, reading_question(question, shown))
    return Request(prompt, QUOTE_TOKENS, constraint=JsonSchema(QuestionReading), role="project")


def read_text(text: str, *, asks: bool) -> str:
    """What the model has found; empty where the text does not say."""
    if not asks:
        return parsed(QuestionReading, text, "no reading").answer.strip()
    said = text.strip()
    return "" if said.rstrip(".").lower() == "unknown" else said
