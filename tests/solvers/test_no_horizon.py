"""Problems without a horizon: there is no limit on moves, and an error where none would be enough."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from solvers import EndlessError, PathProblem, ProblemError, check, enough_moves, explain, k_best, solve
from tests.solvers.test_visit import CIRCLE, visiting

FREE = replace(CIRCLE, horizon=None)


def test_the_best_path_is_that_of_enough_moves() -> None:
    answered = 0
    for seed in range(150):
        problem = replace(visiting(seed), horizon=None)
        try:
            moves = enough_moves(problem)
        except EndlessError as error:
            with pytest.raises(EndlessError, match=re.escape(str(error))):
                solve(problem)
            continue
        if moves > 12:
            continue
        answered += 1
        limited = replace(problem, horizon=moves)
        answer, same = solve(problem), solve(limited)
        assert (answer.status, answer.edges, answer.objective) == (same.status, same.edges, same.objective)
        assert check(problem, answer) == []
        assert [solution.edges for solution in k_best(problem, 3)] == [
            solution.edges for solution in k_best(limited, 3)
        ]
    assert answered > 50


@pytest.mark.parametrize("solver", ["labelling", "cp-sat"])
def test_every_solver_is_given_a_horizon(solver: str) -> None:
    if solver == "cp-sat":
        pytest.importorskip("ortools")
    answer = solve(FREE, solver)
    assert (answer.status, len(answer.edges), answer.objective) == ("OPTIMAL", 10, 5.0)


def test_a_circle_without_end_is_named() -> None:
    endless = replace(FREE, costs=[[0], [0], [2]])
    for ask in (solve, lambda problem: k_best(problem, 2)):
        with pytest.raises(EndlessError, match="has no end: it earns and takes nothing of what is capped; set a hor"):
            ask(endless)
    assert solve(replace(endless, horizon=4)).status == "OPTIMAL"


def test_what_would_do_needs_no_horizon() -> None:
    why = explain(replace(FREE, budgets=[1]))
    assert why.status == "INFEASIBLE"
    assert (why.budgets[0].least, why.horizon, why.proven) == (3, None, True)
    assert "horizon" not in str(why)
    assert explain(FREE).status == "FEASIBLE"


def test_without_time_there_is_no_answer() -> None:
    assert solve(FREE, time_limit=1e-9).status == "TIMEOUT"


def test_staying_needs_a_horizon() -> None:
    with pytest.raises(ProblemError, match="horizon = None: staying earns at every step, so set a horizon"):
        replace(FREE, objective="stay")
    data = json.loads(replace(CIRCLE, objective="stay").to_json())
    del data["horizon"]
    with pytest.raises(ProblemError, match="horizon = None"):
        PathProblem.from_json(json.dumps(data))
    with pytest.raises(ProblemError, match="horizon = None: this needs one"):
        _ = FREE.steps
    assert CIRCLE.steps == 1


def test_it_is_written_and_read() -> None:
    assert PathProblem.from_json(FREE.to_json()) == FREE
    assert "horizon" not in json.loads(FREE.to_json())
    assert PathProblem.from_json(CIRCLE.to_json()) == CIRCLE
