"""Whole episodes of SDP: with a general model, and with the scripted reader."""

import json
from pathlib import Path
from typing import Any

import pytest

from envs.hotpotqa.actions import write
from envs.hotpotqa.environment import HotpotEnvironment
from envs.hotpotqa.sdp import HopAdapter
from envs.hotpotqa.search import TitledCorpus, with_distractors
from envs.musique.corpus import load_corpus, load_questions
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.methods.sdp.agent import SdpAgent
from tape.protocols.result import EpisodeResult
from tests.envs.hotpotqa.helpers import QUESTION, answer, environment, found, knowing, setting, sub_questions
from tests.envs.hotpotqa.test_environment import MOVES, player
from tests.envs.tool_scripts import split_script
from tests.profiles import parts


def play(
    env: HotpotEnvironment, lm: ScriptedLM | None = None, trace: Path | None = None, **switches: Any
) -> EpisodeResult:
    settings = {"chain": "adapter", **switches.pop("sdp", {})}
    return SdpAgent(lm or knowing(), sdp=settings, **switches).run(env, trace=trace)


@pytest.mark.parametrize("benchmark", ["hotpotqa", "musique"])
@pytest.mark.parametrize("mode", ["distractor", "open"])
def test_a_model_that_knows_is_certified_hop_by_hop(mode: str, benchmark: str) -> None:
    result = play(environment(mode, benchmark=benchmark))
    assert result.end_state == "success", result.detail
    expected = {"certified": 4, "chain_length": 4, "goal_certified": True, "cascades": 1, "rejections": 0}
    assert {name: result.method[name] for name in expected} == expected
    searches = sum(action.startswith("search:") for action in result.actions)
    assert (result.steps, searches) == ((3, 0) if mode == "distractor" else (5, 2))


def test_a_wrong_title_costs_nothing_and_a_wrong_finding_an_attempt() -> None:
    wrong = iter([("Belmar Yards", "Corvo (film)"), ("Fenn Garrow", "Elmo Works")])

    def change(request: Request, text: str) -> str | None:
        if request.role != "realize" or (made := next(wrong, None)) is None:
            return None
        return found(*made)

    result = play(environment(), knowing(change))
    assert (result.success, result.method["rejections"], result.steps) == (True, 1, 4)


def test_after_b_failures_it_replans_and_keeps_the_first_hop(tmp_path: Path) -> None:
    def change(request: Request, text: str) -> str | None:
        if request.role == "realize" and "Question: Who founded" in text:
            return found("", "")
        if request.role == "propose" and "did not work out" in text:
            return sub_questions("By whom was #1 founded?")
        return None

    trace = tmp_path / "trace.jsonl"
    result = play(environment(), knowing(change), trace)
    assert result.success, result.detail
    assert (result.method["rejections"], result.replans) == (3, 1)
    chains = [json.loads(line) for line in trace.read_text().splitlines() if '"sdp_chain"' in line]
    assert [len(event["targets"]) for event in chains] == [4, 3]
    assert chains[1]["certified"] == 1


def test_caps_hold_where_nothing_is_ever_found() -> None:
    def change(request: Request, text: str) -> str | None:
        del text
        return found("unknown", "") if request.role == "realize" else None

    for mode, benchmark, cap in (("distractor", "hotpotqa", 20), ("open", "musique", 25)):
        result = play(environment(mode, benchmark=benchmark), knowing(change))
        assert (result.end_state, result.method["certified"]) in (("replan_limit", 0), ("budget:steps", 0))
        assert result.steps <= cap
        assert result.replans <= 2
        assert result.method["rejections"] <= 9


def test_an_answer_that_the_validator_rejects_is_revised() -> None:
    answers = iter(["unknown", "Ada Quill"])

    def change(request: Request, text: str) -> str | None:
        return answer(next(answers)) if request.role == "answer" else None

    result = play(environment(), knowing(change))
    assert (result.success, result.method["rejections"]) == (True, 1)
    assert result.actions[-2:] == ["answer: unknown", "answer: Ada Quill"]


