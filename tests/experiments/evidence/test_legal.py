"""How many calls of a model's plans apply."""

from pathlib import Path

import pytest

pytest.importorskip("unified_planning")

from envs.pddl import PddlEnvironment
from experiments.evidence.legal import legal
from tape import ReactAgent, TapeAgent
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tests.envs.pddl.problems import BLOCKS, TOWER, written

PLANS = (
    "unstack(red, blue)\nput_down(red)\npick_up(yellow)",
    "unstack(red, blue)\nstack(red, yellow)\npick_up(red)\nput_down(red)",
    "unstack(red, blue)\nput_down(red)\npick_up(red)\nstack(red, yellow)\npick_up(blue)\nstack(blue, red)",
    "stack(red, yellow)",
)


def model(request: Request, sample: int) -> str:
    if request.role == "act":
        return "# next\npick_up(red)"
    return PLANS[sample] if request.role == "plan" else "reached"


def test_calls_count_up_to_the_first_that_does_not_apply(tmp_path: Path) -> None:
    env = PddlEnvironment(*written(tmp_path, BLOCKS, TOWER))
    trace = tmp_path / "trace.jsonl"
    result = TapeAgent(ScriptedLM(model)).run(env, trace=trace)
    assert result.success
    counts = legal(trace, env.domain)
    assert counts == {"calls": 13, "legal": 11, "plans": 4, "whole": 2, "walks": 1, "joined": 1}
    assert result.steps == 4  # the second plan's beginning with the third one's end


def test_without_plans_the_calls_that_are_made_count(tmp_path: Path) -> None:
    env = PddlEnvironment(*written(tmp_path, BLOCKS, TOWER), caps={"steps": 3})
    trace = tmp_path / "trace.jsonl"
    ReactAgent(ScriptedLM(model)).run(env, trace=trace)
    assert legal(trace, env.domain) == {"calls": 3, "legal": 0, "plans": 0, "whole": 0, "walks": 0, "joined": 0}
