"""Rewards of magnitudes far apart: no solver calls a path OPTIMAL that rounding may have put before a better one."""

from __future__ import annotations

import pytest

from solvers import PathProblem, Status, k_best, next_budget, solve


def four_ways(penalty: float, *rewards: float) -> PathProblem:
    """To the end by one of four nodes."""
    edges = [*((0, node) for node in (1, 2, 3, 4)), *((node, 5) for node in (1, 2, 3, 4))]
    return PathProblem(6, edges, [0, *rewards, penalty, 0], [], [], 0, [5], 2)


@pytest.mark.parametrize("solver", ["labelling", "cp-sat", "pulp:cbc", "pulp:highs"])
@pytest.mark.parametrize("penalty", [-1e3, -1e9, -1e12, -1e14, -1e17, -1e200])
def test_what_is_called_optimal_is_the_best(solver: str, penalty: float) -> None:
    if solver != "labelling":
        pytest.importorskip("ortools" if solver == "cp-sat" else "pulp")
    for rewards in ((0.3, 0.9, 0.2), (0.9, 0.3, 0.2), (0.123456, 0.123457, 0.1), (3.0, 1e5 / 7, 1e5 / 7 + 1e-3)):
        answer, best = solve(four_ways(penalty, *rewards), solver), max(rewards)
        assert answer.status in (Status.OPTIMAL, Status.FEASIBLE)
        assert answer.bound is not None
        assert answer.bound >= best - 1e-6 * max(1.0, best)
        assert answer.status is Status.FEASIBLE or answer.objective == pytest.approx(best, rel=1e-6)
        assert penalty < -1e3 or answer.status is Status.OPTIMAL


def test_where_the_digits_do_not_reach_the_answer_says_so() -> None:
    problem = four_ways(-1e17, 0.3, 0.9, 0.2)
    answer = solve(problem)
    assert answer.status is Status.FEASIBLE
    assert "beside rewards of up to 1e+17 objectives are told apart by" in answer.message
    paths = k_best(problem, 2)
    assert paths.status is Status.FEASIBLE
    assert all(path.bound is not None and path.bound >= 0.9 for path in paths)
    assert solve(four_ways(-1e14, 3, 9, 2)).status is Status.OPTIMAL  # whole numbers, which are not rounded


def test_the_search_for_a_larger_budget_ends_where_a_circle_that_earns_is_never_reached() -> None:
    """Going round costs of the first budget alone; getting there and back exceeds the second one."""
    edges, costs = [(0, 1), (1, 1), (1, 0), (0, 0)], [[0, 2], [2, 0], [0, 3], [0, 2]]
    problem = PathProblem(2, edges, [1, 1], costs, [2, 3], 0, [0], objective="visit")
    need = next_budget(problem, "r0")
    assert (need.least, need.proven) == (None, False)
