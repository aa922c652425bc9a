"""Conversations for search agents: our own, and files in the public format."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import pytest

from envs.locomo.errors import LocomoError
from envs.locomo.generator import dialogues
from envs.locomo.plugin import NOUN, PLUGIN, STEPS
from envs.search import SearchEnvironment, SearchError
from tape.errors import ConfigError
from tape.plugins import load
from tape.protocols import Task
from tape.protocols.search import UNANSWERABLE
from tape.testing import SearchConformance
from tests.envs.locomo.helpers import conversation, write


def tasks(*arguments: str) -> list[Task]:
    parser = argparse.ArgumentParser()
    PLUGIN.add_arguments(parser)
    return PLUGIN.tasks(vars(parser.parse_args(arguments)))


def made(task: Task) -> SearchEnvironment:
    environment = PLUGIN.make(task)
    assert isinstance(environment, SearchEnvironment)
    return environment


class TestLocomo(SearchConformance):
    plugin = PLUGIN


def test_it_is_found_by_name() -> None:
    assert load("tape.environments", "locomo") is PLUGIN


def test_our_own_conversations_are_labelled_and_take_turns() -> None:
    dev, test = tasks(), tasks("--part", "test")
    assert {task.level_set for task in dev} == {"locomo-dev-own-corpus-bm25"}
    assert {task.level_set for task in test} == {"locomo-test-own-corpus-bm25"}
    assert [task.id for task in dev[:7]] == [f"dev-{n}-q1" for n in range(6)] + ["dev-0-q2"]
    assert (len(dev), len(test)) == (120, 240)
    assert len({task.digest for task in (*dev, *test)}) == 360
    assert Counter(task.facts["kind"] for task in dev) == {"single": 48, "two": 36, "swapped": 36}
    assert {dict(task.budget)["steps"] for task in dev} == {STEPS}
    assert {task.facts["hops"] for task in dev} == {0, 1, 2}


def test_an_episode_ends_in_success_with_the_answer_alone() -> None:
    for task in tasks()[:12]:
        env = made(task)
        question = task.facts["question"]
        assert env.domain.noun == NOUN
        assert env.domain.sub_questions == ()
        assert env.gold() == (question.answers or (UNANSWERABLE,), question.evidence if question.answerable else ())
        for text in ("nobody", *env.answers):
            env.reset(0)
            env.step(env.domain.answer(text))
            assert env.success() == (text != "nobody")
        assert ("evidence_recall" in env.measures()) == question.answerable


def test_gold_sub_questions_are_named_as_such() -> None:
    plain, given = tasks()[6], tasks("--sub-questions", "gold")[6]
    assert given.level_set == "locomo-dev-own-corpus-bm25-gold-sub-questions"
    assert made(given).domain.sub_questions == dialogues("dev")[0].questions[1].sub_questions != ()
    assert plain.digest != given.digest


def test_questions_of_a_conversation_share_one_index() -> None:
    first, *_, again = tasks()[:7]
    assert first.facts["dialogue"] is again.facts["dialogue"]
    assert made(first)._indexes["bm25"] is made(again)._indexes["bm25"]


def test_public_files(tmp_path: Path) -> None:
    data = str(write(tmp_path, conversation(), conversation(sample_id="conv-2")))
    found = tasks("--data", data)
    assert [task.id for task in found] == ["conv-1-q1", "conv-2-q1", "conv-1-q2", "conv-2-q2"]
    assert {task.level_set for task in found} == {"talks-bm25"}
    assert [task.facts["hops"] for task in found[::2]] == [1, 0]
    more = tasks("--data", data, "--categories", "4, 1,2")
    assert {task.level_set for task in more} == {"talks-categories-1-2-4-bm25"}
    assert [task.id for task in more[::2]] == ["conv-1-q1", "conv-1-q3", "conv-1-q4"]
    assert [task.digest for task in more if task.id == "conv-1-q1"] == [found[0].digest]
    seen, _ = made(found[0]).step("search bm25-5: Tarn aunt")
    assert [passage.title for passage in seen.data] == ["Otto"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--categories", "4"], "add --data FILE"),
        (["--data", "DATA", "--part", "dev"], "leave it out beside --data"),
        (["--data", "DATA", "--sub-questions", "gold"], "a public file has none"),
        (["--data", "DATA", "--categories", "4,6"], r"numbers such as 4,5, each once of 1, 2, 3, 4, 5; got '4,6'"),
        (["--data", "DATA", "--categories", "4,4"], "each once"),
        (["--data", "DATA", "--categories", ""], "numbers such as"),
    ],
)
def test_options_that_contradict_each_other(arguments: list[str], problem: str, tmp_path: Path) -> None:
    data = str(write(tmp_path, conversation()))
    with pytest.raises(LocomoError, match=problem):
        tasks(*(data if each == "DATA" else each for each in arguments))


def test_options_of_the_search_are_checked() -> None:
    with pytest.raises(SearchError, match="from 0 to 1"):
        tasks("--retriever", "hybrid", "--alpha", "1.2")
    with pytest.raises(ConfigError, match="locomo has no simulator"):
        PLUGIN.simulator(made(tasks()[0]))
