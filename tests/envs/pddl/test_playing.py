"""Exact semantics, costs, preferences, planners and agents."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("unified_planning")

from envs.pddl import PddlEnvironment
from envs.pddl.search import Bounds
from envs.pddl.state import as_state
from envs.travelplanner.declared_lm import DeclaredLM
from tape import TapeAgent
from tape.protocols import Action, Environment, State
from tape.testing import EnvironmentConformance
from tests.envs.pddl.problems import BLOCKS, IMPOSSIBLE, ROADS, TOWER, TRIP, WISHES, written

MODEL = DeclaredLM("first")
PLAIN = (
    ROADS.replace("(>= (fuel) 0)", "").replace("(increase (fuel) 2)", "").replace("(fuel)", ""),
    TRIP.replace("(= (fuel) 0)", ""),
)
"""The roads without a number in a condition, which pyperplan does not take."""


class TestConformance(EnvironmentConformance):
    """The suite of environments."""

    from envs.pddl.plugin import PLUGIN as plugin

    prompt_formats = ("chat",)

    def actions(self, environment: Environment, state: State) -> Sequence[Action]:
        """Those that apply."""
        assert isinstance(environment, PddlEnvironment)
        return environment.domain.applicable(as_state(state))

    @pytest.fixture(autouse=True)
    def _files(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        if not type(self).arguments:
            domain, problem = written(tmp_path_factory.mktemp("pddl"), BLOCKS, TOWER)
            type(self).arguments = ("--domain", str(domain), "--problem", str(problem))


def environment(folder: Path, domain: str, problem: str, **options: object) -> PddlEnvironment:
    return PddlEnvironment(*written(folder, domain, problem), **options)  # type: ignore[arg-type]


def test_what_does_not_apply_is_explained_and_costs_a_step(tmp_path: Path) -> None:
    env = environment(tmp_path, BLOCKS, TOWER)
    before = env.domain.project(env.reset(0))
    observation, cost = env.step("unstack(blue, red)")
    assert dict(cost) == {"steps": 1}
    assert env.domain.project(observation) == before
    assert "(unstack blue red) needs (on blue red)" in observation.text
    for wrong in ("unstack(blue)", "lift(blue)", "unstack(blue, green)", "unstack blue"):
        assert "nothing was done" in env.step(wrong)[0].text


def test_a_state_has_one_key_however_it_was_reached(tmp_path: Path) -> None:
    env = environment(tmp_path, BLOCKS, TOWER)
    start = env.domain.project(env.reset(0))
    there = env.domain.outcome(start, "pick_up(yellow)").state
    back = env.domain.outcome(there, "put_down(yellow)").state
    assert env.domain.key(back) == env.domain.key(start) != env.domain.key(there)


def test_costs_are_what_actions_add(tmp_path: Path) -> None:
    env = environment(tmp_path, ROADS, TRIP)
    state = env.domain.project(env.reset(0))
    assert dict(env.domain.cost(state, "drive(a, b)")) == {
        "steps": 1,
        "total_cost": 7_000_000,
        "duration": 10_000_000,
    }
    assert env.domain.saves == "total_cost"


@pytest.mark.parametrize(
    ("caps", "ridden"),
    [({}, 2), ({"duration": 75}, 1), ({"duration": 30}, 0), ({"duration": 75, "total_cost": 6}, 1), ({"fuel": 1}, 2)],
)
@pytest.mark.parametrize("proposer", ["declared", "planner:pyperplan"])
def test_caps_that_a_planner_does_not_know_decide(
    caps: dict[str, int], ridden: int, proposer: str, tmp_path: Path
) -> None:
    if proposer != "declared":
        caps = {name: most for name, most in caps.items() if name != "fuel"}
    env = environment(tmp_path, *((ROADS, TRIP) if proposer == "declared" else PLAIN), caps=caps)
    result = TapeAgent(MODEL, num_plans=8, proposer=proposer).run(env)
    assert result.success
    assert sum(action.startswith("ride") for action in result.actions) == ridden
    assert result.lm_calls == {}


def test_caps_that_nothing_fits_are_named(tmp_path: Path) -> None:
    env = environment(tmp_path, ROADS, TRIP, caps={"duration": 75, "total_cost": 3})
    result = TapeAgent(MODEL, proposer="declared").run(env)
    assert result.end_state == "infeasible"
    assert "5.5 units of total_cost" in result.detail


def test_preferences_are_paid_at_the_end(tmp_path: Path) -> None:
    env = environment(tmp_path, ROADS, WISHES)
    result = TapeAgent(MODEL, proposer="declared").run(env)
    assert result.success
    # To go by b costs 1 more and saves 5; c is left no more, so the preference for d is paid.
    assert tuple(result.actions) == ("ride(a, b)", "ride(b, c)", "finish()")
    assert result.used["metric"] == 4_000_000


@pytest.mark.parametrize(
    ("problem", "bounds", "said"),
    [
        (IMPOSSIBLE, Bounds(), "reported unsolvable by pyperplan"),
        (TOWER, Bounds(seconds=0.05), "not found within the bounds: pyperplan took longer than 0.05 s"),
        (TOWER, Bounds(memory=60), "not found"),
    ],
)
def test_no_plan_says_which_kind_of_no(problem: str, bounds: Bounds, said: str, tmp_path: Path) -> None:
    env = environment(tmp_path, BLOCKS, problem, bounds=bounds)
    result = TapeAgent(MODEL, proposer="planner:pyperplan").run(env)
    assert result.end_state == "no_plan"
    assert said in result.detail
    assert ("unsolvable" in result.detail) == (problem == IMPOSSIBLE)


def test_a_planner_that_is_not_installed_is_named(tmp_path: Path) -> None:
    from tape.errors import ConfigError

    env = environment(tmp_path, BLOCKS, TOWER)
    with pytest.raises(ConfigError, match=r"the planner nobody is not installed.*installed: .*pyperplan"):
        TapeAgent(MODEL, proposer="planner:nobody").run(env)


def test_several_plans_differ_and_are_plans(tmp_path: Path) -> None:
    import asyncio

    from envs.pddl.planners import ask

    env = environment(tmp_path, *PLAIN)
    answer = asyncio.run(ask(env.domain, "pyperplan", env.domain.task.start, 4))
    assert len({tuple(plan) for plan in answer.plans}) == len(answer.plans) > 1
    assert all(first != second for first, second in pairwise(answer.plans))
    assert answer.wrong == []


def test_prompts_say_what_actions_need(tmp_path: Path) -> None:
    env = environment(tmp_path, BLOCKS, TOWER)
    state = env.domain.project(env.reset(0))
    request = env.prompt_format("chat").plan_request(state, {"steps": 6})
    asked = request.prompt[-1].content  # type: ignore[union-attr]
    assert 'def stack(b: object, c: object): "Needs: (clear(c) and holding(b)). Then: ' in asked
    assert "Goal: (on(blue, red) and on(red, yellow))" in asked
    plan = env.prompt_format("chat").read_plan(state, "unstack(red, blue)\nstack(red, yellow)\nfly(red)")
    assert plan.actions == ("unstack(red, blue)", "stack(red, yellow)")
    assert not plan.valid


def test_a_planner_ends_with_the_process_that_asked(tmp_path: Path) -> None:
    import json
    import subprocess
    import sys

    domain, problem = written(tmp_path, BLOCKS, TOWER)
    asked = {"domain": str(domain), "problem": str(problem), "planner": "pyperplan", "count": 10**9}
    child = subprocess.Popen(
        [sys.executable, "-m", "envs.pddl.planner_child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    )
    assert child.stdin is not None
    child.stdin.write(json.dumps({**asked, "memory": 2048, "start": None}) + "\n")
    child.stdin.close()  # as the end of the asking process does
    assert child.wait(60) != 0
