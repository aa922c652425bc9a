"""`solve`: the one public way to a solver, which trusts none of them."""

from __future__ import annotations

import math
import operator
import time
from typing import Any

from solvers.answer import without_path
from solvers.base import Solver
from solvers.check import check
from solvers.deadline import SolveDeadline
from solvers.errors import EndlessError, LateError, ProblemError, RiskUnsupportedError
from solvers.problem import PathProblem
from solvers.registry import get
from solvers.risk import Risk
from solvers.solution import PathSolution, Status
from solvers.visit import compiled

_LONGEST_LIMIT = 1e9
"""Seconds; a longer limit is none."""


def solve(
    problem: PathProblem,
    solver: str | Solver = "labelling",
    time_limit: float | None = None,
    risk: Risk | float | None = None,
    *,
    proof: bool = False,
) -> PathSolution:
    """Finds the best path that keeps every budget (TAPE eq. 6-11 and 15-16), by either objective.

    A backend that raises, and an answer that `check` refuses, come back with status ERROR, no path, and a message that
    says what was wrong: what cannot be re-verified is never executed. So does a problem that would take more memory
    than `solvers.memory.MEMORY_CAP`, before it is taken. What is not done by the time limit is FEASIBLE or TIMEOUT, at
    most 50 ms and a tenth of the limit later; how long it really took is in `seconds`.

    Args:
        problem: The problem.
        solver: A name from `available()`, an alias (`pulp`), or a `Solver`.
        time_limit: Positive seconds of wall time, or None for no limit.
        risk: The allowed probability that a resource's total exceeds its budget, where costs have `spreads`; it takes
            the place of `problem.risk`. A number p means `Risk(p, "normal")`; `solvers.Assumption` says which
            assumption gives which guarantee. None leaves the problem's own.
        proof: Also prove the answer, in what is left of the time limit (`solvers.proof`); a message says where that
            does not succeed.

    Raises:
        ProblemError: If the time limit is not a positive number, or the risk is malformed.
        RiskUnsupportedError: If the solver cannot keep the risk; nothing is solved then.
        EndlessError: If the problem has no horizon, and none is enough; it names the circle that has no end.
        UnknownSolverError: If no solver goes by the name.
        SolverUnavailableError: If the solver cannot run here.

    Examples:
        >>> from solvers import PathProblem, solve
        >>> edges, costs = [(0, 1), (1, 2), (0, 2)], [[2], [3], [4]]
        >>> problem = PathProblem(
        ...     3, edges, rewards=[0, 1, 1], costs=costs, budgets=[4], start=0, terminals=[2], horizon=2
        ... )
        >>> solution = solve(problem)
        >>> solution.status.value, solution.edges  # the way by node 1 earns as much, and costs 5
        ('OPTIMAL', (2,))
    """
    deadline = SolveDeadline(checked_time_limit(time_limit))
    began = time.perf_counter()
    problem, backend = posed(problem, solver, risk)
    try:
        asked = compiled(problem, deadline)
        deadline.check()
        answer = _checked(asked.problem, backend._solve(asked.problem, deadline.left()))
        if asked.problem is not problem and answer.status is not Status.ERROR:
            answer = _checked(problem, asked.answer(answer))
    except LateError as error:
        answer = without_path(Status.TIMEOUT, message=str(error))
    except EndlessError:
        raise
    except Exception as error:  # KeyboardInterrupt and SystemExit pass through
        answer = without_path(Status.ERROR, message=f"{type(error).__name__}: {error}")
    if proof:
        from solvers.proof import with_proof  # not needed otherwise

        answer = with_proof(problem, answer, deadline)
    return answer.but(seconds=time.perf_counter() - began, solver=answer.solver or backend.name)


def posed(problem: PathProblem, solver: str | Solver, risk: Risk | float | None) -> tuple[PathProblem, Solver]:
    """The problem with the risk that was asked for, and the solver, which can keep it; raises as `solve` does."""
    if risk is not None:
        problem = problem.with_valid(risk=risk if isinstance(risk, Risk) else Risk(risk))
    backend = solver if isinstance(solver, Solver) else get(solver)
    if problem.is_risky and not backend.handles_risk:
        raise RiskUnsupportedError(backend.name)
    return problem, backend


def checked_time_limit(seconds: float | None) -> float | None:
    """The time limit; one of more than thirty years as None.

    Raises:
        ProblemError: If it is not a positive number.
    """
    if seconds is None:
        return None
    try:
        limit = math.nan if isinstance(seconds, bool | str | bytes) else float(seconds)
    except OverflowError:
        limit = math.inf if seconds > 0 else -math.inf
    except (TypeError, ValueError):
        limit = math.nan
    if math.isnan(limit) or limit <= 0:
        raise ProblemError("time_limit", None, seconds, "must be a positive number of seconds, or None")
    return limit if limit < _LONGEST_LIMIT else None


def _checked(problem: PathProblem, answer: PathSolution) -> PathSolution:
    faults = check(problem, answer)
    return without_path(Status.ERROR, message="the answer failed its check: " + "; ".join(faults)) if faults else answer


def checked_count(field: str, count: Any, otherwise: str = "") -> int:
    """A number of things, as an int.

    Raises:
        ProblemError: If it is not an integer of at least 1.
    """
    if isinstance(count, bool) or not hasattr(count, "__index__") or operator.index(count) < 1:
        raise ProblemError(field, None, count, f"expected an integer of at least 1{otherwise}")
    return operator.index(count)
