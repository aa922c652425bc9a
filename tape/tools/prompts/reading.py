"""How a model is asked to read: a result of a tool whose results are read, or what a program asks of results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tape.lm.base import JsonSchema, Request
from tape.protocols.prompt_format import turns
from tape.reading import parsed
from tape.tools.results import LONGEST_TEXT, cut

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
    """Ask for what a text says.

    Args:
        question: What it is read for.
        text: The text.
        examples: Worked examples with quotes.
        asks: A program asks: the answer alone is wanted, without a quote.
    """
    shown = cut(text, LONGEST_TEXT)
    if asks:
        prompt = turns(ASKED, (), f"Text:\n{shown}\n\nQuestion: {question}")
        return Request(prompt, ASK_TOKENS, temperature=0.0, role="project")
    prompt = turns(QUOTING, examples, reading_question(question, shown))
    return Request(prompt, QUOTE_TOKENS, constraint=JsonSchema(QuestionReading), role="project")


def read_text(text: str, *, asks: bool) -> str:
    """What the model has found; empty where the text does not say.

    Raises:
        InvalidOutputError: It cannot be read.
    """
    if not asks:
        return parsed(QuestionReading, text, "no reading").answer.strip()
    said = text.strip()
    return "" if said.rstrip(".").lower() == "unknown" else said
