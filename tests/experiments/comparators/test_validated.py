"""One plan, with the feedback of an exact validator."""

from pathlib import Path

import pytest

pytest.importorskip("unified_planning")

from envs.pddl import PddlEnvironment
from experiments.comparators.validated import ROUNDS, ValidatedPlanAgent
from tape.errors import ConfigError
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.tools import ToolEnvironment, tool
from tests.envs.pddl.problems import BLOCKS, TOWER, written

WRONG = "unstack(blue, red)"
RIGHT = "unstack(red, blue)\nstack(red, yellow)\npick_up(blue)\nstack(blue, red)"


def played(folder: Path, *answers: str) -> tuple[list[str], str, int]:
    asked: list[str] = []

    def model(request: Request, sample: int) -> str:
        del sample
        asked.append(request.prompt[-1].content)  # type: ignore[union-attr]
        return answers[min(len(asked), len(answers)) - 1]

    env = PddlEnvironment(*written(folder, BLOCKS, TOWER))
    result = ValidatedPlanAgent(ScriptedLM(model)).run(env)
    return asked, result.end_state, result.steps


def test_a_wrong_plan_is_told_and_sampled_again(tmp_path: Path) -> None:
    asked, end, _ = played(tmp_path, WRONG, "unstack(red, blue)", RIGHT)
    assert "Last:" not in asked[0]
    assert f"Last: this plan is wrong: {WRONG}. Why: (unstack blue red) needs (on blue red)" in asked[1]
    assert "Last: this plan is wrong: unstack(red, blue). Why: the plan does not reach" in asked[2]
    assert (len(asked), end) == (3, "success")


def test_the_last_plan_is_executed_right_or_wrong(tmp_path: Path) -> None:
    asked, end, steps = played(tmp_path, WRONG)
    assert (len(asked), end, steps) == (ROUNDS, "failure", 1)


def test_it_plays_planning_problems_alone() -> None:
    @tool(usd="0.01")
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    with pytest.raises(ConfigError, match="plays planning problems"):
        ValidatedPlanAgent(ScriptedLM(lambda *_: "")).run(ToolEnvironment("Add.", [add], budget="3 steps"))
