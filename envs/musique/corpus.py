"""The corpus and the questions that ship with the package.

One world of invented entities with a passage for each, and 40 questions each of 2, 3 and 4 hops.
``envs.musique.make_corpus`` of commit ``f087f432`` made them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import Any, TypeVar

from envs.musique.errors import MusiqueError
from envs.musique.loader import records
from envs.musique.question import MusiqueQuestion
from tape.protocols.search import Passage

T = TypeVar("T")

PARTS = ("dev", "test")
"""``dev`` is for developing agents, ``test`` for comparing them and for nothing else."""


def load_corpus() -> tuple[Passage, ...]:
    """The shared corpus of the shipped questions."""
    return _read("corpus.jsonl", lambda record: Passage(record["id"], record["title"], record["text"]))


def load_questions(part: str | None = None) -> list[MusiqueQuestion]:
    """The shipped questions of a part, or all; :func:`load_corpus` answers them.

    Raises:
        MusiqueError: There is no such part.
    """
    if part is not None and part not in PARTS:
        raise MusiqueError(f"the shipped questions have no part {part!r}; there is {' and '.join(PARTS)}")
    return [question for question, its_part in _questions() if part in (None, its_part)]


@cache
def _questions() -> tuple[tuple[MusiqueQuestion, str], ...]:
    def read(record: Mapping[str, Any]) -> tuple[MusiqueQuestion, str]:
        hops = tuple((relation, subject) for relation, subject in record["hops"])
        question = MusiqueQuestion(record["id"], record["text"], record["answer"], hops=hops, operations=len(hops))
        return question, record["part"]

    return _read("questions.jsonl", read)


def _read(name: str, read: Callable[[Mapping[str, Any]], T]) -> tuple[T, ...]:
    with resources.as_file(resources.files("envs.musique") / "data" / name) as path:
        return tuple(read(fields) for _, fields in records(path))
