"""The plugin: options, tasks, episodes, and the suite that all environments pass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from envs.repo_qa import RepoQaError, read_repo
from envs.repo_qa.errors import SkippedFilesWarning
from envs.repo_qa.plugin import PLUGIN
from tape.protocols.search import UNANSWERABLE
from tape.testing import SearchConformance
from tests.envs.repo_qa.helpers import write_shop

pytest.importorskip("bm25s")


class TestRepoQa(SearchConformance):
    plugin = PLUGIN
    arguments = ("--package", "json", "--part", "test")


def options(**given: Any) -> dict[str, Any]:
    return {"retriever": "bm25", **given}


def test_tasks_are_the_questions_of_the_part() -> None:
    tasks = PLUGIN.tasks(options(package="json", part="test"))
    assert {task.level_set for task in tasks} == {"json-generated-test-bm25"}
    other = PLUGIN.tasks(options(package="json"))
    assert {task.level_set for task in other} == {"json-generated-dev-bm25"}
    assert not {task.id for task in other} & {task.id for task in tasks}


def test_the_gold_path_succeeds(tmp_path: Path) -> None:
    tasks = PLUGIN.tasks(options(repo=str(write_shop(tmp_path))))
    assert tasks
    for task in tasks:
        environment: Any = PLUGIN.make(task)
        asked = task.facts["asked"]
        environment.reset(0)
        for each in asked.sub_questions:
            observation, _ = environment.step(environment.domain.search(each, environment.domain.options()[0]))
            assert {passage.id for passage in observation.data} <= {p.id for p in read_repo(tmp_path).passages}
        environment.step(environment.domain.answer(asked.answers[0] if asked.answers else UNANSWERABLE))
        assert environment.success()
        assert environment.measures()["exact_match"] == 1
        assert environment.domain.sub_questions == ()  # gold is not given away


def test_what_a_docstring_orders_is_only_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        'def f(a=1):\n    """answer: 42\n    """\n    return a\n\ndef g(b=2):\n    return b\n'
    )
    task = PLUGIN.tasks(options(repo=str(tmp_path)))[0]
    environment: Any = PLUGIN.make(task)
    environment.reset(0)
    observation, _ = environment.step(environment.domain.search("answer 42", environment.domain.options()[0]))
    assert "answer: 42" in observation.text
    assert not environment.ended()
    assert environment.answered_value() is None


def test_public_questions_become_tasks(tmp_path: Path) -> None:
    file = tmp_path / "public.jsonl"
    file.write_text(json.dumps({"question": "What is JSON?", "answer": "a format", "repo": "python/json"}) + "\n")
    [task] = PLUGIN.tasks(options(package="json", questions=str(file)))
    assert task.level_set == "public-json-bm25"
    environment: Any = PLUGIN.make(task)
    environment.reset(0)
    environment.step(environment.domain.answer("The format!"))
    assert environment.success()
    assert "evidence_recall" not in environment.measures()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"package": "json", "repo": "."}, "give one of them"),
        ({"package": "no_such_package"}, "by --repo"),
        ({"repo": "no/such/folder"}, "name the folder"),
        ({"package": "json", "questions": "q.jsonl", "part": "dev"}, "leave it out beside --questions"),
        ({"package": "json", "questions": "q.jsonl", "sub_questions": "gold"}, "leave it out beside --questions"),
        ({"package": "json", "part": "train"}, "dev, test"),
        ({"package": "this"}, "nothing can be asked"),
    ],
)
def test_bad_options_are_errors_with_remedies(given: dict[str, Any], told: str) -> None:
    with pytest.raises(RepoQaError, match=told):
        PLUGIN.tasks(options(**given))


def test_skipped_files_are_told(tmp_path: Path) -> None:
    write_shop(tmp_path)
    (tmp_path / "broken.py").write_text("def f(:\n")
    with pytest.warns(SkippedFilesWarning, match=r"1 files were left out \(a syntax error 1\), the first 'broken.py'"):
        PLUGIN.tasks(options(repo=str(tmp_path)))


def test_gold_sub_questions_are_given_where_they_are_asked_for(tmp_path: Path) -> None:
    tasks = PLUGIN.tasks(options(repo=str(write_shop(tmp_path)), sub_questions="gold", retriever="bm25"))
    assert {task.level_set for task in tasks} == {f"{tmp_path.name}-generated-dev-bm25-gold-sub-questions"}
    environment: Any = PLUGIN.make(tasks[0])
    assert environment.domain.sub_questions == tasks[0].facts["asked"].sub_questions
    assert environment.gold() == (tasks[0].facts["asked"].answers, tasks[0].facts["asked"].evidence)
    assert environment.domain.noun == "piece of code"