def test_no_prompt_reveals_that_a_rejected_answer_was_right() -> None:
    # MuSiQue's checks reject "Ada Quill" here; the environment does not stop at it all the same.
    def change(request: Request, text: str) -> str | None:
        if request.role == "validate" and "follow from these findings" in text:
            return "no"
        if request.role == "answer":
            return answer("Fenn Garrow" if "rejected" in text else "Ada Quill")
        return None

    result = play(environment(benchmark="musique"), knowing(change))
    assert (result.success, result.method["goal_certified"]) == (False, False)
    assert "answer: Fenn Garrow" in result.actions


@pytest.mark.parametrize("mode", ["distractor", "open"])
def test_without_validation_searches_still_certify_nothing(mode: str) -> None:
    result = play(environment(mode), sdp={"validation": "always"})
    assert (result.success, result.method["certified"], result.method["rejections"]) == (True, 4, 0)


def test_the_chain_of_a_path_has_a_target_per_action_and_the_goal() -> None:
    name, bare = 'find: {"hop": 2, "sub": "Who founded #1?", "finding": "x"}', 'find: {"finding": "x"}'
    actions = ["search: Aldera", name, "answer: x", "finish", "nonsense"]
    chain = HopAdapter(setting()).along([None] * 6, actions)
    assert [target.kind for target in chain] == ["searched", "hop", "answer", "finished", "refused", "goal"]
    assert (chain[1].field("hop"), chain[1].field("sub")) == ("2", "Who founded #1?")
    assert HopAdapter(setting()).along([None] * 2, [bare])[0].field("sub") == QUESTION.text
    assert [target.goal for target in chain] == [False] * 5 + [True]


@pytest.mark.parametrize("chain", ["walk", "sample"])
def test_chains_from_paths_and_samples_are_played_with_a_general_model(chain: str) -> None:
    planning = player(MOVES)

    def reply(request: Request, sample: int) -> str:
        return "yes" if request.role == "validate" else str(planning._reply(request, sample))

    result = SdpAgent(ScriptedLM(reply), sdp={"chain": chain}).run(environment("open"))
    assert (result.end_state, result.method["certified"], result.method["chain_length"]) == ("success", 4, 4)
    assert result.actions == [write(move) for move in MOVES[:3]]


CORPUS = TitledCorpus(load_corpus())


@parts(4)
@pytest.mark.parametrize("mode", ["distractor", "open"])
def test_the_scripted_reader_answers_all_questions_that_are_decomposed_rightly(mode: str, part: slice) -> None:
    for question in load_questions("dev")[part]:
        where: dict[str, Any] = {"corpus": CORPUS} if mode == "open" else {"given": with_distractors(question, CORPUS)}
        env = HotpotEnvironment(question, benchmark="musique", reader="scripted", **where)
        result = play(env, split_script(question))
        assert (result.success, result.method["goal_certified"]) == (True, True), (question.id, result.detail)
        assert result.method["certified"] == question.operations + 2


def test_validation_catches_simulated_errors_that_always_passing_lets_through() -> None:
    def solved(**switches: Any) -> int:
        count = 0
        for question in questions:
            given = with_distractors(question, CORPUS)
            env = HotpotEnvironment(question, benchmark="musique", given=given, reader="scripted", errors=0.3)
            count += play(env, split_script(question), **switches).success
        return count

    questions = load_questions("dev")[:10]
    n = len(questions)
    assert solved() >= n - 2
    assert solved(sdp={"validation": "always"}) < 0.7 * n


def test_certified_hops_are_true_by_the_decomposition(tmp_path: Path) -> None:
    question = load_questions("dev")[0]
    given = with_distractors(question, CORPUS)
    env = HotpotEnvironment(question, given=given, reader="scripted", errors=0.3)
    trace = tmp_path / "trace.jsonl"
    play(env, split_script(question), trace)
    events = [json.loads(line) for line in trace.read_text().splitlines() if '"sdp_validated"' in line]
    checks = [check for event in events for check in event["checks"]]
    assert any(check["holds"] for check in checks)
    assert all(check["truth"] is True for check in checks if check["holds"])
    assert not any("injected" in json.dumps(event) for event in events)
