"""The environment: actions, costs and judgement."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from envs.hotpotqa.actions import Find, Finish, HotpotAnswer, ParagraphSearch, Parsed, read, write
from envs.hotpotqa.environment import HotpotEnvironment
from envs.hotpotqa.errors import HotpotError
from envs.hotpotqa.operators import ending, hop_target
from envs.hotpotqa.prompts.chat_schema import as_step
from envs.hotpotqa.sdp import HopAdapter
from envs.hotpotqa.search import TitledCorpus, with_distractors
from envs.musique.corpus import load_corpus, load_questions
from envs.musique.evidence import gold_chain
from envs.musique.question import MusiqueQuestion
from tape.agents.plan_and_act_replan import PlanAndActReplanAgent
from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent
from tape.budget import Budget
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM, obeys
from tape.protocols.search import Passage
from tests.envs.hotpotqa.helpers import PASSAGES, QUESTION, environment, setting, text_of


def find(hop: int, finding: str, title: str) -> str:
    return "find: " + json.dumps({"hop": hop, "finding": finding, "title": title, "bridge": finding})


def test_the_answer_that_stands_at_the_end_is_judged_once() -> None:
    env = environment()
    env.conclude()
    assert (env.success(), env.measures()) == (False, {"exact_match": 0.0, "f1": 0.0})
    env.reset(0)
    env.step("answer: Ada Quill")
    assert (env.success(), env.ended(), env.measures()["exact_match"]) == (False, False, 1.0)
    env.step("answer: Fenn Garrow")
    env.conclude()
    assert not env.success()
    env.reset(0)
    env.step("answer: the Ada Quill.")
    env.step("finish")
    assert env.ended()
    assert env.success()


def test_what_cannot_be_done_is_refused_for_a_step() -> None:
    searching, dancing = ("distractor", "search: Aldera", "nothing to search"), ("open", "dance", "an action is search")
    for mode, action, message in (searching, dancing):
        env = environment(mode)
        before = env.state
        _, cost = env.step(action)
        assert dict(cost) == {"steps": 1}
        assert message in env.state.note
        assert env.state.key() == before.key()
        assert env.domain.outcome(before, action).state is None


def test_the_search_cache_is_kept_and_a_query_is_made_once() -> None:
    env = environment("open")
    queries = ("Belmar Yards", "Belmar Yards", "who built Aldera")
    notes = [env.step(f"search: {query}") and env.state.note for query in queries]
    assert "already" in notes[1]
    assert [made.query for made in env.state.searches] == ["Belmar Yards", "who built Aldera"]


def test_a_claim_replaces_an_earlier_one_of_its_hop_and_its_bridge_is_part_of_the_key() -> None:
    env = environment()
    start = env.state
    for claim in ((2, "Fenn Garrow", "Elmo Works"), (1, "Belmar Yards", "Aldera"), (2, "Ada Quill", "Belmar Yards")):
        env.step(find(*claim))
    assert [(c.hop, c.finding) for c in env.state.claims] == [(1, "Belmar Yards"), (2, "Ada Quill")]
    keys = [start.with_claim(1, "Belmar Yards", "Aldera", bridge).key() for bridge in ("", "Belmar Yards", "Aldera")]
    assert keys[0] == keys[1] != keys[2]


def test_predicted_and_observed_states_are_the_same_to_a_plan() -> None:
    env = environment("open")
    for action in ("search: Aldera", find(1, "Belmar Yards", "Aldera"), "answer: Ada Quill", "finish"):
        predicted = env.domain.outcome(env.state, action).state
        env.step(action)
        assert predicted is not None
        assert env.domain.key(predicted) == env.domain.key(env.state)
    assert env.domain.is_end(env.state)
    assert env.domain.outcome(env.state, "finish").state is None


def two_hops() -> tuple[MusiqueQuestion, tuple[Passage, ...], list[tuple[str, str, Passage]]]:
    """Our first question of two hops, its paragraphs, and query, answer and paragraph of each hop."""
    question = next(q for q in load_questions("dev") if q.operations == 2)
    given = with_distractors(question, TitledCorpus(load_corpus()))
    chain = gold_chain(question, given)
    assert chain is not None
    return question, given, chain


def test_the_truth_of_predicates_comes_from_the_decomposition() -> None:
    question, given, [(_, first, at), (_, second, later_at)] = two_hops()
    env = HotpotEnvironment(question, given=given, reader="scripted")
    assert question.hops is not None
    (relation, subject), (then, _) = question.hops
    hop, later = hop_target(1, f"{relation} of {subject}"), hop_target(2, f"{then} of #1")
    assert env.truth(hop) is False
    env.step(find(1, first, at.title))
    assert env.truth(hop) is True
    env.step(find(2, first, at.title))
    assert env.truth(later) is False
    env.step(find(2, second, later_at.title))
    assert env.truth(later) is True
    # A predicate in the corpus' terms that no passage states.
    assert env.truth(hop_target(1, f"{relation} of Nobody Atall")) is False
    answer, goal = ending(question.text)
    assert env.truth(goal) is False
    env.step(f"answer: {question.answer}")
    assert (env.truth(answer), env.truth(goal)) == (True, True)
    assert environment().truth(hop) is None  # a question of unknown hops


def test_the_truth_of_a_sub_question_in_other_words_is_that_of_its_number_or_unknown() -> None:
    question, given, chain = two_hops()
    (_, first, at), (_, second, _) = chain

    def truth(hop: int, finding: str, sub: str = "Who might that be?") -> bool | None:
        env = HotpotEnvironment(question, given=given)
        env.step(find(hop, finding, at.title))
        return env.truth(hop_target(hop, sub))

    assert truth(1, f"the {first}.") is True
    assert truth(1, "Nobody Atall") is False
    assert truth(1, second) is None  # perhaps the hops come in another order
    assert truth(1, first, f"{question.hops[0][0]} of the firm she named") is True  # no name: other words
    assert truth(3, first) is None  # the decomposition has no such hop


def test_the_truth_of_targets_along_a_path() -> None:
    searched, over, nonsense, _ = HopAdapter(setting()).along([None] * 4, ["search: Aldera", "finish", "dance"])
    env = environment("open")
    assert [env.truth(target) for target in (searched, over, nonsense)] == [False, False, None]
    env.step("search: Aldera")
    env.step("finish")
    assert [env.truth(target) for target in (searched, over, nonsense)] == [True, True, None]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"given": PASSAGES, "benchmark": "trivia"}, "no benchmark 'trivia'"),
        ({}, "give one of the two"),
        ({"given": PASSAGES, "corpus": TitledCorpus(PASSAGES)}, "give one of the two"),
        ({"given": PASSAGES, "reader": "oracle"}, "no reader 'oracle'"),
    ],
)
def test_arguments_that_contradict_each_other_are_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(HotpotError, match=message):
        HotpotEnvironment(QUESTION, **more)


FOUND = Find(1, "Belmar Yards", "Aldera", "Belmar Yards", "Who built Aldera?")
MOVES = [ParagraphSearch("Aldera"), FOUND, HotpotAnswer("Ada Quill"), Finish()]


def player(moves: Sequence[Parsed]) -> ScriptedLM:
    """Plans and makes these moves."""

    def reply(request: Request, sample: int) -> str:
        del sample
        text = text_of(request)
        done = sum(mark in text for mark in ("Searched so far", "Found so far", "The answer that stands"))
        if request.role == "plan":
            return json.dumps({"thought": "so", "steps": [as_step(step) for step in moves[done:]]})
        if request.role == "score":
            return "good"
        if request.role == "act" and "The next action is: " in text:
            fixed = text.split("The next action is: ")[1].splitlines()[0]
            return json.dumps({"thought": "as planned", "action": fixed})
        return json.dumps({"thought": "go on", "step": as_step(moves[done])})

    return ScriptedLM(reply, obey=True)


@pytest.mark.parametrize("agent", [ReactAgent, PlanAndActReplanAgent, TapeAgent])
def test_other_agents_play_it_with_a_general_model(agent: Any) -> None:
    result = agent(player(MOVES)).run(environment("open"), budget=Budget({"steps": 9}))
    assert result.end_state == "success", result.detail
    assert result.actions == [write(move) for move in MOVES]
    assert result.measures == {"exact_match": 1.0, "f1": 1.0}
    assert result.answer == QUESTION.answers[0]


@pytest.mark.parametrize("mode", ["distractor", "open"])
def test_every_kind_of_step_is_read_back_and_searches_are_offered_where_there_are_any(mode: str) -> None:
    env = environment(mode)
    env.step(write(MOVES[0]))
    form = env.prompt_format("chat")
    for move in MOVES:
        text = json.dumps({"thought": "so", "step": as_step(move)})
        if isinstance(move, ParagraphSearch) and mode == "distractor":
            assert not obeys(form.act_request(env.state, {}, None, ()), text)
            continue
        assert obeys(form.act_request(env.state, {}, None, ()), text)
        assert form.read_act(env.state, text) == ("so", write(move))
    assert not obeys(form.plan_request(env.state, {}), json.dumps({"thought": "so", "steps": []}))


def test_of_a_plan_that_was_cut_off_the_beginning_is_kept() -> None:
    env = environment()
    text = json.dumps({"thought": "so", "steps": [as_step(move) for move in MOVES[1:]]})
    plan = env.prompt_format("chat").read_plan(env.state, text[: text.index('"finish"')])
    assert (plan.valid, plan.actions) == (False, tuple(write(move) for move in MOVES[1:3]))


def test_findings_are_those_of_the_hops_in_turn() -> None:
    env, second = environment(), replace(FOUND, finding="Ada Quill", title="Belmar Yards")
    text = json.dumps({"thought": "", "steps": [as_step(FOUND), as_step(second)]})
    searches = [read(action) for action in env.prompt_format("chat").read_plan(env.state, text).actions]
    assert searches == [replace(FOUND, hop=1), replace(second, hop=2, bridge="Ada Quill")]


def test_no_request_for_an_answer_is_longer_than_the_longest_one() -> None:
    env = environment("open")
    for k in range(25):
        env.step(f"search: the firm that was founded {k} " + "x" * 300)
        env.step(find(k + 1, "y" * 300, "z" * 100))
    env.step("answer: " + "w" * 900)
    env.step("nonsense " + "v" * 900)

    def size(request: Request) -> int:
        return len(text_of(request).encode())

    assert size(env.answer_request(env.state, "chat")) <= size(env.longest_answer_request("chat"))
