"""An environment that judges when the agent stops."""

from typing import Any

import pytest

from tape.agents.react import ReactAgent
from tape.budget import Budget, Resources
from tape.lm.scripted import ScriptedLM
from tape.protocols import Observation
from tests.envs.hotpotqa.helpers import environment

ACT = '{"thought": "", "action": "answer: Ada Quill"}'


def play(env: Any) -> Any:
    return ReactAgent(ScriptedLM([ACT])).run(env, budget=Budget({"steps": 2}))


def test_success_is_asked_once_more_after_the_agent_has_stopped() -> None:
    result = play(environment())
    assert (result.end_state, result.success, result.detail, result.steps) == ("success", True, "", 2)


def test_what_fails_there_is_a_fault_of_the_environment() -> None:
    env = environment()
    env.conclude = lambda: 1 / 0  # type: ignore[method-assign, assignment, return-value]
    result = play(env)
    assert (result.end_state, result.success) == ("env_error", False)
    assert "ZeroDivisionError" in result.detail


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
    result = play(env)
    assert (result.end_state == "env_error", concluded) == (broken, [] if broken else [1])
