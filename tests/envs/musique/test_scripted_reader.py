"""The scripted reader reads every passage of our own corpus, and nothing that is not there."""

import pytest

from envs.musique.corpus import load_corpus, load_questions
from envs.musique.environment import MusiqueEnvironment, tools
from envs.musique.errors import MusiqueError
from envs.musique.plugin import PLUGIN
from envs.musique.retrieval import Corpus
from envs.musique.scripted_reader import read
from envs.musique.words import RELATIONS, query_text
from tape.agents.tape import TapeAgent
from tape.budget import Budget
from tests.envs.tool_scripts import look_up_script
from tests.profiles import parts


def test_it_reads_every_fact_of_every_passage_and_invents_none() -> None:
    seen = 0
    for passage in load_corpus():
        for relation in RELATIONS:
            stated = read(query_text(relation, passage.title), [passage])
            assert stated is None or stated in passage.text, (passage.text, relation)
            seen += stated is not None
    assert seen > 300
    assert read("who is there?", list(load_corpus())) is None


@pytest.mark.slow
@parts(30)
def test_with_it_every_question_whose_look_ups_succeed_is_solved(part: slice) -> None:
    corpus, solved, questions = Corpus(load_corpus()), 0, load_questions("dev")[part]
    for number, question in enumerate(questions):
        model = look_up_script(question, lambda _: pytest.fail("no model reads"))
        env = MusiqueEnvironment(question, corpus, reader="scripted")
        result = TapeAgent(model, execution="forced").run(
            env, budget=Budget.of(steps=30, usd=50, seconds=200), seed=number
        )
        assert result.success or result.end_state in ("infeasible", "no_plan")
        solved += result.success
    assert solved >= 0.3 * len(questions)


def test_it_is_named_wherever_it_is_used() -> None:
    options = {"data": None, "questions": "dev", "tightness": "tight", "reader": "scripted"}
    assert {task.level_set for task in PLUGIN.tasks(options)} == {"musique-dev-scripted-reader-tight"}
    with pytest.raises(MusiqueError, match="own passages alone"):
        PLUGIN.tasks({**options, "data": "x.jsonl"})
    with pytest.raises(MusiqueError, match="no reader"):
        tools(Corpus(load_corpus()), "oracle")
