"""CP-SAT answers as every solver must; its outcomes are not overstated."""

from __future__ import annotations

import pytest

from solvers import BackendError, ProblemError, Status, check, solve
from solvers.cp_sat import CpSatSolver
from solvers.testing import CASES, SolverConformance, layered


class TestCpSat(SolverConformance):
    name = "cp-sat"


@pytest.mark.parametrize(
    ("name", "status"),
    [("UNKNOWN", Status.TIMEOUT), ("INFEASIBLE", Status.INFEASIBLE), ("MODEL_INVALID", Status.ERROR)],
)
def test_statuses_of_cp_sat(monkeypatch: pytest.MonkeyPatch, name: str, status: Status) -> None:
    cp_model = pytest.importorskip("ortools.sat.python.cp_model")
    monkeypatch.setattr(cp_model.CpSolver, "status_name", lambda *_: name)
    if status is Status.ERROR:
        with pytest.raises(BackendError, match="invalid"):
            CpSatSolver()._search(CASES[0].problem, None)
        return
    solution = CpSatSolver()._search(CASES[0].problem, None)
    assert (solution.status, solution.has_path) == (status, False)
    assert solution.solve_seconds is not None


def test_a_bound_that_does_not_close_the_gap_is_not_optimal(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ortools")
    problem = layered(0, n=24, horizon=10, resources=3)
    monkeypatch.setattr("solvers.cp_sat._LARGEST_SUM", 2.0**14)
    solution = CpSatSolver()._search(problem, None)
    assert (solution.status, solution.objective) == (Status.FEASIBLE, solve(problem).objective)
    assert solution.bound is not None
    assert solution.objective is not None
    assert solution.bound > solution.objective + 0.005


def test_the_number_of_its_workers_reaches_the_search() -> None:
    pytest.importorskip("ortools")
    problem = layered(3, n=24, horizon=10)
    solution = solve(problem, CpSatSolver(workers=2))
    assert solution.status is Status.OPTIMAL
    assert check(problem, solution) == []
    assert CpSatSolver(workers=2)._recipe() == ("solvers.cp_sat:CpSatSolver", {"workers": 2})
    with pytest.raises(ProblemError, match="workers"):
        CpSatSolver(workers=0)
