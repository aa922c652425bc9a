"""`labelling`: our own exact, anytime solver; dynamic programming, then label setting where a budget binds."""

from __future__ import annotations

from typing import ClassVar

from solvers.answer import with_path, without_path
from solvers.base import Solver
from solvers.chances import linear_parts
from solvers.check import OPTIMALITY_TOLERANCE
from solvers.compiled import can_solve, search
from solvers.deadline import SolveDeadline
from solvers.found import Ending, Found
from solvers.memory import too_large
from solvers.problem import PathProblem
from solvers.solution import PathSolution, Status

_WHY_INFEASIBLE = {
    Ending.UNREACHABLE: "no terminal can be reached within the horizon",
    Ending.INFEASIBLE: "no path keeps all budgets at once",
}


class LabellingSolver(Solver):
    """Exact path selection without an external solver (TAPE eq. 6-11 and 15-16).

    The compiled path (`solvers/native/`, one header per idea) goes, until there is a proof:

    1. `passes`: the unbudgeted dynamic programme. If its best path keeps the budgets, it is the answer.
    2. `bounds`: prices that make the bound tight, with dives along it for early paths; arcs through which the bound is
       no better than the incumbent go, and those of which even the thriftiest path breaks a budget.
    3. `labels`: label setting in the order of the bound, with dominance; a beam for better paths, and bounds that are
       tight where the most promising labels are.
    4. `smallest`: of all optimal paths, the one with the smallest edges.

    Equal objectives: fewer moves, then the lexicographically smallest `edges`. Which objectives are equal is exact;
    `solvers.grid` says how. The answer does not depend on the time limit, unless the limit ends it: then it is
    FEASIBLE or TIMEOUT, with the best bound so far (OPTIMAL, with a message, if only the last step was cut short).

    Without the compiled path, and for budgets or risks beyond 64-bit integers, `solvers.time_expanded` gives the same
    answers, more slowly. Steps that no best path needs are not looked at (`solvers.horizon`).
    """

    name: ClassVar[str] = "labelling"
    summary: ClassVar[str] = "exact and anytime; dynamic programming and label setting (default)"
    handles_risk: ClassVar[bool] = True

    def _solve(self, problem: PathProblem, time_limit: float | None) -> PathSolution:
        deadline = SolveDeadline(time_limit)
        if any(budget < 0 for budget in problem.budgets):
            return without_path(Status.INFEASIBLE, message="a budget is negative")
        parts = linear_parts(problem, deadline)
        if can_solve(parts):
            match = search(problem, parts, 1, deadline)
        else:
            from solvers import time_expanded  # loads NumPy, which the compiled search does not need

            match = time_expanded.search(problem, deadline)
        return answer_of(problem, match).but(solve_seconds=match.seconds)


def answer_of(problem: PathProblem, result: Found) -> PathSolution:
    """The answer that a search found.

    Raises:
        TooLargeError: If it stopped at the memory cap, and found no path before.
    """
    if result.ending in _WHY_INFEASIBLE:
        return without_path(Status.INFEASIBLE, message=_WHY_INFEASIBLE[result.ending])
    if result.ending is Ending.PROVED:
        answer = with_path(problem, result.paths[0], Status.OPTIMAL)
        best = answer.objective or 0.0
        if result.doubt > OPTIMALITY_TOLERANCE * max(1.0, abs(best)):
            largest = max(map(abs, problem.rewards))
            wide = f"beside rewards of up to {largest:.3g} objectives are told apart by {result.doubt:.3g} only"
            return answer.but(status=Status.FEASIBLE, bound=best + result.doubt, message=wide)
        late = "optimal, but the time was up before ties were broken by the smallest edges"
        return answer if result.ordered else answer.but(message=late)
    if result.ending is Ending.TOO_LARGE:
        refusal = too_large(result.bytes, f"the search of {len(problem.edges):,} edges at {result.steps:,} steps")
        if not result.paths:
            raise refusal
        return with_path(problem, result.paths[0], Status.FEASIBLE, result.bound).but(message=str(refusal))
    if not result.paths:
        return without_path(Status.TIMEOUT, result.bound)
    return with_path(problem, result.paths[0], Status.FEASIBLE, result.bound)
