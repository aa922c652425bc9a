"""Reads public question files about a repository: JSON Lines as of SWE-QA-Pro, one question a line.

Fields: ``question`` and ``answer`` (a text, or a list of spellings); optional ``id``, ``answerable``, ``repo``
(questions about other repositories are left out), ``evidence`` (a list of ``path:line`` or ``path:first-last``) and
``file`` (a path or a list of paths, which must be in the corpus). Others, as ``commit_id`` and ``qa_type``, are passed
over.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envs.data_files import told
from envs.repo_qa.errors import RepoQuestionFileError
from envs.repo_qa.index import Repository
from tape.errors import DataError
from tape.protocols.search import LONGEST_TEXT, UNANSWERABLE, is_abstention
from tape.reading import json_lines, short

MOST_LINES = 2000
"""Most lines that one piece of evidence spans."""

_EVIDENCE = re.compile(r"(.+?):L?([0-9]{1,7})(?:-L?([0-9]{1,7}))?", re.DOTALL)


class LeftOutWarning(UserWarning):
    """Some questions or some of their evidence could not be used with the repository."""


@dataclass(frozen=True)
class PublicQuestion:
    """A question of a file.

    Attributes:
        id: Unique within the file.
        text: As asked.
        answers: The spellings that count; none where there is no answer.
        evidence: Ids of the passages that hold the answer, as far as it is known.
        answerable: False where there is no answer.
    """

    id: str
    text: str
    answers: tuple[str, ...]
    evidence: tuple[str, ...]
    answerable: bool


def load(path: Path, repository: Repository) -> list[PublicQuestion]:
    """Load the questions of a file that are about a repository.

    A :class:`LeftOutWarning` reports how many were left out.

    Raises:
        RepoQuestionFileError: The file, a line or a field of it is not as it should be, or no question is about the
            repository.
    """
    file = str(path)
    found: list[PublicQuestion] = []
    seen: dict[str, int] = {}
    others: Counter[str] = Counter()
    outside = 0
    try:
        for number, record in json_lines(path):
            if not isinstance(record, dict):
                problem = f"is a JSON {type(record).__name__}; give one object a line"
                raise RepoQuestionFileError(file, number, None, problem)
            about = _text(record, "repo", file, number, needed=False)
            if about and not _is_about(about, repository):
                others[about] += 1
                continue
            question, missed = _question(record, file, number, repository)
            if question.id in seen:
                problem = f"{short(question.id)} came before in line {seen[question.id]}; give each question its own id"
                raise RepoQuestionFileError(file, number, "id", problem)
            seen[question.id] = number
            outside += missed
            found.append(question)
    except DataError as error:
        if isinstance(error, RepoQuestionFileError):
            raise
        line, problem = told(error, file)
        raise RepoQuestionFileError(file, line, None, f"{problem}; give one JSON object a line") from None
    if not found and not others:
        raise RepoQuestionFileError(file, None, None, "has no question; give one JSON object a line")
    if not found:
        about = f"about {short(repository.name)}; it has {_listed(others)}"
        remedy = "take that repository (a folder goes by its name), or leave the field 'repo' out"
        raise RepoQuestionFileError(file, None, None, f"has no question {about}; {remedy}")
    if others:
        text = f"{file}: {others.total()} questions about other repositories were left out ({_listed(others)})"
        warnings.warn(text, LeftOutWarning, 2)
    if outside:
        text = f"{file}: {outside} lines of evidence stand outside of every class and function: left out"
        warnings.warn(text, LeftOutWarning, 2)
    return found


def _listed(others: Counter[str]) -> str:
    shown = ", ".join(f"{short(name)} {count}" for name, count in others.most_common(5))
    return f"{shown}, ..." if len(others) > 5 else shown


def _is_about(name: str, repository: Repository) -> bool:
    """Whether a record's ``owner/name`` is the repository, by its last part."""
    own = {repository.name.lower(), repository.root.name.lower()}
    return name.rstrip("/").rpartition("/")[2].removesuffix(".git").lower() in own


