"""The end of an episode: the final answer at a limit, whose call is kept back from the start, and the verdict."""

from collections.abc import Sequence
from typing import Any

import pytest

from envs.sokoban.environment import SokobanEnvironment
from tape.agents.react import ReactAgent
from tape.budget import Budget, Resources
from tape.errors import ConfigError, InvalidOutputError, ModelError
from tape.lm.base import Completion, Request
from tape.lm.scripted import ScriptedLM
from tape.protocols import AnswersAtLimit, Observation, State
from tape.trace import AnsweredEvent, LedgerEvent, TraceWriter
from tests.envs.hotpotqa.helpers import environment
from tests.tape.helpers import CORRIDOR, SimulatedModel

PROMPT = "what <answer now or never"
LONGEST = len(PROMPT.split()) + 6


class Quiz(SokobanEnvironment, AnswersAtLimit):
    """Sokoban that also takes the right word for an answer."""

    prompt = PROMPT
    given: str | None = None
    answers_at_limit = property(lambda self: self)

    def longest_answer_request(self, prompt_format: str) -> Request:
        return Request(PROMPT, 6)

    def answer_request(self, state: State, prompt_format: str) -> Request:
        return Request(self.prompt, 6)

    def answer(self, text: str) -> None:
        if not text.strip():
            raise InvalidOutputError("empty")
        self.given = text

    def success(self) -> bool:
        return self.given == "right" or super().success()


class Knowing(SimulatedModel):
    """Moves up, which changes nothing, and gives one final answer."""

    def __init__(self, reply: str = "right") -> None:
        super().__init__(CORRIDOR)
        self.reply = reply

    def _answer(self, request: Request, sample: int) -> str:
        if "answer" in str(request.prompt):
            return self.reply
        return " next: move U action: U"


class Failing(Knowing):
    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        if requests[0].role == "answer":
            raise ModelError("down")
        return await super().generate(requests)


def play(env: Quiz | None = None, model: Knowing | None = None, **options: Any) -> Any:
    trace = TraceWriter("test")
    settings = {"on_limit": "final_answer", **options.pop("settings", {})}
    env = env or Quiz(CORRIDOR, 3)
    result = ReactAgent(model or Knowing(), **settings).run(env, trace=trace, **options)
    return result, trace.events


def test_a_limit_is_answered() -> None:
    result, events = play()
    assert (result.end_state, result.success, result.final_answer) == ("success", True, "right")
    assert (result.steps, result.lm_calls["answer"]) == (3, 1)
    assert [event.text for event in events if isinstance(event, AnsweredEvent)] == ["right"]
    assert play(settings={"horizon": 2})[0].final_answer == "right"
    solved = ReactAgent(SimulatedModel(CORRIDOR), on_limit="final_answer").run(Quiz(CORRIDOR, 4))
    assert (solved.end_state, solved.final_answer, "answer" in solved.lm_calls) == ("success", None, False)


@pytest.mark.parametrize("tokens", [9, 10, 11, 60, 150, 400])
def test_the_call_is_kept_back_and_no_cap_is_broken(tokens: int) -> None:
    result, _ = play(env=Quiz(CORRIDOR), budget=Budget({"tokens": tokens}), settings={"horizon": 50})
    assert result.used.get("tokens", 0) <= tokens
    assert not result.budget_violations
    if tokens < LONGEST:
        assert (result.end_state, result.lm_calls) == ("budget:tokens", {})
    else:
        assert result.end_state == "success"
        assert result.lm_calls["answer"] == 1


def test_an_answer_that_needs_more_than_was_kept_back_takes_what_is_left_or_is_not_given() -> None:
    env = Quiz(CORRIDOR)
    env.prompt = "answer " * 40
    result, _ = play(env=env, budget=Budget({"tokens": 30}), settings={"horizon": 50})
    assert (result.end_state, result.final_answer) == ("budget:tokens", None)
    assert "no final answer" in result.detail
    result, _ = play(env=env, budget=Budget({"tokens": 5000}), settings={"horizon": 2})
    assert result.end_state == "success"


@pytest.mark.parametrize(
    ("model", "answer", "malformed", "detail"),
    [
        (Knowing("wrong"), "wrong", 0, "steps"),
        (Failing(), None, 0, "no final answer: down"),
        (Knowing(""), None, 1, "steps"),
    ],
)
def test_an_answer_that_is_wrong_or_fails_leaves_the_end_as_it_was(
    model: Knowing, answer: str | None, malformed: int, detail: str
) -> None:
    result, _ = play(model=model)
    assert (result.end_state, result.success, result.final_answer) == ("budget:steps", False, answer)
    assert (result.malformed, detail in result.detail) == (malformed, True)


def test_nothing_stays_reserved() -> None:
    for model in (Knowing(), Failing(), Knowing("")):
        _, events = play(model=model, budget=Budget({"tokens": 5000, "calls": 50}))
        kinds = [event.what for event in events if isinstance(event, LedgerEvent) and event.purpose == "lm:answer"]
        assert kinds[0] == "reserve"
        assert kinds[-1] in ("settle", "release")
        assert len(kinds) == 2


def test_an_environment_that_takes_no_answer_is_refused() -> None:
    with pytest.raises(ConfigError, match="SokobanEnvironment takes no final answer"):
        ReactAgent(Knowing(), on_limit="final_answer").run(SokobanEnvironment(CORRIDOR, 3))


# The verdict of an environment that judges when the agent stops


def judged(env: Any) -> Any:
    answering = ScriptedLM(['{"thought": "", "action": "answer: Ada Quill"}'])
    return ReactAgent(answering).run(env, budget=Budget({"steps": 2}))


def test_success_is_checked_once_more_after_the_agent_has_stopped() -> None:
    result = judged(environment())
    assert (result.end_state, result.success, result.detail, result.steps) == ("success", True, "", 2)
    env = environment()
    env.conclude = lambda: 1 / 0  # type: ignore[method-assign, assignment, return-value]
    result = judged(env)
    assert (result.end_state, result.success, "ZeroDivisionError" in result.detail) == ("env_error", False, True)


@pytest.mark.parametrize("broken", [True, False])
def test_after_a_fault_nothing_is_concluded(broken: bool) -> None:
    env, concluded = environment(), []
    plain = env.step

    def step(action: str) -> tuple[Observation, Resources]:
        if broken:
            raise RuntimeError("gone")
        return plain(action)

    env.step = step  # type: ignore[method-assign]
    env.conclude = lambda: concluded.append(1)  # type: ignore[method-assign]
    assert (judged(env).end_state == "env_error", concluded) == (broken, [] if broken else [1])
