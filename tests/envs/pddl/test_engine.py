"""TAPE as an engine of unified-planning, by the example problems that unified-planning ships for its engines' tests."""

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


def test_there_are_examples() -> None:
    assert len(CASES) > 20


@pytest.mark.parametrize("name", CASES)
def test_examples_are_solved(name: str) -> None:
    case = CASES[name]
    with up.OneshotPlanner(name="tape", params={"states": 3000}) as planner:
        result = planner.solve(case.problem)
    assert case.solvable == (result.plan is not None)
    assert result.status is Status.SOLVED_OPTIMALLY
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
    assert results[-1].status is Status.SOLVED_OPTIMALLY
    lengths = [len(result.plan.actions) for result in results]
    assert lengths == sorted(lengths, reverse=True)


def test_too_many_states_are_left_to_the_other_planner() -> None:
    problem = CASES["basic_without_negative_preconditions"].problem
    with up.OneshotPlanner(name="tape", params={"states": 1, "planner": "pyperplan"}) as planner:
        assert planner.solve(problem).status in (Status.SOLVED_SATISFICING, Status.SOLVED_OPTIMALLY)


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


def test_a_cap_counts_what_there_is_at_the_start() -> None:
    problem = up.Problem("heat")
    done = problem.add_fluent("done", default_initial_value=False)
    heat = problem.add_fluent("heat", up.RealType(), default_initial_value=5)
    action = up.InstantaneousAction("cook")
    action.add_effect(done, True)
    action.add_increase_effect(heat, 2)
    problem.add_action(action)
    problem.add_goal(done)
    assert TapeEngine(caps={"heat": 7}).solve(problem).status is Status.SOLVED_OPTIMALLY
    assert TapeEngine(caps={"heat": 6}).solve(problem).status is Status.UNSOLVABLE_PROVEN
    assert TapeEngine(caps={"heat": 4}).solve(problem).status is Status.UNSUPPORTED_PROBLEM
    with pytest.raises(UPUsageError, match="caps are numbers"):
        TapeEngine(caps={"heat": "much"})
