"""Questions about source code (:mod:`envs.repo_qa`), over packages of which none is for evaluation."""

from __future__ import annotations

import random
from functools import cache, lru_cache
from typing import Literal

from envs.repo_qa.index import read_package
from envs.repo_qa.questions import RepoQuestion, questions
from envs.search.index import Index
from envs.search.retrieval import bm25
from experiments.training.search.task import Hop, Task, distinct, keywords
from tape.cgdp.prompts.lexicon import sentences
from tape.protocols.search import UNANSWERABLE, Passage

TRAINED = ("asyncio", "concurrent", "email", "importlib", "json", "logging", "multiprocessing", "tkinter", "unittest")
"""Packages of Python's library that training text is made of."""
PER_KIND = 400


def draw(rng: random.Random) -> list[Task]:
    """Draw a package and questions about it."""
    name = rng.choice(TRAINED)
    known = _questions(name)
    kinds = sorted(known)
    chosen = [rng.choice(known[kind]) for kind in rng.choices(kinds, k=8)]
    return [_task(question, *_corpus(name)) for question in chosen]


@cache
def _corpus(name: str) -> tuple[Index, dict[str, Passage]]:
    passages = read_package(name).passages
    return bm25(passages), {passage.id: passage for passage in passages}


@lru_cache(maxsize=32)
def _questions(name: str) -> dict[str, list[RepoQuestion]]:
    repository = read_package(name)
    parts: tuple[Literal["dev", "test"], ...] = ("dev", "test")
    kinds: dict[str, list[RepoQuestion]] = {}
    for part in parts:
        for seed in range(2):
            for question in questions(repository, seed, part, per_kind=PER_KIND, wordings="trained"):
                kinds.setdefault(question.kind, []).append(question)
    return kinds


def _task(question: RepoQuestion, index: Index, passages: dict[str, Passage]) -> Task:
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
    return Task("code", question.text, tuple(hops), answer, index)


def _evidence(says: str, answer: str, passage: Passage) -> tuple[str, str]:
    """The passage and the line of it that states an answer; or the part of the line with it."""
    parts = [part for part in sentences(passage.text) if part in says] or [
        part for part in sentences(passage.text) if says.strip() in part
    ]
    return passage.id, next((part for part in parts if answer in part), parts[0] if parts else "")
