"""Reads questions in the public MuSiQue format: one JSON object a line, each with its own paragraphs."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from envs.data_files import told
from envs.musique.errors import QuestionFileError
from envs.musique.question import Question
from tape.errors import DataError
from tape.protocols.search import LONGEST_TEXT, Passage
from tape.reading import json_lines, short


class UnanswerableWarning(UserWarning):
    """Some questions of a file have no answer in their paragraphs and were left out."""


def load(path: str | PathLike[str]) -> list[Question]:
    """Load the answerable questions of a file; each brings its paragraphs as its own corpus.

    How many unanswerable questions were left out is said by an :class:`UnanswerableWarning`.

    Raises:
        QuestionFileError: The file, a line or a field of it is not as it should be.
    """
    file = str(path)
    questions: list[Question] = []
    skipped = 0
    ids: set[str] = set()
    for number, record in records(Path(path)):
        if not _flag(record.get("answerable", True), file, number):
            skipped += 1
            continue
        question = _question(record, file, number)
        if question.id in ids:
            raise QuestionFileError(
                file, number, "id", f"{short(question.id)} came before; give each question its own id"
            )
        ids.add(question.id)
        questions.append(question)
    if not questions:
        raise QuestionFileError(file, None, None, f"has no answerable question ({skipped} unanswerable)")
    if skipped:
        total = skipped + len(questions)
        warnings.warn(f"{file}: {skipped} of {total} questions are unanswerable: left out", UnanswerableWarning, 2)
    return questions


def records(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The JSON objects of a file, one a line, each with the number of its line.

    Raises:
        QuestionFileError: It cannot be read, or a line is no JSON object.
    """
    file = str(path)
    try:
        for number, record in json_lines(path):
            if not isinstance(record, dict):
                raise QuestionFileError(
                    file, number, None, f"is a JSON {type(record).__name__}; give one object a line"
                )
            yield number, record
    except DataError as error:
        line, problem = told(error, file)
        raise QuestionFileError(file, line, None, f"{problem}; give one JSON object a line") from None


def text_field(record: Mapping[str, Any], name: str, file: str, line: int, where: str = "") -> str:
    """A field that must hold some text.

    Raises:
        QuestionFileError: It is missing, empty or of another type.
    """
    value = record.get(name)
    if not isinstance(value, str) or not value.strip():
        what = "is missing" if name not in record else f"is {short(value)}"
        raise QuestionFileError(file, line, where + name, f"{what}; give a text that is not empty")
    return value


def question_field(record: Mapping[str, Any], file: str, line: int) -> str:
    """The question, a text of bounded length.

    Raises:
        QuestionFileError: It is missing, empty, too long or of another type.
    """
    text = text_field(record, "question", file, line)
    if len(text) > LONGEST_TEXT:
        raise QuestionFileError(file, line, "question", f"has {len(text)} characters; give at most {LONGEST_TEXT}")
    return text


def _flag(value: object, file: str, line: int) -> bool:
    if not isinstance(value, bool):
        raise QuestionFileError(file, line, "answerable", f"is {short(value)}; give true or false, or leave it out")
    return value


def _list(record: Mapping[str, Any], name: str, file: str, line: int) -> list[Any]:
    value = record.get(name, [])
    if not isinstance(value, list):
        raise QuestionFileError(file, line, name, f"is a {type(value).__name__}; give a list")
    return value


def _question(record: Mapping[str, Any], file: str, line: int) -> Question:
    aliases = _list(record, "answer_aliases", file, line)
    if wrong := [alias for alias in aliases if not isinstance(alias, str) or not alias.strip()]:
        problem = f"holds {short(wrong[0])}; give texts that are not empty, or leave it out"
        raise QuestionFileError(file, line, "answer_aliases", problem)
    paragraphs = _list(record, "paragraphs", file, line)
    if not paragraphs:
        raise QuestionFileError(file, line, "paragraphs", "is missing or empty; give the paragraphs to search")
    passages = tuple(_passage(paragraph, i, file, line) for i, paragraph in enumerate(paragraphs))
    if len({passage.id for passage in passages}) < len(passages):
        raise QuestionFileError(file, line, "paragraphs", "has an idx twice; number the paragraphs")
    if not any(re.search(r"\w", f"{one.title} {one.text}") for one in passages):
        raise QuestionFileError(file, line, "paragraphs", "has no word in it; give paragraphs that can be searched")
    return Question(
        id=text_field(record, "id", file, line),
        text=question_field(record, file, line),
        answer=text_field(record, "answer", file, line),
        aliases=tuple(aliases),
        passages=passages,
        operations=len(_list(record, "question_decomposition", file, line)) or 2,
    )


def _passage(paragraph: object, number: int, file: str, line: int) -> Passage:
    where = f"paragraphs[{number}]"
    if not isinstance(paragraph, dict):
        raise QuestionFileError(file, line, where, "is no object; give idx, title and paragraph_text")
    index = paragraph.get("idx", number)
    if isinstance(index, bool) or not isinstance(index, int | str) or index == "":
        raise QuestionFileError(file, line, f"{where}.idx", f"is {short(index)}; give a number")
    title = text_field(paragraph, "title", file, line, f"{where}.")
    return Passage(str(index), title, text_field(paragraph, "paragraph_text", file, line, f"{where}."))
