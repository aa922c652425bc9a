"""Tools that misbehave: whatever one does, the episode ends, its sums are right, and its result can be written."""

import asyncio
from typing import Any

import pytest

from tape.agents.open_loop import OpenLoopAgent
from tape.lm.scripted import ScriptedLM
from tape.tools import ToolEnvironment
from tests.tape.tools.misbehaving import ERRORS, ONE_CALL, Mute, play, raising, returning


@pytest.mark.parametrize("error", [*ERRORS, StopIteration()], ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(
    ("later", "wall"), [(False, {}), (True, {}), (False, {"wall_seconds": 60})], ids=["plain", "async", "deadline"]
)
def test_whatever_a_tool_raises_is_its_failure_and_is_paid(
    error: BaseException, later: bool, wall: dict[str, int]
) -> None:
    played = play(raising(error, later=later), **wall)
    assert (played.end_state, played.used["usd"], played.steps) == ("failure", 500_000, 1)


def test_ctrl_c_still_interrupts_and_one_that_is_raised_in_another_thread_is_a_failure() -> None:
    with pytest.raises(KeyboardInterrupt):
        play(raising(KeyboardInterrupt(), later=False))
    with pytest.raises(KeyboardInterrupt):
        play(raising(KeyboardInterrupt(), later=True))
    assert play(raising(KeyboardInterrupt(), later=False), wall_seconds=60).end_state == "failure"


@pytest.mark.parametrize("error", [SystemExit(2), asyncio.CancelledError(), ValueError("bad"), Mute()])
def test_a_judge_that_fails_ends_the_episode_as_an_error_of_the_environment(error: BaseException) -> None:
    def judge(answer: Any) -> bool:
        raise error

    env = ToolEnvironment("task", [returning(lambda: 1)], judge=judge)
    played = OpenLoopAgent(ScriptedLM([ONE_CALL])).run(env)
    assert played.end_state == "env_error"
    assert f"the judge of the answer has failed: {type(error).__name__}" in played.detail
