"""Questions about source code (:mod:`envs.repo_qa`), over packages of which none is for evaluation."""

from __future__ import annotations

import random
from functools import cache, lru_cache

from envs.repo_qa.index import read_package
from envs.repo_qa.questions import RepoQuestion, questions
from envs.search.index import Index
from envs.search.retrieval import bm25
from experiments.training.search.task import Hop, Task, distinct, keywords
from tape.cgdp.prompts.lexicon import sentences
from tape.protocols.search import UNANSWERABLE, Passage

TRAINED = ("asyncio", "concurrent", "email", "importlib", "json", "logging", "multiprocessing", "tkinter", "unittest")
"""Packages of Python's library that training text is made of."""
HELD_OUT = ("http", "xml", "urllib", "networkx")
"""Packages that are never trained on."""
PER_KIND = 400


def draw(rng: random.Random, held_out: bool = False) -> list[Task]:
    """Draw a package and questions about it.

    Args:
        rng: Source of randomness.
        held_out: Packages and wordings that training never has: for evaluation.
    """
    name = rng.choice(HELD_OUT if held_out else TRAINED)
    known = _questions(name, held_out)
    kinds = sorted(known)
    chosen = [rng.choice(known[kind]) for kind in rng.choices(kinds, k=8)]
    return [_task(rng, question, *_corpus(name)) for question in chosen]


@cache
def _corpus(name: str) -> tuple[Index, dict[str, Passage]]:
    passages = read_package(name).passages
    return bm25(passages), {passage.id: passage for passage in passages}


@lru_cache(maxsize=32)
def _questions(name: str, held_out: bool) -> dict[str, list[RepoQuestion]]:
    repository = read_package(name)
    if held_out:
        found = questions(repository, 1, "dev", per_kind=PER_KIND, wordings="all")
    else:
        found = [
            one
            for part in ("dev", "test")
            for seed in range(2)
            for one in questions(
                repository, seed, "dev" if part == "dev" else "test", per_kind=PER_KIND, wordings="trained"
            )
        ]
    kinds: dict[str, list[RepoQuestion]] = {}
    for question in found:
        kinds.setdefault(question.kind, []).append(question)
    return kinds


def _task(rng: random.Random, question: RepoQuestion, index: Index, passages: dict[str, Passage]) -> Task:
    hops: list[Hop] = []
    for number, hop in enumerate(question.hops):
        there = hop.answer != UNANSWERABLE
        evidence = (
            frozenset([_evidence(hop.evidence.quote, hop.answer, passages[hop.evidence.passage])])
            if there
            else frozenset()
        )
        first = hop.subject.split(".")
        queries = (
            keywords(hop.question),
            hop.subject,
            f"{'class' if first[-1][:1].isupper() else 'def'} {hop.subject}",
        )
        hops.append(Hop(hop.question, distinct(queries), hop.answer, evidence, (number - 1,) if number else ()))
    answer = question.answers[0] if question.answerable else UNANSWERABLE
    del rng
    return Task("code", question.text, tuple(hops), answer, index)


def _evidence(says: str, answer: str, passage: Passage) -> tuple[str, str]:
    """The passage and the line of it that states an answer; or the part of the line with it."""
    parts = [part for part in sentences(passage.text) if part in says] or [
        part for part in sentences(passage.text) if says.strip() in part
    ]
    return passage.id, next((part for part in parts if answer in part), parts[0] if parts else "")