def _question(record: Mapping[str, Any], file: str, line: int, repository: Repository) -> tuple[PublicQuestion, int]:
    """A question, and how many pieces of its evidence are in no passage."""
    text = _text(record, "question", file, line)
    if len(text) > LONGEST_TEXT:
        raise RepoQuestionFileError(file, line, "question", f"has {len(text)} characters; give at most {LONGEST_TEXT}")
    answerable = record.get("answerable", True)
    if not isinstance(answerable, bool):
        problem = f"is {short(answerable)}; give true or false, or leave it out"
        raise RepoQuestionFileError(file, line, "answerable", problem)
    answers = _answers(record, file, line, needed=answerable)
    if len(answers) == 1 and is_abstention(answers[0]):
        answers, answerable = (UNANSWERABLE,), False
    for path in _list(record, "file", file, line, one=True):
        _check_known(path, "file", file, line, repository)
    evidence: dict[str, None] = {}
    missed = 0
    for place in _list(record, "evidence", file, line):
        inside = _passages(place, file, line, repository)
        evidence.update(dict.fromkeys(inside))
        missed += not inside
    own = _text(record, "id", file, line, needed=False) or f"line-{line}"
    return PublicQuestion(own, text, answers if answerable else (), tuple(evidence), answerable), missed


def _answers(record: Mapping[str, Any], file: str, line: int, *, needed: bool) -> tuple[str, ...]:
    if isinstance(record.get("answer"), list):
        answers = tuple(_list(record, "answer", file, line))
        if needed and not answers:
            raise RepoQuestionFileError(file, line, "answer", "is an empty list; give a text or some")
        return answers
    text = _text(record, "answer", file, line, needed=needed)
    return (text,) if text else ()


def _passages(place: str, file: str, line: int, repository: Repository) -> list[str]:
    """Ids of the passages that a ``path:line`` stands for."""
    read = _EVIDENCE.fullmatch(place)
    if read is None:
        problem = f"has {short(place)}; give path:line or path:first-last, and a path alone in the field 'file'"
        raise RepoQuestionFileError(file, line, "evidence", problem)
    path, first, last = read[1], int(read[2]), int(read[3] or read[2])
    _check_known(path, "evidence", file, line, repository)
    if not 1 <= first <= last < first + MOST_LINES:
        problem = f"has {short(place)}; give lines from 1, in order and at most {MOST_LINES}"
        raise RepoQuestionFileError(file, line, "evidence", problem)
    if last > (length := len(repository.sources[path].lines)):
        problem = f"has {short(place)}, but that file has {length} lines; take the version that the questions are about"
        raise RepoQuestionFileError(file, line, "evidence", problem)
    return [one.id for one in repository.covering(path, first, last)]


def _check_known(path: str, field: str, file: str, line: int, repository: Repository) -> None:
    if path not in repository.sources:
        example = short(min(repository.sources))
        problem = f"{short(path)} is no Python file of {short(repository.name)}, where paths are such as {example}"
        raise RepoQuestionFileError(file, line, field, problem)


def _list(record: Mapping[str, Any], name: str, file: str, line: int, *, one: bool = False) -> list[str]:
    """A list of texts, empty where it is left out."""
    value = record.get(name, [])
    if one and isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(text, str) and text.strip() for text in value):
        raise RepoQuestionFileError(file, line, name, f"is {short(value)}; give a list of texts that are not empty")
    return value


def _text(record: Mapping[str, Any], name: str, file: str, line: int, *, needed: bool = True) -> str:
    """A text that is not empty; empty where it is left out and not needed."""
    value = record.get(name)
    if value is None and not needed:
        return ""
    if not isinstance(value, str) or not value.strip():
        what = "is missing" if name not in record else f"is {short(value)}"
        raise RepoQuestionFileError(file, line, name, f"{what}; give a text that is not empty")
    return value.strip()
