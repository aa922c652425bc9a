"""Questions played with retrievers: reading what was found, look-ups that fail, measures."""

import asyncio
import json
from pathlib import Path

import pytest

from envs.musique.corpus import load_corpus, load_questions
from envs.musique.environment import MusiqueEnvironment
from envs.musique.errors import MusiqueError
from envs.musique.plugin import PLUGIN
from envs.musique.prompts import LookUpLexicon
from envs.musique.question import Question
from envs.musique.retrieval import RETRIEVERS, TIGHTNESSES, Corpus, budget
from tape.agents.base import Agent
from tape.agents.plan_and_act_replan import PlanAndActReplanAgent
from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent
from tape.budget import Budget
from tape.engine.result import EpisodeResult
from tape.errors import ModelError
from tape.lm.base import Choice, Request
from tape.lm.scripted import ScriptedLM
from tape.protocols.search import Passage
from tape.tools.calls import call
from tape.tools.state import ToolState
from tests.envs.musique.test_loader import record, write
from tests.envs.tool_scripts import look_up_script

CORPUS = Corpus(
    [
        Passage("1", "Aldera", "Aldera is a ship. Belmar Yards built Aldera."),
        Passage("2", "Belmar Yards", "The firm Belmar Yards was founded by Ada Quill."),
        Passage("3", "Corvo", "Corvo is a town on the river Dunna."),
        Passage("4", "Elmo Works", "The firm Elmo Works was founded by Fenn Garrow."),
    ]
)
QUESTION = Question(
    "q", "Who founded the firm that built Aldera?", "Ada Quill", hops=(("builder", "Aldera"), ("founder", "#1"))
)
MUCH = Budget.of(steps=20, usd=20, seconds=60)


def honest(request: Request) -> str:
    """Reads what the passages state: the name before or after the verb, if the asked entity is there."""
    assert isinstance(request.prompt, str)
    assert isinstance(request.constraint, Choice)
    text, query = request.prompt.split(" <read> ")
    assert "aldera" not in text.lower()  # names are slots
    words = text.split()
    if query.split()[0] == "builder":
        at = words.index("built") if "built" in words else -1
        return f"{words[at - 1]} " if at > 0 and words[at + 1] == "e1" else "none "
    for at, word in enumerate(words):
        if word == "founded" and words[at - 2] == "e1":
            return f"{words[at + 2]} "
    return "none "


def play(agent: type[Agent] = TapeAgent, seed: int = 0) -> EpisodeResult:
    return agent(look_up_script(QUESTION, honest)).run(MusiqueEnvironment(QUESTION, CORPUS), budget=MUCH, seed=seed)


@pytest.mark.parametrize("agent", [TapeAgent, ReactAgent, PlanAndActReplanAgent])
def test_answers_are_read_and_used_by_the_next_look_up(agent: type[Agent]) -> None:
    results = [play(agent, seed) for seed in range(6)]
    solved = [result for result in results if result.success]
    assert solved, [result.end_state for result in results]
    for result in solved:
        assert result.measures == {"exact_match": 1.0, "f1": 1.0}
        assert result.actions[-1] == "answer(value=#2)"
        assert result.lm_calls["project"] >= 2


def test_a_look_up_that_found_nothing_is_made_again_by_another_retriever() -> None:
    result = next(found for seed in range(40) if (found := play(TapeAgent, seed)).success and found.replans)
    first = [action for action in result.actions if "Aldera" in action or "#1" in action]
    assert len(first) == len(set(first)) > 2  # never the same call twice
    assert result.mismatches >= 1


def test_no_answer_measures_nothing() -> None:
    env = MusiqueEnvironment(QUESTION, CORPUS)
    result = TapeAgent(look_up_script(QUESTION, lambda _: "none ")).run(env, budget=MUCH)
    assert (result.success, result.measures) == (False, {"exact_match": 0.0, "f1": 0.0})
    assert result.end_state in ("infeasible", "replan_limit")
    assert len(result.actions) == len(set(result.actions)) == 5  # each retriever once


def test_the_state_in_words_grows_with_what_was_found() -> None:
    lexicon = LookUpLexicon(QUESTION.text)
    made = call("search", "v5", query="builder of Aldera")
    state = ToolState().with_call(made, json.dumps("Belmar Yards"))
    assert lexicon.task()[-2:] == ["e1", "?"]
    assert (lexicon.arguments(state, made), lexicon.result(state, 1)) == (["builder", "e1"], ["=", "e2"])
    assert lexicon.result(ToolState().with_call(made), 1) == []  # predicted only
    assert lexicon.read(state, "search", ["founder", "#1"]) == (("query", '"founder of #1"'),)
    assert lexicon.read(state, "search", ["founder", "e2"]) == (("query", '"founder of Belmar Yards"'),)


def test_what_is_read_is_the_last_result_for_the_name_behind_the_placeholder() -> None:
    lexicon = LookUpLexicon(QUESTION.text)
    state = ToolState().with_call(call("search", "v5", query="builder of Aldera"), json.dumps("Belmar Yards"))
    text = "The firm Belmar Yards was founded by Ada Quill."
    reading = lexicon.reading(state.with_call(call("search", "v4", query="founder of #1"), json.dumps(text), text))
    assert reading is not None
    assert reading.query == ("founder", "e1")
    assert reading.options == {"e2": '"Ada Quill"'}
    assert lexicon.reading(state) is None


