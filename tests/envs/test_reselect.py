"""What a step saves against its worst case pays for something better: the path is selected anew, without a model."""

from pathlib import Path

import pytest

from envs.gsm_hard.environment import GsmHardEnvironment
from envs.gsm_hard.generator import generate
from envs.gsm_hard.problem import Problem
from tape.agents.tape import TapeAgent
from tape.budget import Budget
from tape.protocols.result import EpisodeResult
from tape.trace import PathSelectedEvent, read_trace
from tests.envs.tool_scripts import arithmetic_script

PAPER = {"add", "subtract", "multiply", "divide"}
SELECTORS = "experiments.ablations.selectors"
PROBLEMS = [
    p for p in generate("fresh", 60, seed=5) if p.operations == 4 and {s.kind for s in p.program or ()} <= PAPER
][:3]


def play(problem: Problem, folder: Path, **ablations: object) -> tuple[EpisodeResult, list[PathSelectedEvent]]:
    trace = folder / "trace.jsonl"
    agent = TapeAgent(arithmetic_script(problem, "fast"), ablations={"score": "ends", **ablations})
    # Pays one slow tool (1.0 s) and three fast ones (0.2 s); what is really used is half to all of that.
    result = agent.run(GsmHardEnvironment(problem, "paper"), budget=Budget.of(steps=9, seconds=2.2), trace=trace)
    paths = [event for event in read_trace(trace) if isinstance(event, PathSelectedEvent)]
    trace.unlink()
    return result, paths


def slow(result: EpisodeResult) -> int:
    return sum(".slow" in action for action in result.actions)


def test_savings_pay_for_better_tools_and_for_no_call_of_a_model(tmp_path: Path) -> None:
    assert len(PROBLEMS) == 3
    gained = 0
    for problem in PROBLEMS:
        (plain, once), (anew, often) = (play(problem, tmp_path, reselect=on) for on in (False, True))
        assert (len(once), slow(plain)) == (1, 1)
        assert len(often) > 1
        assert slow(anew) >= slow(plain)
        assert anew.lm_calls == plain.lm_calls
        assert anew.used["seconds"] <= 2200
        assert not anew.budget_violations
        gained += slow(anew) > slow(plain)
    assert gained > 0


def test_the_model_selects_anew_where_the_solver_would(tmp_path: Path) -> None:
    (_, solved), (asked, chosen) = (
        play(PROBLEMS[0], tmp_path, selector=name) for name in ("solver", f"{SELECTORS}:LmSelector")
    )
    assert len(solved) > 1
    assert asked.lm_calls["select"] == len(chosen) > 1


@pytest.mark.parametrize("settings", [{"selector": f"{SELECTORS}:PlanSelector"}, {"replan": False}])
def test_it_is_left_alone_where_it_must_be(tmp_path: Path, settings: dict[str, object]) -> None:
    result, paths = play(PROBLEMS[0], tmp_path, **settings)
    assert len(paths) == 1
    assert result.end_state in ("success", "failure", "budget:seconds")
