"""Sheets as the engine asks them: by the very prompts of HotpotQA's reader and of tools whose results are read."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import lru_cache

from envs.hotpotqa.minds.base import HopTask
from envs.hotpotqa.minds.chat_prompts import find_request
from envs.musique.corpus import load_corpus, load_questions
from envs.musique.environment import MusiqueEnvironment
from envs.musique.retrieval import Corpus
from experiments.training.reader.example import Sheet
from experiments.training.reader.forms import END, turn
from tape.lm.base import Message, Request
from tape.tools.calls import call
from tape.tools.prompts.chat_text import reading_question
from tape.tools.state import ToolState

QUESTION = "\n\nQuestion: "
"""What both prompts write between the paragraphs and the question."""


def find_rows(sheet: Sheet) -> tuple[str, list[tuple[str, str]]]:
    """As HotpotQA's reader asks: the beginning that all questions share, and each question with its answer."""
    begun, asked = "", []
    for one in sheet.asked:
        task = HopTask(one.question, 1, one.question, (), sheet.passages, (), ())
        begun, rest = _split(find_request(task))
        fields = {"quote": one.quote, "answer": one.answer, "title": one.title}
        asked.append((rest, _written(fields)))
    return begun, asked


def tool_rows(rng: random.Random, sheet: Sheet) -> tuple[str, list[tuple[str, str]]]:
    """As a tool's text is read: the paragraphs one after the other, some with their titles before them."""
    text = " ".join(f"{p.title}: {p.text}" if rng.random() < 0.3 else p.text for p in sheet.passages)
    begun, asked = "", []
    for one in sheet.asked:
        messages = (*_shots(), Message("user", reading_question(one.question, text)))
        begun, rest = _split(Request(messages, 1))
        asked.append((rest, _written({"quote": one.quote, "answer": one.answer})))
    return begun, asked


@lru_cache(maxsize=1)
def _shots() -> tuple[Message, ...]:
    """Rules and worked examples of a tool's reading."""
    form = MusiqueEnvironment(load_questions()[0], Corpus(load_corpus())).prompt_format("chat")
    request = form.project_request(ToolState().with_call(call("search", "v5", query="a"), '""', "A text."))
    assert request is not None, "there is a text to read"
    assert not isinstance(request.prompt, str), "general models are asked in turns"
    return tuple(request.prompt[:-1])


def _split(request: Request) -> tuple[str, str]:
    *before, last = _messages(request)
    shown, question, rest = last.content.rpartition(QUESTION)
    begun = "".join(turn(one.role, one.content) for one in before) + f"<|im_start|>{last.role}\n{shown}"
    return begun, f"{question}{rest}{END}\n<|im_start|>assistant\n"


def _messages(request: Request) -> Iterator[Message]:
    assert not isinstance(request.prompt, str), "general models are asked in turns"
    yield from request.prompt


def _written(fields: dict[str, str]) -> str:
    return json.dumps(fields, ensure_ascii=False) + END
