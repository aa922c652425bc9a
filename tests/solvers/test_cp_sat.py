"""CP-SAT answers as every solver must."""

from __future__ import annotations

import pytest

from solvers import Status, solve
from tests.solvers.conformance import CASES, SolverConformance


class TestCpSat(SolverConformance):
    name = "cp-sat"


@pytest.mark.parametrize(
    ("said", "status"),
    [("UNKNOWN", Status.TIMEOUT), ("INFEASIBLE", Status.INFEASIBLE), ("MODEL_INVALID", Status.ERROR)],
)
def test_what_cp_sat_says_is_not_taken_for_more(monkeypatch: pytest.MonkeyPatch, said: str, status: Status) -> None:
    cp_model = pytest.importorskip("ortools.sat.python.cp_model")
    monkeypatch.setattr(cp_model.CpSolver, "status_name", lambda *_: said)
    solution = solve(CASES[0].problem, "cp-sat")
    assert (solution.status, solution.has_walk) == (status, False)


def test_a_bound_that_does_not_close_the_gap_is_not_optimal(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = next(case.problem for case in CASES if "as often as the budget" in case.title)
    monkeypatch.setattr("solvers.cp_sat._LARGEST_SUM", 2.0**8)
    solution = solve(problem, "cp-sat")
    assert (solution.status, solution.objective) == (Status.FEASIBLE, 4.0)
    assert solution.bound is not None
    assert solution.bound > 4.0
