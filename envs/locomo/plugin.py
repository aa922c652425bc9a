"""Conversations for search agents: for the command line and the runner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

from envs.locomo.dialogue import Dialogue, DialogueQuestion
from envs.locomo.errors import LocomoError
from envs.locomo.generator import SIZES, dialogues
from envs.locomo.loader import CATEGORIES, PAPER, load
from envs.search import Index
from envs.search.options import Retrieval, add_arguments, gives_gold, read_options
from envs.search.plugin import SearchPlugin
from tape.protocols import Environment, Task
from tape.reading import short

NOUN = "turn of a conversation"
OWN, PUBLIC = "locomo-own-corpus", "locomo"
"""What is searched, as :meth:`envs.search.options.Retrieval.calibration` knows it."""


class LocomoPlugin(SearchPlugin):
    """Questions about long conversations."""

    name = "locomo"

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
        """One task per question; the conversations take turns."""
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
            self.task(
                f"{talk.name}-{question.id}",
                name,
                retrieval,
                f"{talk.digest} {_identity(question)} {asdict(retrieval)} {given}",
                given=given,
                dialogue=talk,
                question=question,
                corpus=PUBLIC if data else OWN,
                text=question.text,
                kind=question.kind,
                hops=len(question.evidence) if question.answerable else 0,
                split=question.split,
            )
            for talk, question in (pair for turn in rounds for pair in turn if pair is not None)
        ]

    def make(self, task: Task) -> Environment:
        """A fresh environment; the runner passes the task's budget."""
        question: DialogueQuestion = task.facts["question"]
        return self.environment(
            task,
            _indexes(task.facts["dialogue"], task.facts["retrieval"]),
            task.facts["corpus"],
            answers=question.answers,
            evidence=question.evidence if question.answerable else (),
            answerable=question.answerable,
            noun=NOUN,
            sub_questions=question.sub_questions,
        )


def _identity(question: DialogueQuestion) -> str:
    """All of a question, in published results too: classes are called as they were in these."""
    return repr(question).replace("DialogueQuestion(", "Question(").replace("DialogueHop(", "Hop(")


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


PLUGIN = LocomoPlugin()
