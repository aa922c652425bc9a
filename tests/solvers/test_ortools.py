"""CP-SAT, and SCIP and HiGHS behind MathOpt, answer as every solver must; their outcomes are not overstated."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from solvers import BackendError, ProblemError, Status, check, solve
from solvers.cp_sat import CpSatSolver
from solvers.mathopt import _status
from solvers.testing import CASES, SolverConformance, layered
from tests.solvers.misbehaving import CutShort


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
    problem = next(case.problem for case in CASES if "as often as the budget" in case.title)
    monkeypatch.setattr("solvers.cp_sat._LARGEST_SUM", 2.0**8)
    solution = CpSatSolver()._search(problem, None)
    assert (solution.status, solution.objective) == (Status.FEASIBLE, 4.0)
    assert solution.bound is not None
    assert solution.bound > 4.0


def test_the_number_of_its_workers_reaches_the_search() -> None:
    pytest.importorskip("ortools")
    problem = layered(3, n=24, horizon=10)
    solution = solve(problem, CpSatSolver(workers=2))
    assert solution.status is Status.OPTIMAL
    assert check(problem, solution) == []
    assert CpSatSolver(workers=2)._recipe() == ("solvers.cp_sat:CpSatSolver", {"workers": 2})
    with pytest.raises(ProblemError, match="workers"):
        CpSatSolver(workers=0)


class TestMathOptScip(SolverConformance):
    name = "mathopt:scip"


class TestMathOptHighs(SolverConformance):
    name = "mathopt:highs"


@dataclass(frozen=True)
class Named:
    """Stands in for a member of one of MathOpt's enumerations."""

    name: str


@dataclass(frozen=True)
class Termination:
    """Stands in for MathOpt's."""

    reason: Named
    limit: Named | None = None
    detail: str = "why"


@pytest.mark.parametrize(
    ("reason", "limit", "status"),
    [
        ("OPTIMAL", None, Status.OPTIMAL), ("FEASIBLE", "TIME", Status.FEASIBLE),
        ("FEASIBLE", "MEMORY", Status.FEASIBLE), ("INFEASIBLE", None, Status.INFEASIBLE),
        ("INFEASIBLE_OR_UNBOUNDED", None, Status.INFEASIBLE), ("NO_SOLUTION_FOUND", "TIME", Status.TIMEOUT),
        ("NO_SOLUTION_FOUND", "UNDETERMINED", Status.TIMEOUT), ("NO_SOLUTION_FOUND", "MEMORY", None),
        ("UNBOUNDED", None, None), ("IMPRECISE", None, None), ("NUMERICAL_ERROR", None, None),
        ("OTHER_ERROR", None, None), ("SOMETHING_NEW", None, None),
    ],
)  # fmt: skip
def test_statuses_of_mathopt(reason: str, limit: str | None, status: Status | None) -> None:
    termination = Termination(Named(reason), Named(limit) if limit else None)
    if status is None:
        with pytest.raises(BackendError, match=f"{reason}.*why"):
            _status(termination, limited=True)
        return
    assert _status(termination, limited=True) is status
    if status is Status.TIMEOUT:
        with pytest.raises(BackendError, match=f"{reason} {limit}"):
            _status(termination, limited=False)


def test_every_reason_that_this_ortools_knows_is_mapped() -> None:
    mathopt = pytest.importorskip("ortools.math_opt.python.mathopt")
    from solvers.mathopt import _STATUS

    assert set(_STATUS) == {reason.name for reason in mathopt.TerminationReason}


def test_a_search_that_is_cut_short_has_a_bound_but_no_proof() -> None:
    pytest.importorskip("ortools.math_opt.python.mathopt")
    solution = solve(CASES[0].problem, CutShort(), time_limit=60.0)
    assert (solution.status, solution.objective) == (Status.FEASIBLE, 3.5)
    assert solution.bound == pytest.approx(3.5)
    assert solution.solve_seconds is not None