def test_foreign_questions_are_unsupported() -> None:
    foreign = Question("f", "When did the maker of the Acura Legend and the manufacturer of Scion open plants?", "1981")
    with pytest.raises(ModelError, match="unsupported"):
        LookUpLexicon(foreign.text).task()
    result = TapeAgent(ScriptedLM([""], prompt_format="tools")).run(MusiqueEnvironment(foreign, CORPUS), budget=MUCH)
    assert (result.end_state, result.steps) == ("model_error", 0)


def _name(number: int) -> str:
    return "Q" + "abcdefghij"[number // 10] + "abcdefghij"[number % 10]


@pytest.mark.parametrize("stop", [".", ""])
def test_of_passages_with_too_many_names_the_beginning_is_read(stop: str) -> None:
    text = f"Ada Quill founded Belmar Yards{stop} " + " ".join(f"she saw {_name(k)}{stop}" for k in range(99))
    state = ToolState().with_call(call("search", "v5", query="founder of Belmar Yards"), json.dumps(text), text)
    reading = LookUpLexicon(QUESTION.text).reading(state)
    assert reading is not None
    assert list(reading.options) == [f"e{number}" for number in range(2, 41)]
    assert reading.options["e2"] == '"Ada Quill"'
    assert reading.options["e40"] == json.dumps(_name(37))
    corpus = Corpus([Passage(str(k), f"Aldera {k}", text) for k in range(5)])
    lm = look_up_script(QUESTION, lambda request: request.constraint.options[0])  # type: ignore[union-attr]
    result = TapeAgent(lm).run(MusiqueEnvironment(QUESTION, corpus), budget=MUCH)
    assert (result.end_state, result.lm_calls["project"]) == ("failure", 2)


def test_no_reading_is_longer_than_the_longest_one() -> None:
    longest = LookUpLexicon(QUESTION.text).longest_reading()
    assert longest is not None
    corpus = Corpus(load_corpus())
    for question in load_questions("dev"):
        lexicon = LookUpLexicon(question.text)
        assert question.hops is not None
        relation, subject = question.hops[0]
        text = " ".join(passage.text for passage in corpus.retrieve(f"{relation} of {subject}", "v5", 0)) * 9
        made = call("search", "v5", query=f"{relation} of {subject}")
        reading = lexicon.reading(ToolState().with_call(made, json.dumps(text), text))
        assert reading is not None
        assert len(" ".join((*reading.text, *reading.query))) <= len(" ".join((*longest.text, *longest.query)))
        assert len(reading.text) <= len(longest.text)
        assert reading.options.keys() <= longest.options.keys()


@pytest.mark.parametrize("calls", range(3, 14))
def test_under_a_cap_on_calls_a_path_that_starts_can_be_read_to_its_end(calls: int) -> None:
    env = MusiqueEnvironment(QUESTION, CORPUS)
    lm = look_up_script(QUESTION, honest)
    result = TapeAgent(lm, num_plans=1, execution="constrained").run(env, budget=MUCH | Budget({"calls": calls}))
    # Else it would run out in the middle, with what was paid for still to be read.
    assert result.end_state == "success" or not result.actions or result.lm_calls["plan"] > 1


def test_what_the_bundled_model_cannot_read_for_is_unsupported() -> None:
    state = ToolState().with_call(call("search", "v5", query="who built it?"), '"text"', "text")
    with pytest.raises(ModelError, match="unsupported"):
        LookUpLexicon(QUESTION.text).reading(state)
    crowd = LookUpLexicon("Who founded " + " and ".join(_name(k) for k in range(50)) + "?")
    with pytest.raises(ModelError, match=r"unsupported.*more than 40"):
        crowd.task()


def test_all_shipped_questions_can_be_read_and_planned() -> None:
    corpus = Corpus(load_corpus())
    for question in load_questions():
        d = MusiqueEnvironment(question, corpus).prompt_format("tools")
        request = d.plan_request(ToolState(), MUCH)
        [done] = asyncio.run(look_up_script(question, lambda _: "none ").generate([request]))
        assert len(d.read_plan(ToolState(), done.texts[0]).actions) == question.operations + 1


def test_budgets_pay_for_their_retrievers() -> None:
    cheap, best = RETRIEVERS[2].worst, RETRIEVERS[4].worst
    for hops in (1, 2, 3, 4):
        tight, loose = (budget(hops, name) for name in TIGHTNESSES)
        assert all(tight[kind] >= hops * (cheap[kind] or 0) for kind in ("usd", "seconds"))
        assert all(loose[kind] >= hops * (best[kind] or 0) for kind in ("usd", "seconds"))
    with pytest.raises(MusiqueError, match="at least one hop"):
        budget(0, "tight")


def test_the_plugin_serves_own_and_public_questions(tmp_path: Path) -> None:
    options = {"data": None, "questions": "dev", "embeddings": None, "tightness": "tight"}
    tasks = PLUGIN.tasks(options)
    assert {task.level_set for task in tasks} == {"musique-dev-tight"}
    first, second = (PLUGIN.make(task) for task in tasks[:2])
    assert isinstance(first, MusiqueEnvironment)
    assert first is not second
    paragraphs = [{"idx": i, "title": p.title, "paragraph_text": p.text} for i, p in enumerate(CORPUS.passages)]
    public = record(question=QUESTION.text, answer=QUESTION.answer, paragraphs=paragraphs)
    [task] = PLUGIN.tasks({**options, "data": str(write(tmp_path, public))})
    env = PLUGIN.make(task)
    assert isinstance(env, MusiqueEnvironment)
    result = TapeAgent(look_up_script(QUESTION, honest)).run(env, budget=MUCH, seed=1)
    assert result.measures["f1"] in (0.0, 1.0)
