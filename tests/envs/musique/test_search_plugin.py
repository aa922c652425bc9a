"""MuSiQue for search agents: our own questions, public files, gold sub-questions."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from envs.musique.corpus import load_corpus, load_questions
from envs.musique.errors import MusiqueError, QuestionFileError
from envs.musique.evidence import gold_chain, public_gold
from envs.musique.scripted_reader import read
from envs.musique.search_plugin import OWN, PLUGIN, STEPS, own
from envs.search import SearchEnvironment
from tape.errors import ConfigError
from tape.protocols import Action, Environment, State, Task
from tape.testing import SearchConformance

RECORD: dict[str, Any] = {
    "id": "2hop__1_2",
    "question": "Who is the mayor of the town where Ada was born?",
    "answer": "Otto Lind",
    "answer_aliases": ["Lind"],
    "answerable": True,
    "paragraphs": [
        {"idx": 0, "title": "Tarn", "paragraph_text": "The mayor of Tarn is Otto Lind.", "is_supporting": True},
        {"idx": 1, "title": "Holm", "paragraph_text": "Holm lies by the sea.", "is_supporting": False},
        {"idx": 2, "title": "Ada", "paragraph_text": "Ada was born in Tarn.", "is_supporting": True},
    ],
    "question_decomposition": [
        {"id": 1, "question": "Ada >> place of birth", "answer": "Tarn", "paragraph_support_idx": 2},
        {"id": 2, "question": "mayor of #1", "answer": "Otto Lind", "paragraph_support_idx": 0},
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
    file = folder / "public.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(file)


def changed(**fields: Any) -> dict[str, Any]:
    return {**RECORD, **fields}


class TestMusiqueSearch(SearchConformance):
    plugin = PLUGIN

    def actions(self, environment: Environment, state: State) -> Sequence[Action]:
        assert isinstance(environment, SearchEnvironment)
        domain = environment.domain
        return [domain.search(domain.question, option) for option in domain.options()] + [domain.answer("nobody")]


def test_our_own_questions_are_labelled_and_their_evidence_answers_them() -> None:
    found = tasks()
    assert [task.id for task in found] == [question.id for question in load_questions("dev")]
    assert {task.level_set for task in found} == {"musique-dev-own-corpus-bm25"}
    assert {dict(task.budget)["steps"] for task in found} == {STEPS}
    corpus = {passage.id: passage for passage in load_corpus()}
    for each in own("dev"):
        chain = gold_chain(each.question, load_corpus())
        assert chain is not None
        assert len(each.gold.evidence) == len(each.gold.sub_questions) == len(each.question.hops or ())
        for one, asked, (query, answer, _) in zip(each.gold.evidence, each.gold.sub_questions, chain, strict=True):
            assert read(query, [corpus[one]]) == answer
            assert asked.endswith("?")
            assert query.partition(" of ")[2] in asked  # what the hops before led to is filled in


def test_agents_are_given_no_sub_questions_unless_that_is_asked_for() -> None:
    plain, given = tasks()[0], tasks("--sub-questions", "gold")[0]
    assert made(plain).domain.sub_questions == ()
    assert made(given).domain.sub_questions == own("dev")[0].gold.sub_questions
    assert given.level_set == "musique-dev-own-corpus-bm25-gold-sub-questions"
    assert plain.digest != given.digest


def test_a_scripted_episode_with_gold_sub_questions_ends_in_success() -> None:
    for task in tasks("--sub-questions", "gold", "--depths", "10")[:5]:
        env = made(task)
        env.reset(0)
        for asked in env.domain.sub_questions:
            env.step(env.domain.search(asked, env.domain.options()[0]))
        env.step(env.domain.answer(env.answers[0]))
        assert env.success()
        assert env.measures()["evidence_recall"] == 1


def test_options_are_calibrated_and_named() -> None:
    [task, *_] = tasks("--depths", "3,7")
    assert task.level_set == "musique-dev-own-corpus-bm25-depths-3-7"
    measured, other = made(task).domain.options()
    assert measured.success == task.facts["retrieval"].calibration(OWN)["bm25-3"]
    assert other.success == 0.5


def test_public_files(tmp_path: Path) -> None:
    second = changed(id="2hop__3_4", question="Who leads the town where Ada was born?", answer_aliases=[])
    data = write(tmp_path, RECORD, second)
    first, _ = tasks("--data", data, "--sub-questions", "gold")
    assert first.level_set == "public-bm25-gold-sub-questions"
    env = made(first)
    assert env.domain.sub_questions == ("Ada >> place of birth", "mayor of Tarn")
    assert env.gold() == (("Otto Lind", "Lind"), ("2", "0"))
    pooled = tasks("--data", data, "--pooled")
    assert pooled[0].level_set == "public-pooled-bm25"
    assert made(pooled[1]).gold()[1] == ("p3", "p1")
    seen, _ = made(pooled[1]).step("search bm25-5: Ada Tarn Holm")
    assert [passage.id for passage in seen.data] == ["p3", "p1", "p2"] or len(seen.data) == 3
    assert first.digest not in {task.digest for task in pooled}


@pytest.mark.parametrize(
    ("steps", "field", "message"),
    [
        ([], "question_decomposition", "is missing or empty"),
        (["text"], "question_decomposition[0]", "is no object with the texts question and answer"),
        ([{"question": "a", "answer": 1, "paragraph_support_idx": 0}], "question_decomposition[0]", "is no object"),
        ([{"question": "a", "answer": "b"}], "question_decomposition[0].paragraph_support_idx", "is None; give the"),
        (
            [{"question": "a", "answer": "b", "paragraph_support_idx": 7}],
            "question_decomposition[0].paragraph_support_idx",
            "is 7; give the idx of a paragraph",
        ),
        (
            [{"question": "a of #1", "answer": "b", "paragraph_support_idx": 0}],
            "question_decomposition[0].question",
            "refers to a step that is not before it",
        ),
    ],
)
def test_files_that_do_not_say_what_answers(steps: list[Any], field: str, message: str, tmp_path: Path) -> None:
    data = write(tmp_path, RECORD, changed(id="2hop__5_6", question_decomposition=steps))
    with pytest.raises(QuestionFileError, match=message) as caught:
        tasks("--data", data)
    assert (caught.value.place, caught.value.field) == (2, field)
    assert set(public_gold(write(tmp_path, RECORD, changed(id="x", answerable=False)))) == {"2hop__1_2"}


def test_options_that_contradict_each_other(tmp_path: Path) -> None:
    with pytest.raises(MusiqueError, match="add --data FILE"):
        tasks("--pooled")
    with pytest.raises(MusiqueError, match="leave it out beside --data"):
        tasks("--questions", "dev", "--data", write(tmp_path, RECORD))
    with pytest.raises(ConfigError, match="musique_search has no simulator"):
        PLUGIN.simulator(made(tasks()[0]))
