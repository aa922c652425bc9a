"""A judge's verdicts as one more column, ``--judge MODEL``: never the headline.

The paper's score is a judge's. An audit of LoCoMo's key found a judge that accepts most vague wrong answers, so the
headline here is what can be computed; the judge stands beside it, under its own name.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from experiments.harness.matrix import plugin_of, tasks_of
from experiments.harness.measured import Measured, Record
from experiments.studies.cgdp.tables import JUDGED, options_of
from tape.cgdp.events import StoppedEvent
from tape.errors import RunDirectoryError
from tape.files import replace_file
from tape.lm.base import Choice, LanguageModel, Message, Request
from tape.lm.registry import open_model
from tape.protocols.search import UNANSWERABLE
from tape.reading import read_json
from tape.trace import read_trace

FILE = "judged.json"
"""In the run directory: verdicts by judge and episode, so that a report that is made again asks nobody anew."""
RIGHT, WRONG = "RIGHT", "WRONG"
BATCH = 16
_RULES = (
    "You mark answers to questions. You are shown a question, the answers that count, and the answer that was given. "
    f"Say {RIGHT} where the given answer says the same as one of those that count, whatever its wording; say {WRONG} "
    "where it says something else, leaves out what was asked for, or is too vague to be told from a wrong one. Where "
    f"{UNANSWERABLE} counts, only an answer that says that there is none is {RIGHT}."
)


def argument(parser: argparse.ArgumentParser) -> None:
    """``--judge MODEL``."""
    parser.add_argument(
        "--judge", metavar="MODEL", help="have every answer marked by this model, in a column of its own"
    )


def judge(args: argparse.Namespace, measured: Measured) -> None:
    """Ask the judge of the command line, if there is one, once all is played, about what it has not marked yet."""
    if args.judge is not None and not measured.missing():
        ask(open_model(args.judge), args.judge, measured)


def ask(model: LanguageModel, name: str, measured: Measured) -> None:
    """Have every episode marked.

    Args:
        model: The judge.
        name: What it is called.
        measured: The run; its episodes get a note each, and its directory the verdicts.
    """
    file = measured.directory.path / FILE
    held = read_json(file, dict[str, dict[str, bool]], error=RunDirectoryError) if file.exists() else {}
    verdicts = held.setdefault(name, {})
    records = [record for found in measured.records.values() for record in found]
    asked = {record["key"]: _asked(measured, record) for record in records if record["key"] not in verdicts}
    verdicts |= {key: False for key, one in asked.items() if one is None}
    left = [(key, one) for key, one in asked.items() if one is not None]
    for start in range(0, len(left), BATCH):
        batch = left[start : start + BATCH]
        marked = asyncio.run(model.generate([request(*one) for _, one in batch]))
        for (key, _), said in zip(batch, marked, strict=True):
            verdicts[key] = said.texts[0].strip() == RIGHT
        replace_file(file, json.dumps(held, indent=1, sort_keys=True) + "\n")
    for record in records:
        key = record["key"]
        measured.note(record, JUDGED + name, lambda key=key: verdicts[key])


def request(question: str, gold: Sequence[str], answer: str) -> Request:
    """What the judge is asked.

    Args:
        question: The question.
        gold: Answers that count.
        answer: What the agent said; empty where it said nothing.
    """
    shown = f"Question: {question}\nCounts: {' | '.join(gold)}\nGiven: {' '.join(answer.split()) or UNANSWERABLE}"
    messages = (Message("system", _RULES), Message("user", shown))
    return Request(messages, max_tokens=8, constraint=Choice((RIGHT, WRONG)), role="judge")


def _asked(measured: Measured, record: Record) -> tuple[str, Sequence[str], str] | None:
    """Question, answers that count, and the one that was given; None of an episode that came to no end of its own."""
    spec = measured.specs[record["cell"]]
    question = _questions(spec.environment, tuple(sorted(options_of(spec).items())))[record["digest"]]
    for event in read_trace(measured.directory.trace_file(record["key"])):
        if isinstance(event, StoppedEvent):
            return question, event.gold_answers, event.answer
    return None


@lru_cache(maxsize=32)
def _questions(environment: str, own: tuple[tuple[str, Any], ...]) -> Mapping[str, str]:
    """Questions by digest of their task."""
    found = {}
    for task in tasks_of(environment, dict(own)):
        domain = plugin_of(environment).make(task).domain
        assert domain.search_task is not None
        found[task.digest] = domain.question
    return found
