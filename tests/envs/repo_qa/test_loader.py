"""Public question files are read strictly: errors name file, line, field and remedy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from envs.data_files import DataFileError
from envs.repo_qa import Repository, read_repo
from envs.repo_qa.asked import PlayedQuestion
from envs.repo_qa.loader import LeftOutWarning, load
from tests.envs.repo_qa.helpers import write_shop

PLAIN = {"question": "Who raises PriceError?", "answer": "discount"}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return read_repo(write_shop(tmp_path / "store"))


def read(repository: Repository, *records: object) -> list[PlayedQuestion]:
    path = repository.root.parent / "q.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return load(path, repository)


def test_the_fields_of_public_files_are_read(repository: Repository) -> None:
    public = {"id": "a1", "repo": "acme/store", "commit_id": "1234", "cluster": "Prices", "qa_type": "who"}
    where = {"file": "shop/prices.py", "evidence": ["shop/prices.py:13", "shop/errors.py:L4-L9"]}
    evidence = ("shop/prices.py:7", "shop/errors.py:4", "shop/errors.py:8")
    assert read(repository, {**PLAIN, **public, **where}, PLAIN) == [
        PlayedQuestion("a1", "Who raises PriceError?", ("discount",), evidence, True),
        PlayedQuestion("line-2", "Who raises PriceError?", ("discount",), (), True),
    ]


def test_answers_may_be_several_or_none(repository: Repository) -> None:
    several = ["discount", "shop.prices.discount"]
    none = [
        {**PLAIN, "answer": "UNANSWERABLE"},
        {"question": "Why?", "answerable": False},
        {**PLAIN, "answerable": False},
    ]
    questions = read(repository, {**PLAIN, "answer": several}, *none)
    assert [(question.answers, question.answerable) for question in questions] == [
        (tuple(several), True),
        *[((), False)] * 3,
    ]


def test_other_repositories_are_left_out_and_reported(repository: Repository) -> None:
    with pytest.warns(LeftOutWarning, match=r"q\.jsonl: 2 questions about other .*'acme/other' 2"):
        questions = read(repository, *({**PLAIN, "repo": name} for name in ("acme/other", "store", "acme/other")))
    assert [question.id for question in questions] == ["line-2"]
    with pytest.raises(DataFileError, match="no question about 'store'; it has 'acme/other' 1"):
        read(repository, {**PLAIN, "repo": "acme/other"})


def test_evidence_outside_of_definitions_is_reported(repository: Repository) -> None:
    with pytest.warns(LeftOutWarning, match="1 lines of evidence stand outside"):
        [question] = read(repository, {**PLAIN, "evidence": ["shop/prices.py:3", "shop/prices.py:17"]})
    assert question.evidence == ("shop/prices.py:17",)


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"question": None}, "question", "not empty"),
        ({"answer": 3}, "answer", "give a text"),
        ({"answer": ["a", 1]}, "answer", "list of texts"),
        ({"file": "shop/none.py"}, "file", "no Python file of 'store', where paths are such as"),
        ({"evidence": "shop/prices.py:7"}, "evidence", "list of texts"),
        ({"evidence": ["shop/prices.py"]}, "evidence", "path:line"),
        ({"evidence": ["../../etc/passwd:1"]}, "evidence", "no Python file"),
        ({"evidence": ["shop/prices.py:0"]}, "evidence", "lines from 1"),
        ({"evidence": ["shop/prices.py:9-7"]}, "evidence", "in order"),
        ({"evidence": ["shop/prices.py:700"]}, "evidence", "the version that the questions are about"),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, Any], field: str, message: str, repository: Repository) -> None:
    with pytest.raises(DataFileError, match=message) as caught:
        read(repository, PLAIN, {**PLAIN, **change})
    error = caught.value
    assert (error.place, error.field) == (2, field)
    assert str(error).startswith(f"{error.file}:2: field {field!r}: ")


def test_what_is_no_record_is_named(repository: Repository) -> None:
    twice = {**PLAIN, "id": "same"}
    for records, message in (
        ([PLAIN, [1]], "is a list"),
        ([], "has no question"),
        ([twice, twice], "came before in line 1"),
    ):
        with pytest.raises(DataFileError, match=message):
            read(repository, *records)
