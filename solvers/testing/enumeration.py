"""Brute force as a solver, for tests of what goes on around one."""

from __future__ import annotations

from typing import ClassVar

from solvers import PathProblem, PathSolution, Solver, Status
from solvers.answer import with_path, without_path
from solvers.testing.brute_force import best


class Enumeration(Solver):
    """Tries every path."""

    name: ClassVar[str] = "enumeration"
    summary: ClassVar[str] = "for tests"
    handles_risk: ClassVar[bool] = True

    def _solve(self, problem: PathProblem, time_limit: float | None) -> PathSolution:
        del time_limit  # small problems only
        result = best(problem)
        return without_path(Status.INFEASIBLE) if result is None else with_path(problem, result.edges, Status.OPTIMAL)
