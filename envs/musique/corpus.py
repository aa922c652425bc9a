"""The corpus and the questions that ship with the package; ``make_corpus.py`` describes their content."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import Any, TypeVar

from envs.musique.errors import MusiqueError
from envs.musique.loader import records
from envs.musique.question import MusiqueQuestion
from envs.musique.words import delexicalise
from tape.protocols.search import Passage

T = TypeVar("T")

PARTS = ("dev", "test")
"""``dev`` is for developing agents, ``test`` for comparing them and for nothing else."""

SPLITS = ("trained", "heldout")
"""Whether training text has all wordings of a question and of the passages that answer it."""

HELD_OUT_SHARE = 4


def is_held_out(question: str) -> bool:
    """Whether a question is reserved for evaluation: one in four, by the hash of its words without names.

    Training text has only questions that are not held out and the shipped ones all are, so the two never meet,
    whatever the seeds and the names.
    """
    words = " ".join(delexicalise([question]).tokens[0])
    return int(hashlib.sha256(words.encode()).hexdigest()[:8], 16) % HELD_OUT_SHARE == 0


def load_corpus() -> tuple[Passage, ...]:
    """The shared corpus of the shipped questions."""
    return _read("corpus.jsonl", lambda record: Passage(record["id"], record["title"], record["text"]))


def load_questions(part: str | None = None, split: str | None = None) -> list[MusiqueQuestion]:
    """The shipped questions, all of them answered by :func:`load_corpus`.

    Args:
        part: Only those of this part (:data:`PARTS`).
        split: Only those of this split (:data:`SPLITS`).

    Raises:
        MusiqueError: There is no such part or split.
    """
    for what, given, known in (("part", part, PARTS), ("split", split, SPLITS)):
        if given is not None and given not in known:
            raise MusiqueError(f"the shipped questions have no {what} {given!r}; there is {' and '.join(known)}")
    return [q for q, its_part, its_split in _questions() if part in (None, its_part) and split in (None, its_split)]


@cache
def _questions() -> tuple[tuple[MusiqueQuestion, str, str], ...]:
    def read(record: Mapping[str, Any]) -> tuple[MusiqueQuestion, str, str]:
        hops = tuple((relation, subject) for relation, subject in record["hops"])
        question = MusiqueQuestion(record["id"], record["text"], record["answer"], hops=hops, operations=len(hops))
        return question, record["part"], record["split"]

    return _read("questions.jsonl", read)


def _read(name: str, read: Callable[[Mapping[str, Any]], T]) -> tuple[T, ...]:
    with resources.as_file(resources.files("envs.musique") / "data" / name) as path:
        return tuple(read(fields) for _, fields in records(path))
