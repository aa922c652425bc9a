"""Conversations for search agents: for the command line and the runner."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from types import MappingProxyType
from typing import Any

from envs.locomo.dialogue import Dialogue, Question
from envs.locomo.errors import LocomoError
from envs.locomo.generator import SIZES, dialogues
from envs.locomo.loader import CATEGORIES, PAPER, load
from envs.search import Index, SearchEnvironment
from envs.search.options import Retrieval, add_arguments, gives_gold, level_set, read_options, usual_hops
from tape.budget import Budget
from tape.protocols import Environment, EnvironmentPlugin, Task
from tape.reading import short

STEPS = 30
"""Searches and the answer: an episode has to end. The same for all questions, so that it says nothing of their hops."""
NOUN = "turn of a conversation"
OWN, PUBLIC = "locomo-own-corpus", "locomo"
"""What is searched, as :meth:`envs.search.options.Retrieval.calibration` knows it."""


class LocomoPlugin(EnvironmentPlugin):
    """Questions about long conversations."""

    name = "locomo"
    prompt_version: Mapping[str, str] = MappingProxyType({"chat": "1", "search": "1"})
    model = "bundled:search"
    agent = "cgdp"
    reads = False
    replayable = True

    def add_arguments(self, parser: Any) -> None:
        """``--data``, ``--categories`` and ``--part``, and those of every search."""
        parser.add_argument("--data", type=str, help="a JSON file in LoCoMo's public format")
        parser.add_argument(
            "--categories",
            help=f"with --data: which questions, of {', '.join(map(str, CATEGORIES))} "
            f"(default: {','.join(map(str, PAPER))}, those of the paper: one turn answers, nobody said so)",
        )
        parser.add_argument("--part", choices=tuple(SIZES), help="our own conversations (default: dev)")
        add_arguments(parser)

    def tasks(self, options: Mapping[str, Any]) -> list[Task]:
        """One task per question; the conversations take turns.

        Raises:
            LocomoError: The options contradict each other, or the file cannot be read.
            SearchError: An option of the search is malformed.
        """
        retrieval = read_options(options)
        data, given = options.get("data"), gives_gold(options)
        if data:
            if options.get("part"):
                raise LocomoError("--part names our own conversations; leave it out beside --data")
            if given:
                raise LocomoError("--sub-questions gold: a public file has none; leave it out beside --data")
            categories = read_categories(options.get("categories"))
            talks: Sequence[Dialogue] = load(Path(data), categories)
            name = Path(data).stem + ("" if categories == PAPER else f"-categories-{'-'.join(map(str, categories))}")
        else:
            if options.get("categories"):
                raise LocomoError("--categories are those of a public file; add --data FILE")
            part = options.get("part") or "dev"
            talks, name = dialogues(part), f"locomo-{part}-own-corpus"
        rounds = zip_longest(*([(talk, question) for question in talk.questions] for talk in talks))
        return [
            Task(
                id=f"{talk.name}-{question.id}",
                level_set=level_set(name, retrieval, given=given),
                budget=Budget({"steps": STEPS}),
                digest=_digest(talk, question, retrieval, given),
                facts={
                    "dialogue": talk,
                    "question": question,
                    "retrieval": retrieval,
                    "corpus": PUBLIC if data else OWN,
                    "given": given,
                    "text": question.text,
                    "kind": question.kind,
                    "hops": len(question.evidence) if question.answerable else 0,
                    "split": question.split,
                },
            )
            for talk, question in (pair for turn in rounds for pair in turn if pair is not None)
        ]

    def make(self, task: Task) -> Environment:
        """A fresh environment; the runner passes the task's budget."""
        question: Question = task.facts["question"]
        retrieval: Retrieval = task.facts["retrieval"]
        return SearchEnvironment(
            question.text,
            _indexes(task.facts["dialogue"], retrieval),
            answers=question.answers,
            evidence=question.evidence if question.answerable else (),
            answerable=question.answerable,
            depths=retrieval.depths,
            calibration=retrieval.calibration(task.facts["corpus"]),
            hops=usual_hops(task.facts["corpus"]),
            noun=NOUN,
            sub_questions=question.sub_questions if task.facts["given"] else (),
            budget=task.budget,
        )


def read_categories(text: str | None) -> tuple[int, ...]:
    """Read ``--categories``, numbers separated by commas; :data:`PAPER` where there is nothing to read.

    Raises:
        LocomoError: It is malformed.
    """
    if text is None:
        return PAPER
    known = {str(number): number for number in CATEGORIES}
    parts = [part.strip() for part in text.split(",")]
    if not set(parts) <= set(known) or len(set(parts)) < len(parts):
        raise LocomoError(f"--categories are numbers such as 4,5, each once of {', '.join(known)}; got {short(text)}")
    return tuple(sorted(known[part] for part in parts))


@lru_cache(maxsize=16)
def _indexes(dialogue: Dialogue, retrieval: Retrieval) -> tuple[Index, ...]:
    """The indexes of a conversation, which all its questions share."""
    return retrieval.indexes(dialogue.passages)


def _digest(dialogue: Dialogue, question: Question, retrieval: Retrieval, given: bool) -> str:
    told = f"{dialogue.digest} {question} {asdict(retrieval)} {given}"
    return hashlib.sha256(told.encode()).hexdigest()[:16]


PLUGIN = LocomoPlugin()
