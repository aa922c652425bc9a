"""`solve`: the one public way to a solver, which trusts none of them."""

from __future__ import annotations

import math
import time
from dataclasses import replace

from solvers.answer import without_walk
from solvers.base import Solver
from solvers.check import check
from solvers.errors import ProblemError
from solvers.problem import PathProblem
from solvers.registry import get
from solvers.solution import PathSolution, Status


def solve(problem: PathProblem, solver: str | Solver = "labelling", time_limit: float | None = None) -> PathSolution:
    """Finds the best walk that keeps every budget (TAPE eq. 6-11 and 15-16).

    A backend that raises, and an answer that `check` refuses, come back with status ERROR, no walk, and a message that
    says what was wrong: what cannot be re-verified is never executed. The time limit is passed to the backend; how
    long it really took is in `seconds`.

    Args:
        problem: The problem.
        solver: A name from `available()`, an alias (`pulp`), or a `Solver`.
        time_limit: Positive seconds of wall time, or None for no limit.

    Raises:
        ProblemError: If the time limit is not a positive number.
        UnknownSolverError: If no solver goes by the name.
        SolverUnavailableError: If the solver cannot run here.
    """
    if time_limit is not None and (isinstance(time_limit, bool) or math.isnan(time_limit) or time_limit <= 0):
        raise ProblemError("time_limit", None, time_limit, "must be a positive number of seconds, or None")
    if time_limit is not None and math.isinf(time_limit):
        time_limit = None
    backend = solver if isinstance(solver, Solver) else get(solver)
    began = time.perf_counter()
    answer = _checked(backend, problem, time_limit)
    return replace(answer, seconds=time.perf_counter() - began, solver=backend.name)


def _checked(backend: Solver, problem: PathProblem, time_limit: float | None) -> PathSolution:
    try:
        answer = backend._solve(problem, time_limit)
        faults = check(problem, answer)
    except Exception as error:  # KeyboardInterrupt and SystemExit pass through
        return without_walk(Status.ERROR, message=f"{type(error).__name__}: {error}")
    if faults:
        return without_walk(Status.ERROR, message="the answer failed its check: " + "; ".join(faults))
    return answer
