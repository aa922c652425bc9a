"""`check` catches every rule that an answer can break, and `solve` lets no such answer through."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from solvers import PathProblem, PathSolution, Status, check, consumption_of, objective_of, solve
from tests.solvers.reference import Scripted

PROBLEM = PathProblem(
    n_nodes=4, edges=[(0, 1), (1, 2), (1, 3), (0, 1)], rewards=[0.0, 0.5, 1.0, 0.25],
    costs=[[2, 0], [3, 1], [1, 1], [9, 9]], budgets=[5, 1], start=0, terminals=[2], horizon=4,
    resources=["usd", "steps"],
)  # fmt: skip
GOOD = PathSolution(Status.OPTIMAL, (0, 1), (0, 1, 2), 3.5, 3.5, (5, 1))


def test_a_right_answer_passes() -> None:
    assert check(PROBLEM, GOOD) == []
    assert check(PROBLEM, replace(GOOD, status=Status.FEASIBLE, bound=None)) == []
    assert check(PROBLEM, PathSolution(Status.INFEASIBLE)) == []
    assert check(PROBLEM, PathSolution(Status.TIMEOUT, bound=9.0)) == []


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"status": Status.INFEASIBLE}, "with a path"),
        ({"status": Status.TIMEOUT}, "with a path"),
        ({"status": Status.ERROR}, "with a path"),
        ({"nodes": (), "edges": (), "objective": None, "consumption": ()}, "without a path"),
        ({"nodes": (), "status": Status.TIMEOUT}, "without a path"),
        ({"nodes": (), "edges": (), "consumption": (), "status": Status.TIMEOUT}, "without a path"),
        ({"nodes": (1, 1, 2)}, "not at the start"),
        ({"nodes": (0, 1)}, "need 3 nodes"),
        ({"nodes": (0, 1, 2, 2)}, "need 3 nodes"),
        ({"edges": (0, 2), "nodes": (0, 1, 3)}, "not a terminal"),
        ({"edges": (0,), "nodes": (0, 1)}, "not a terminal"),
        ({"edges": (1, 0)}, "move 0 uses edge 1"),
        ({"edges": (0, 4)}, "does not exist"),
        ({"edges": (0, -3)}, "does not exist"),
        ({"edges": (0, 1.0)}, "does not exist"),
        ({"consumption": (5, 2)}, "(5, 1) is true"),
        ({"consumption": ()}, "is true"),
        ({"edges": (3, 1), "consumption": (12, 10)}, "12 of usd, of which there are 5"),
        ({"edges": (3, 1), "consumption": (12, 10)}, "10 of steps"),
        ({"objective": 3.5 + 1e-6}, "3.5 is true"),
        ({"objective": 1.5, "bound": 1.5}, "3.5 is true"),
        ({"objective": None}, "3.5 is true"),
        ({"objective": float("nan")}, "3.5 is true"),
        ({"bound": 3.4}, "below the objective"),
        ({"bound": float("nan")}, "not a number"),
        ({"bound": 3.6}, "OPTIMAL with the bound"),
        ({"bound": None}, "OPTIMAL with the bound"),
        ({"horizon": 1}, "exceed the horizon 1"),
        (
            {"terminals": [0], "budgets": [-1, 1], "edges": (), "nodes": (0,), "consumption": (0, 0)},
            "the path uses 0 of usd, of which there are -1",
        ),
        (
            {"costs": [[2**53, 0], [1, 0], [0, 0], [0, 0]], "budgets": [2**53, 0], "consumption": (2**53 + 1, 0)},
            "uses 9007199254740993 of usd",
        ),
    ],
)
def test_a_broken_rule_is_named(changes: dict[str, Any], fault: str) -> None:
    of_problem = {name: changes[name] for name in changes.keys() & {"horizon", "terminals", "budgets", "costs"}}
    of_answer = {name: value for name, value in changes.items() if name not in of_problem}
    faults = check(replace(PROBLEM, **of_problem), replace(GOOD, **of_answer))
    assert any(fault in text for text in faults), faults


def test_the_objective_counts_free_stays_and_discounts() -> None:
    assert objective_of(PROBLEM, (0, 1)) == 0.5 + 3 * 1.0
    assert objective_of(replace(PROBLEM, discount=0.5), (0, 1)) == 0.5 + 0.5 + 0.25 + 0.125
    assert objective_of(replace(PROBLEM, rewards=[-2.0, 0, 0, 0], terminals=[0]), ()) == -8.0
    assert consumption_of(PROBLEM, (0, 1)) == (5, 1)
    assert consumption_of(PROBLEM, ()) == (0, 0)


def test_solve_adds_the_solver_and_the_time_to_a_right_answer() -> None:
    solution = solve(PROBLEM, Scripted(0, GOOD))
    assert replace(solution, seconds=0.0) == replace(GOOD, solver="scripted")
    assert solution.seconds >= 0


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (replace(GOOD, edges=(3, 1), consumption=(12, 10)), "12 of usd"),
        (RuntimeError("out of luck"), "RuntimeError: out of luck"),
        (None, ""),
    ],
)
def test_any_other_answer_becomes_an_error_without_a_path(answer: Any, message: str) -> None:
    solution = solve(PROBLEM, Scripted(0, answer))
    assert (solution.status, solution.has_path, solution.objective) == (Status.ERROR, False, None)
    assert message in solution.message
