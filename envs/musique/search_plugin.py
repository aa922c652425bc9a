"""MuSiQue for search agents: the same questions, searched without prices, for the command line and the runner."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from envs.musique.corpus import PARTS, load_corpus, load_questions
from envs.musique.errors import MusiqueError
from envs.musique.evidence import Gold, own_gold, public_gold
from envs.musique.loader import load
from envs.musique.question import MusiqueQuestion
from envs.search.options import Retrieval, add_arguments, gives_gold, read_options, usual_hops
from envs.search.plugin import SearchPlugin
from tape.protocols import Environment, Task
from tape.protocols.search import Passage

OWN, PUBLIC, POOLED = "musique-own-corpus", "musique", "musique-pooled"
"""What is searched, as :meth:`envs.search.options.Retrieval.calibration` knows it."""


@dataclass(frozen=True)
class SearchedQuestion:
    """A question with what is searched for its answer."""

    question: MusiqueQuestion
    passages: tuple[Passage, ...]
    gold: Gold


class MusiqueSearchPlugin(SearchPlugin):
    """MuSiQue's questions, for search agents."""

    name = "musique_search"
    benchmark = "musique"
    """Whose questions these are."""

    def add_arguments(self, parser: Any) -> None:
        """``--data``, ``--pooled`` and ``--questions``, and those of every search."""
        parser.add_argument("--data", type=str, help="a file in the benchmark's public format")
        parser.add_argument(
            "--pooled", action="store_true", help="with --data: search the passages of all its questions together"
        )
        parser.add_argument("--questions", choices=PARTS, help="our own questions (default: dev)")
        add_arguments(parser)

    def tasks(self, options: Mapping[str, Any]) -> list[Task]:
        """One task per question."""
        retrieval = read_options(options)
        data, pooled, given = options.get("data"), bool(options.get("pooled")), gives_gold(options)
        if pooled and not data:
            raise MusiqueError("--pooled searches the passages of all questions of a file; add --data FILE")
        if data and options.get("questions"):
            raise MusiqueError("--questions names our own questions; leave it out beside --data")
        part = options.get("questions") or "dev"
        asked = self.public(Path(data), pooled=pooled) if data else self.own(part)
        if given and not all(each.gold.sub_questions for each in asked):
            raise MusiqueError(f"{data} has no gold sub-questions; leave --sub-questions at none")
        corpus = f"{self.benchmark}{'-pooled' if pooled else ''}" if data else OWN
        name = f"{Path(data).stem}{'-pooled' if pooled else ''}" if data else f"{self.benchmark}-{part}-own-corpus"
        content = [repr(asdict(retrieval)), str(given)]
        return [
            self.task(
                each.question.id,
                name,
                retrieval,
                " ".join([each.question.digest, _corpus_digest(each.passages), repr(each.gold), *content]),
                given=given,
                asked=each,
                corpus=corpus,
                text=each.question.text,
                hops=len(each.gold.evidence),
            )
            for each in asked
        ]

    def own(self, part: str) -> Sequence[SearchedQuestion]:
        """Our own questions of a part."""
        return own(part)

    def hops(self, corpus: str) -> int:
        """How many hops a question over a corpus usually takes."""
        return usual_hops(corpus)

    def public(self, path: Path, *, pooled: bool) -> Sequence[SearchedQuestion]:
        """The questions of a public file; see :func:`asked_of`."""
        return public(path, pooled=pooled)

    def make(self, task: Task) -> Environment:
        """A fresh environment; the runner passes the task's budget."""
        asked: SearchedQuestion = task.facts["asked"]
        retrieval: Retrieval = task.facts["retrieval"]
        return self.environment(
            task,
            retrieval.indexes(asked.passages),
            task.facts["corpus"],
            answers=asked.question.answers,
            evidence=asked.gold.evidence,
            hops=self.hops(task.facts["corpus"]),
            sub_questions=asked.gold.sub_questions,
        )


@lru_cache(maxsize=2)
def own(part: str) -> tuple[SearchedQuestion, ...]:
    """Our own questions of a part, over the shared corpus."""
    passages = load_corpus()
    return tuple(
        SearchedQuestion(question, passages, own_gold(question, passages)) for question in load_questions(part)
    )


def public(path: Path, *, pooled: bool) -> list[SearchedQuestion]:
    """The answerable questions of a file in the public MuSiQue format; see :func:`asked_of`.

    Raises:
        DataFileError: It cannot be read.
    """
    return asked_of(load(path), public_gold(path), pooled=pooled)


def asked_of(
    questions: Sequence[MusiqueQuestion], golds: Mapping[str, Gold], *, pooled: bool
) -> list[SearchedQuestion]:
    """Questions that bring their passages, with what answers them.

    Args:
        questions: The questions.
        golds: What answers each, by its id.
        pooled: Search the passages of all questions, each once, in place of the question's own.
    """
    if not pooled:
        return [SearchedQuestion(question, question.passages or (), golds[question.id]) for question in questions]
    ids: dict[tuple[str, str], str] = {}
    for question in questions:
        for passage in question.passages or ():
            ids.setdefault((passage.title, passage.text), f"p{len(ids) + 1}")
    corpus = tuple(Passage(id_, title, text) for (title, text), id_ in ids.items())
    return [SearchedQuestion(question, corpus, _renamed(golds[question.id], question, ids)) for question in questions]


def _renamed(gold: Gold, question: MusiqueQuestion, ids: Mapping[tuple[str, str], str]) -> Gold:
    names = {passage.id: ids[passage.title, passage.text] for passage in question.passages or ()}
    return Gold(tuple(names[name] for name in gold.evidence), gold.sub_questions)


@lru_cache(maxsize=1)
def _corpus_digest(passages: Sequence[Passage]) -> str:
    return hashlib.sha256(repr(passages).encode()).hexdigest()


PLUGIN = MusiqueSearchPlugin()
