"""networkx finds the longest path of problems without budgets, and refuses the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from solvers import PathProblem, Status, UnsupportedProblemError, solve
from solvers.testing import CASES, Case, SolverConformance, layered, small

UNBUDGETED = [case for case in CASES if not case.problem.budgets]
SUITE = SolverConformance()  # in part: it refuses the suite's problems with budgets
SUITE.name = "networkx"


def without_budgets(problem: PathProblem) -> PathProblem:
    """The problem, less its resources."""
    return replace(problem, costs=[], budgets=[], resources=[])


def agrees_with_brute_force(problem: PathProblem) -> None:
    SUITE.agrees_with_brute_force(problem)


@pytest.mark.parametrize("example", UNBUDGETED, ids=lambda example: example.title)
def test_hand_made_problem(example: Case) -> None:
    SUITE.test_hand_made_problem(example)


@pytest.mark.parametrize("block", range(6))
def test_brute_force_agrees(block: int) -> None:
    for seed in range(block * 10, block * 10 + 10):
        agrees_with_brute_force(without_budgets(small(seed)))


def test_labelling_agrees_on_a_medium_problem() -> None:
    problem = without_budgets(layered(0, n=60, horizon=20))
    assert solve(problem, "networkx").objective == pytest.approx(solve(problem).objective, rel=1e-12)


def test_budgets_are_refused_by_name_with_solvers_that_can() -> None:
    problem = replace(CASES[0].problem, costs=[[1], [1]], budgets=[9], resources=["usd"])
    with pytest.raises(UnsupportedProblemError, match="usd") as caught:
        solve(problem, "networkx")
    assert caught.value.name == "networkx"
    assert "labelling" in caught.value.instead


def test_a_hopeless_time_limit_is_never_taken_for_a_proof_of_infeasibility() -> None:
    solution = solve(CASES[0].problem, "networkx", time_limit=1e-6)
    assert solution.status in (Status.OPTIMAL, Status.TIMEOUT)
