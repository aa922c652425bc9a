"""HotpotQA for search agents."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from envs.hotpotqa.search_plugin import PLUGIN
from envs.musique.errors import MusiqueError, QuestionFileError
from envs.search import SearchEnvironment
from tape.protocols import Task
from tape.testing import SearchConformance

RECORD: dict[str, Any] = {
    "_id": "q1",
    "question": "Who is the mayor of the town where Ada was born?",
    "answer": "Otto Lind",
    "supporting_facts": [["Ada", 0], ["Tarn", 0], ["Ada", 1]],
    "context": [
        ["Tarn", ["The mayor of Tarn", " is Otto Lind."]],
        ["Holm", ["Holm lies by the sea."]],
        ["Ada", ["Ada was born in Tarn.", "She left."]],
    ],
}


def tasks(*arguments: str) -> list[Task]:
    parser = argparse.ArgumentParser()
    PLUGIN.add_arguments(parser)
    return PLUGIN.tasks(vars(parser.parse_args(arguments)))


def made(task: Task) -> SearchEnvironment:
    environment = PLUGIN.make(task)
    assert isinstance(environment, SearchEnvironment)
    return environment


def write(folder: Path, *records: object) -> str:
    (folder / "public.json").write_text(json.dumps(records), encoding="utf-8")
    return str(folder / "public.json")


class TestHotpotSearch(SearchConformance):
    plugin = PLUGIN


def test_our_own_questions_take_two_hops() -> None:
    found = tasks("--sub-questions", "gold")
    assert {task.level_set for task in found} == {"hotpotqa-dev-own-corpus-bm25-gold-sub-questions"}
    assert {len(made(task).domain.sub_questions) for task in found} == {2}


def test_public_files(tmp_path: Path) -> None:
    other = {**RECORD, "_id": "q2", "context": [["Lin", ["Lin is Ada's sister."]], *RECORD["context"]]}
    data = write(tmp_path, RECORD, other)
    first, second = tasks("--data", data)
    assert (first.level_set, first.facts["hops"]) == ("public-bm25", 2)
    assert made(first).gold() == (("Otto Lind",), ("0", "2"))
    assert made(second).gold()[1] == ("1", "3")
    assert [made(task).gold()[1] for task in tasks("--data", data, "--pooled")] == [("p1", "p3")] * 2
    with pytest.raises(MusiqueError, match="has no gold sub-questions; leave --sub-questions at none"):
        tasks("--data", data, "--sub-questions", "gold")
    with pytest.raises(QuestionFileError, match="field 'context': is empty: there is nothing to search for 'q1'"):
        tasks("--data", write(tmp_path, {**RECORD, "context": []}))
