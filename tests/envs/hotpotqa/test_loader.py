"""The public formats."""

import json
from pathlib import Path
from typing import Any

import pytest

from envs.data_files import DataFileError
from envs.hotpotqa.environment import HotpotEnvironment
from envs.hotpotqa.errors import HotpotError
from envs.hotpotqa.loader import load
from envs.hotpotqa.plugin import PLUGIN
from tests.envs.hotpotqa.helpers import PASSAGES


def record(**changes: Any) -> dict[str, Any]:
    made = {
        "_id": "5a8b", "question": "Who founded the firm that built Aldera?", "answer": "Ada Quill", "type": "bridge",
        "level": "hard", "supporting_facts": [["Aldera", 1], ["Belmar Yards", 0]],
        "context": [[p.title, [f"{s}." for s in p.text.split(".") if s]] for p in PASSAGES],
    }  # fmt: skip
    return {key: value for key, value in {**made, **changes}.items() if value is not ...}


def written(folder: Path, content: object) -> Path:
    file = folder / "hotpot.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


def test_questions_bring_their_paragraphs(tmp_path: Path) -> None:
    [question] = load(written(tmp_path, [record()]))
    assert (question.id, question.answer, question.operations, question.hops) == ("5a8b", "Ada Quill", 2, None)
    assert question.passages is not None
    assert [(p.title, p.text) for p in question.passages] == [(p.title, p.text) for p in PASSAGES]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"data": []}, "no array of questions"), ([3], ":1: is 3; give an object"),
        ([record(answer=...)], "'answer': is missing"), ([record(question=" ")], "'question'"),
        ([record(), record()], ":2: field '_id'.*came before"), ([record(context=...)], "'context': is missing"),
        ([record(context=[["Aldera"]])], "context\\[0\\]"), ([record(context=[["", ["x"]]])], "has the title ''"),
        ([record(context=[["Aldera", "x"]])], "no list of texts"),
        ([record(supporting_facts=[["Aldera"]])], "supporting_facts"), ([record(level=3)], "'level'"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_named(tmp_path: Path, content: object, message: str) -> None:
    with pytest.raises(DataFileError, match=message):
        load(written(tmp_path, content))


def options(**changes: Any) -> dict[str, Any]:
    made = {"benchmark": "hotpotqa", "mode": "distractor", "data": None, "questions": "dev"}
    return {**made, "reader": "lm", "errors": 0.0, **changes}


def test_a_public_file_is_played_in_both_modes(tmp_path: Path) -> None:
    other = [["Elsewhere", ["Elsewhere is a town."]]]
    file = written(tmp_path, [record(), record(_id="b", context=other, supporting_facts=[])])
    given, opened = (PLUGIN.tasks(options(data=str(file), mode=mode)) for mode in ("distractor", "open"))
    alone, shared = PLUGIN.make(given[0]), PLUGIN.make(opened[0])
    assert isinstance(alone, HotpotEnvironment)
    assert isinstance(shared, HotpotEnvironment)
    assert len(alone.state.given) == len(PASSAGES)
    assert shared.state.given == ()
    shared.step("search: Elsewhere")  # the paragraphs of all questions are one corpus
    assert shared.state.paragraphs[0].title == "Elsewhere"
    assert {task.level_set for task in given + opened} == {"hotpotqa-distractor-hotpot", "hotpotqa-open-hotpot"}
    assert len({task.digest for task in given + opened}) == 4


def test_full_wiki_files_lack_paragraphs_by_design(tmp_path: Path) -> None:
    missed = record(supporting_facts=[["Aldera", 1], ["Nowhere", 0]])
    file = str(written(tmp_path, [missed, record(_id="b", context=[])]))
    env = PLUGIN.make(PLUGIN.tasks(options(data=file, mode="open"))[1])
    env.step("search: Aldera")  # found for the other question
    assert isinstance(env, HotpotEnvironment)
    assert env.state.paragraphs[0].title == "Aldera"
    with pytest.raises(HotpotError, match=r"question 'b' comes without paragraphs.*--mode open"):
        PLUGIN.tasks(options(data=file))
    file = str(written(tmp_path, [record(context=[])]))
    with pytest.raises(HotpotError, match="nothing to search"):
        PLUGIN.tasks(options(data=file, mode="open"))


def test_the_number_of_hops_is_in_the_id_of_a_musique_question(tmp_path: Path) -> None:
    paragraphs = [{"idx": i, "title": p.title, "paragraph_text": p.text} for i, p in enumerate(PASSAGES)]
    made = {"id": "3hop1__9_8_7", "question": "Who?", "answer": "Ada Quill", "paragraphs": paragraphs}
    file = tmp_path / "musique.jsonl"
    file.write_text(json.dumps(made))
    [task] = PLUGIN.tasks(options(benchmark="musique", data=str(file)))
    env = PLUGIN.make(task)
    assert isinstance(env, HotpotEnvironment)
    assert (env.domain.setting.hops, dict(task.budget)) == (3, {"steps": 25})
    file.write_text(json.dumps({**made, "id": "q1"}))
    with pytest.raises(HotpotError, match="begins with its number of hops"):
        PLUGIN.tasks(options(benchmark="musique", data=str(file)))


def test_our_own_questions_name_their_hops() -> None:
    two, more = (PLUGIN.tasks(options(benchmark=name)) for name in ("hotpotqa", "musique"))
    assert {task.id[:4] for task in two} == {"2hop"}
    assert {task.id[:4] for task in more} == {"2hop", "3hop", "4hop"}
    assert dict(two[0].budget) == {"steps": 20}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"errors": 0.2}, "--reader scripted"),
        ({"reader": "scripted", "errors": 1.0}, r"\[0, 1\)"),
        ({"reader": "scripted", "data": "x.json"}, "our own passages alone"),
    ],
)
def test_options_that_contradict_each_other_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(HotpotError, match=message):
        PLUGIN.tasks(options(**changes))
