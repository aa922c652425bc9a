"""`labelling` without its compiled search as a solver of its own, and what both searches must agree with."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import pytest

from solvers import PathProblem, PathSolution, Solver, Status, check, solve
from solvers.answer import without_path
from solvers.deadline import SolveDeadline
from solvers.labelling import answer_of
from solvers.testing import Enumeration, best
from solvers.time_expanded import search


class Reference(Solver):
    """What runs where the extension was not built."""

    name: ClassVar[str] = "reference"
    summary: ClassVar[str] = "for tests"
    handles_risk: ClassVar[bool] = True

    def _solve(self, problem: PathProblem, time_limit: float | None) -> PathSolution:
        return solve_plain(problem, time_limit)


def solve_plain(problem: PathProblem, time_limit: float | None = None) -> PathSolution:
    """The answer of the search in Python."""
    if any(budget < 0 for budget in problem.budgets):
        return without_path(Status.INFEASIBLE)
    return answer_of(problem, search(problem, SolveDeadline(time_limit)))


class Scripted(Solver):
    """Answers the first `right` questions by enumeration; then `then` is returned, raised, or called for the answer."""

    name: ClassVar[str] = "scripted"
    summary: ClassVar[str] = "for tests"
    handles_risk: ClassVar[bool] = True

    def __init__(self, right: int, then: PathSolution | BaseException | Callable[[PathProblem], PathSolution]) -> None:
        self._right, self._then = right, then

    def _solve(self, problem: PathProblem, time_limit: float | None) -> PathSolution:
        self._right -= 1
        if self._right >= 0:
            return Enumeration()._solve(problem, time_limit)
        if isinstance(self._then, BaseException):
            raise self._then
        return self._then(problem) if callable(self._then) else self._then


class Countdown(SolveDeadline):
    """A deadline that passes after it has been looked at so many times."""

    def __init__(self, looks: int) -> None:
        super().__init__(None)
        self._looks = looks

    def passed(self) -> bool:
        self._looks -= 1
        return self._looks < 0


def same_path_as_brute_force(problem: PathProblem, solver: str | Solver = "labelling") -> None:
    """The very path that enumeration ranks first, tie-break included."""
    solution, expected = solve(problem, solver), best(problem)
    assert check(problem, solution) == []
    if expected is None:
        assert solution.status is Status.INFEASIBLE, problem
        return
    assert solution.status is Status.OPTIMAL, problem
    assert solution.edges == expected.edges, problem
    assert solution.objective == pytest.approx(float(expected.objective), rel=1e-9, abs=1e-12)
