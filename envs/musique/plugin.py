"""MuSiQue for the command line and the runner."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from envs.musique.corpus import PARTS, load_corpus, load_questions
from envs.musique.environment import READERS, MusiqueEnvironment
from envs.musique.errors import MusiqueError
from envs.musique.loader import load
from envs.musique.question import MusiqueQuestion
from envs.musique.retrieval import TIGHTNESSES, Corpus, budget
from tape.budget import Budget
from tape.protocols import Environment, EnvironmentPlugin, Task
from tape.protocols.search import Passage


class MusiquePlugin(EnvironmentPlugin):
    """MuSiQue's questions, answered with tools."""

    name = "musique"
    prompt_version: Mapping[str, str] = MappingProxyType({"chat": "4"})
    roles = ("plan", "act", "project", "score", "answer")
    cases = "envs.musique.role_cases"
    model = "smollm2"
    built_on = ("tape.tools",)
    reads = True
    replayable = True

    def add_arguments(self, parser: Any) -> None:
        """``--data``, ``--questions``, ``--reader`` and ``--tightness``."""
        parser.add_argument("--data", type=str, help="a JSON Lines file in the public MuSiQue format")
        parser.add_argument("--questions", choices=PARTS, default="dev", help="our own questions (default: dev)")
        parser.add_argument(
            "--reader",
            choices=READERS,
            default="lm",
            help="ask: programs say what is read; scripted: no model reads, own questions only (default: lm)",
        )
        parser.add_argument(
            "--tightness",
            choices=(*TIGHTNESSES, "none"),
            default="none",
            help="a budget made from each question's number of hops, beside --budget (default: none)",
        )

    def tasks(self, options: Mapping[str, Any]) -> list[Task]:
        """One task per question."""
        data, tightness, reader = options.get("data"), options["tightness"], options.get("reader", "lm")
        if data and reader == "scripted":
            raise MusiqueError("the scripted reader knows the wordings of our own passages alone; leave --reader at lm")
        questions = load(Path(data)) if data else load_questions(options["questions"])
        name = Path(data).stem if data else f"musique-{options['questions']}"
        name += "" if reader == "lm" else f"-{reader}-reader"
        return [
            Task(
                id=question.id,
                level_set=name if tightness == "none" else f"{name}-{tightness}",
                budget=self._budget(question, tightness),
                digest=_digest(question, reader),
                facts={"question": question, "reader": reader, "text": question.text},
            )
            for question in questions
        ]

    @staticmethod
    def _budget(question: MusiqueQuestion, tightness: str) -> Budget:
        if tightness == "none":  # an episode needs an end
            return Budget({"steps": 4 * question.operations + 3})
        return budget(question.operations, tightness)

    def make(self, task: Task) -> Environment:
        """A fresh environment; the runner passes the task's budget."""
        question: MusiqueQuestion = task.facts["question"]
        return MusiqueEnvironment(question, _corpus(question.passages), reader=task.facts["reader"])


def _digest(question: MusiqueQuestion, reader: str) -> str:
    """Identifies a question with what is searched for its answer, and how."""
    shared = "" if question.passages is not None else repr(load_corpus())
    return hashlib.sha256(f"{question.digest} {shared} {reader}".encode()).hexdigest()[:16]


@lru_cache(maxsize=4)
def _corpus(passages: tuple[Passage, ...] | None) -> Corpus:
    """The shared corpus, or a question's own, indexed once."""
    return Corpus(load_corpus() if passages is None else passages)


PLUGIN = MusiquePlugin()
