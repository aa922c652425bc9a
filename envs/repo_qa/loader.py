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
from pathlib import Path

from envs.data_files import DataFileError
from envs.records import JsonRecord, records_of_lines
from envs.repo_qa.asked import PlayedQuestion
from envs.repo_qa.index import Repository
from tape.protocols.search import UNANSWERABLE, is_abstention
from tape.reading import short

MOST_LINES = 2000
"""Most lines that one piece of evidence spans."""

_EVIDENCE = re.compile(r"(.+?):L?([0-9]{1,7})(?:-L?([0-9]{1,7}))?", re.DOTALL)


class LeftOutWarning(UserWarning):
    """Some questions or some of their evidence could not be used with the repository."""


def load(path: Path, repository: Repository) -> list[PlayedQuestion]:
    """Load the questions of a file that are about a repository.

    A :class:`LeftOutWarning` reports how many were left out.

    Raises:
        DataFileError: The file, a line or a field of it is malformed, or no question is about the repository.
    """
    questions: list[PlayedQuestion] = []
    seen: dict[str, int | str] = {}
    others: Counter[str] = Counter()
    outside = 0
    for record in records_of_lines(path):
        about = record.text("repo", "").strip()
        if about and not _is_about(about, repository):
            others[about] += 1
            continue
        question, missed = _question(record, repository)
        if question.id in seen:
            problem = f"{short(question.id)} came before in line {seen[question.id]}; give each question its own id"
            raise record.wrong("id", problem)
        seen[question.id] = record.place
        outside += missed
        questions.append(question)
    if not questions and not others:
        raise DataFileError(str(path), None, "", "has no question; give one JSON object a line")
    if not questions:
        about = f"about {short(repository.name)}; it has {_listed(others)}"
        remedy = "take that repository (a folder goes by its name), or leave the field 'repo' out"
        raise DataFileError(str(path), None, "", f"has no question {about}; {remedy}")
    if others:
        text = f"{path}: {others.total()} questions about other repositories were left out ({_listed(others)})"
        warnings.warn(text, LeftOutWarning, 2)
    if outside:
        text = f"{path}: {outside} lines of evidence stand outside of every class and function: left out"
        warnings.warn(text, LeftOutWarning, 2)
    return questions


def _listed(others: Counter[str]) -> str:
    shown = ", ".join(f"{short(name)} {count}" for name, count in others.most_common(5))
    return f"{shown}, ..." if len(others) > 5 else shown


def _is_about(name: str, repository: Repository) -> bool:
    """Whether a record's ``owner/name`` is the repository, by its last part."""
    own = {repository.name.lower(), repository.root.name.lower()}
    return name.rstrip("/").rpartition("/")[2].removesuffix(".git").lower() in own


def _question(record: JsonRecord, repository: Repository) -> tuple[PlayedQuestion, int]:
    """A question, and how many pieces of its evidence are in no passage."""
    text, answerable = record.question().strip(), record.flag("answerable")
    answers = _answers(record, needed=answerable)
    if len(answers) == 1 and is_abstention(answers[0]):
        answers, answerable = (UNANSWERABLE,), False
    for path in _texts(record, "file", alone=True):
        _check_known(record, path, "file", repository)
    evidence: dict[str, None] = {}
    missed = 0
    for place in _texts(record, "evidence"):
        inside = _passages(record, place, repository)
        evidence.update(dict.fromkeys(inside))
        missed += not inside
    own = record.text("id", "").strip() or f"line-{record.place}"
    return PlayedQuestion(own, text, answers if answerable else (), tuple(evidence), answerable), missed


def _answers(record: JsonRecord, *, needed: bool) -> tuple[str, ...]:
    if isinstance(record.fields.get("answer"), list):
        answers = tuple(_texts(record, "answer"))
        if needed and not answers:
            raise record.wrong("answer", "is an empty list; give a text or some")
        return answers
    text = record.text("answer", None if needed else "").strip()
    return (text,) if text else ()


def _passages(record: JsonRecord, place: str, repository: Repository) -> list[str]:
    """Ids of the passages that a ``path:line`` stands for."""
    read = _EVIDENCE.fullmatch(place)
    if read is None:
        problem = "give path:line or path:first-last, and a path alone in the field 'file'"
        raise record.wrong("evidence", f"has {short(place)}; {problem}")
    path, first, last = read[1], int(read[2]), int(read[3] or read[2])
    _check_known(record, path, "evidence", repository)
    if not 1 <= first <= last < first + MOST_LINES:
        raise record.wrong("evidence", f"has {short(place)}; give lines from 1, in order and at most {MOST_LINES}")
    if last > (length := len(repository.sources[path].lines)):
        problem = f"has {short(place)}, but that file has {length} lines; take the version that the questions are about"
        raise record.wrong("evidence", problem)
    return [definition.id for definition in repository.covering(path, first, last)]


def _check_known(record: JsonRecord, path: str, field: str, repository: Repository) -> None:
    if path not in repository.sources:
        example = short(min(repository.sources))
        problem = f"{short(path)} is no Python file of {short(repository.name)}, where paths are such as {example}"
        raise record.wrong(field, problem)


def _texts(record: JsonRecord, name: str, *, alone: bool = False) -> list[str]:
    """A list of texts, empty where it is left out."""
    value = record.fields.get(name, [])
    if alone and isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(text, str) and text.strip() for text in value):
        raise record.wrong(name, f"is {short(value)}; give a list of texts that are not empty")
    return value
