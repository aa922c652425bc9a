"""SCIP and HiGHS behind MathOpt answer as every solver must; their outcomes are not taken for more than they are."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from solvers import BackendError, Status, solve
from solvers.mathopt import _status
from solvers.testing import CASES, SolverConformance
from tests.solvers.misbehaving import CutShort


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
        ("OPTIMAL", None, Status.OPTIMAL),
        ("FEASIBLE", "TIME", Status.FEASIBLE),
        ("FEASIBLE", "MEMORY", Status.FEASIBLE),
        ("INFEASIBLE", None, Status.INFEASIBLE),
        ("INFEASIBLE_OR_UNBOUNDED", None, Status.INFEASIBLE),
        ("NO_SOLUTION_FOUND", "TIME", Status.TIMEOUT),
        ("NO_SOLUTION_FOUND", "UNDETERMINED", Status.TIMEOUT),
        ("NO_SOLUTION_FOUND", "MEMORY", None),
        ("UNBOUNDED", None, None),
        ("IMPRECISE", None, None),
        ("NUMERICAL_ERROR", None, None),
        ("OTHER_ERROR", None, None),
        ("SOMETHING_NEW", None, None),
    ],
)
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
