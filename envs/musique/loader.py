"""Reads questions in the public MuSiQue format: one JSON object a line, each with its own paragraphs."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from envs.data_files import DataFileError, JsonRecord, records_of_lines
from envs.musique.question import MusiqueQuestion
from tape.protocols.search import Passage
from tape.reading import short


class UnanswerableWarning(UserWarning):
    """Some questions of a file have no answer in their paragraphs and were left out."""


def load(path: str | PathLike[str]) -> list[MusiqueQuestion]:
    """Load the answerable questions of a file; each brings its paragraphs as its own corpus.

    An :class:`UnanswerableWarning` reports how many unanswerable questions were left out.

    Raises:
        DataFileError: The file, a line or a field of it is malformed.
    """
    questions: dict[str, MusiqueQuestion] = {}
    skipped = 0
    for record in records_of_lines(Path(path)):
        if not record.flag("answerable"):
            skipped += 1
            continue
        question = _question(record)
        if question.id in questions:
            raise record.wrong("id", f"{short(question.id)} came before; give each question its own id")
        questions[question.id] = question
    if not questions:
        raise DataFileError(str(path), None, "", f"has no answerable question ({skipped} unanswerable)")
    if skipped:
        total = skipped + len(questions)
        warnings.warn(f"{path}: {skipped} of {total} questions are unanswerable: left out", UnanswerableWarning, 2)
    return list(questions.values())


def records(path: Path) -> Iterator[tuple[int | str, Mapping[str, Any]]]:
    """The fields of the JSON objects of a file, each with the number of its line; see :mod:`envs.data_files`."""
    return ((record.place, record.fields) for record in records_of_lines(path))


def _question(record: JsonRecord) -> MusiqueQuestion:
    aliases = record.items("answer_aliases")
    if wrong := [alias for alias in aliases if not isinstance(alias, str) or not alias.strip()]:
        problem = f"holds {short(wrong[0])}; give texts that are not empty, or leave it out"
        raise record.wrong("answer_aliases", problem)
    paragraphs = record.items("paragraphs")
    if not paragraphs:
        raise record.wrong("paragraphs", "is missing or empty; give the paragraphs to search")
    passages = tuple(_passage(record, paragraph, number) for number, paragraph in enumerate(paragraphs))
    if len({passage.id for passage in passages}) < len(passages):
        raise record.wrong("paragraphs", "has an idx twice; number the paragraphs")
    if not any(re.search(r"\w", f"{item.title} {item.text}") for item in passages):
        raise record.wrong("paragraphs", "has no word in it; give paragraphs that can be searched")
    return MusiqueQuestion(
        id=record.text("id"),
        text=record.question(),
        answer=record.text("answer"),
        aliases=tuple(aliases),
        passages=passages,
        operations=len(record.items("question_decomposition")) or 2,
    )


def _passage(record: JsonRecord, value: object, number: int) -> Passage:
    within, remedy = f"paragraphs[{number}].", "give idx, title and paragraph_text"
    paragraph = JsonRecord.of(value, record.file, record.place, remedy, within)
    index = paragraph.fields.get("idx", number)
    if isinstance(index, bool) or not isinstance(index, int | str) or index == "":
        raise paragraph.wrong("idx", f"is {short(index)}; give a number")
    return Passage(str(index), paragraph.text("title"), paragraph.text("paragraph_text"))
