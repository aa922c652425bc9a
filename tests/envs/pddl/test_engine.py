"""TAPE as an engine of unified-planning, by the examples and test cases that unified-planning ships for engines."""

from importlib import util
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("unified_planning")

import unified_planning.shortcuts as up
from unified_planning.engines import PlanGenerationResultStatus as Status
from unified_planning.exceptions import UPUsageError
from unified_planning.test.examples import get_example_problems

from envs.pddl.engine import TapeEngine, register

register()
up.get_environment().credits_stream = None
CASES = {name: case for name, case in get_example_problems().items() if TapeEngine.supports(case.problem.kind)}
ENDLESS = ("existential_linear_conditions", "universal_existential_linear_conditions")
"""Test cases with more states than the exact search looks at."""


def conformance() -> dict[str, Any]:
    """The test cases of ``up_test_cases`` that need no files; its report program runs them with the engine, too."""
    spec = util.find_spec("up_test_cases")
    assert spec is not None
    assert spec.origin is not None
    cases: dict[str, Any] = {}
    for file in sorted(Path(spec.origin).parent.glob("builtin/*/*.py")):
        if file.parent.name in ("classical", "numeric") and file.stem not in ("__init__", "block_grouping"):
            loaded = util.spec_from_file_location(file.stem, file)
            assert loaded is not None
            assert loaded.loader is not None
            module = util.module_from_spec(loaded)
            loaded.loader.exec_module(module)
            cases |= {f"{file.stem}: {name}": case for name, case in module.get_test_cases().items()}
    return {name: case for name, case in cases.items() if not name.endswith(ENDLESS)}


CONFORMANCE = conformance()
CASES |= CONFORMANCE


def test_there_are_examples_and_all_test_cases_are_taken() -> None:
    assert len(CASES) - len(CONFORMANCE) > 20
    assert len(CONFORMANCE) > 20
    assert all(TapeEngine.supports(case.problem.kind) for case in CONFORMANCE.values())


@pytest.mark.parametrize("name", CASES)
def test_examples_are_solved(name: str) -> None:
    case = CASES[name]
    with up.OneshotPlanner(name="tape", params={"states": 3000}) as planner:
        result = planner.solve(case.problem)
    assert case.solvable == (result.plan is not None)
    if not case.solvable:
        assert result.status is Status.UNSOLVABLE_PROVEN
        return
    # Where there is no metric, unified-planning's own report takes "optimally" for a mistake.
    assert result.status is (Status.SOLVED_OPTIMALLY if case.problem.quality_metrics else Status.SOLVED_SATISFICING)
    shortest = min((len(plan.actions) for plan in case.valid_plans), default=None)
    if not case.problem.quality_metrics and shortest is not None:
        assert len(result.plan.actions) <= shortest
    if name != "basic_undef_numeric":  # unified-planning's validator takes no undefined numbers
        with up.PlanValidator(problem_kind=case.problem.kind, plan_kind=result.plan.kind) as validator:
            assert validator.validate(case.problem, result.plan).status.name == "VALID"


def test_a_cap_makes_another_plan_best_or_none() -> None:
    problem = CASES["basic_with_costs"].problem
    costs = {}
    for most in (None, 2, 1, 0):
        caps = {} if most is None else {"steps": most}
        with up.OneshotPlanner(name="tape", params={"caps": caps}) as planner:
            result = planner.solve(problem)
        costs[most] = None if result.plan is None else len(result.plan.actions)
    assert costs == {None: 2, 2: 2, 1: 1, 0: None}
    gold = {"caps": {"gold": 1}}
    with up.OneshotPlanner(name="tape", params=gold) as planner, pytest.raises(UPUsageError, match="gold"):
        planner.solve(problem)


def test_the_anytime_planner_ends_with_the_best() -> None:
    problem = CASES["hierarchical_blocks_world"].problem
    with up.AnytimePlanner(name="tape") as planner:
        results = list(planner.get_solutions(problem))
    assert [result.status for result in results[:-1]] == [Status.INTERMEDIATE] * (len(results) - 1)
    assert results[-1].status is Status.SOLVED_SATISFICING  # there is no metric
    lengths = [len(result.plan.actions) for result in results]
    assert lengths == sorted(lengths, reverse=True)


def test_too_many_states_are_left_to_the_other_planner() -> None:
    problem = CASES["basic_without_negative_preconditions"].problem
    with up.OneshotPlanner(name="tape", params={"states": 1, "planner": "pyperplan"}) as planner:
        assert planner.solve(problem).status is Status.SOLVED_SATISFICING


def test_an_objective_that_is_not_taken_is_said_so() -> None:
    problem = up.Problem("gain")
    gained = problem.add_fluent("gained", up.IntType(), default_initial_value=0)
    action = up.InstantaneousAction("gain")
    action.add_increase_effect(gained, 1)
    problem.add_action(action)
    problem.add_quality_metric(up.MaximizeExpressionOnFinalState(gained()))
    result = TapeEngine().solve(problem)
    assert result.status is Status.UNSUPPORTED_PROBLEM
    assert "minimize" in result.log_messages[0].message
    assert [result.status for result in TapeEngine().get_solutions(problem)] == [Status.UNSUPPORTED_PROBLEM]


def test_a_cap_counts_what_there_is_at_the_start() -> None:
    problem = up.Problem("heat")
    done = problem.add_fluent("done", default_initial_value=False)
    heat = problem.add_fluent("heat", up.RealType(), default_initial_value=5)
    action = up.InstantaneousAction("cook")
    action.add_effect(done, True)
    action.add_increase_effect(heat, 2)
    problem.add_action(action)
    problem.add_goal(done)
    assert TapeEngine(caps={"heat": 7}).solve(problem).status is Status.SOLVED_SATISFICING
    assert TapeEngine(caps={"heat": 6}).solve(problem).status is Status.UNSOLVABLE_PROVEN
    assert TapeEngine(caps={"heat": 4}).solve(problem).status is Status.UNSUPPORTED_PROBLEM
    with pytest.raises(UPUsageError, match="caps are numbers"):
        TapeEngine(caps={"heat": "much"})
