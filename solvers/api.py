"""`solve`: the one public way to a solver, which trusts none of them."""

from __future__ import annotations

import math
import time
from dataclasses import replace

from solvers.answer import without_walk
from solvers.base import Solver
from solvers.check import check
from solvers.errors import ProblemError, RiskUnsupportedError, UnsupportedProblemError
from solvers.problem import PathProblem
from solvers.registry import get
from solvers.risk import Risk
from solvers.solution import PathSolution, Status
from solvers.visit import compiled


def solve(
    problem: PathProblem,
    solver: str | Solver = "labelling",
    time_limit: float | None = None,
    risk: Risk | float | None = None,
) -> PathSolution:
    """Finds the best walk that keeps every budget (TAPE eq. 6-11 and 15-16), by either objective.

    A backend that raises, and an answer that `check` refuses, come back with status ERROR, no walk, and a message that
    says what was wrong: what cannot be re-verified is never executed. The time limit is passed to the backend; how
    long it really took is in `seconds`.

    Args:
        problem: The problem.
        solver: A name from `available()`, an alias (`pulp`), or a `Solver`.
        time_limit: Positive seconds of wall time, or None for no limit.
        risk: The allowed probability that a resource's total exceeds its budget, where costs have `spreads`; it takes
            the place of `problem.risk`. A number p means `Risk(p, "normal")`; `solvers.Assumption` says which
            assumption gives which guarantee. None leaves the problem's own.

    Raises:
        ProblemError: If the time limit is not a positive number, or the risk is malformed.
        RiskUnsupportedError: If the solver cannot keep the risk; nothing is solved then.
        UnsupportedProblemError: If the solver is not made for such problems; it names those that are.
        UnknownSolverError: If no solver goes by the name.
        SolverUnavailableError: If the solver cannot run here.
    """
    time_limit = checked_time_limit(time_limit)
    problem, backend = posed(problem, solver, risk)
    began = time.perf_counter()
    answer = _checked(backend, problem, time_limit)
    return replace(answer, seconds=time.perf_counter() - began, solver=answer.solver or backend.name)


def posed(problem: PathProblem, solver: str | Solver, risk: Risk | float | None) -> tuple[PathProblem, Solver]:
    """The problem with the risk that was asked for, and the solver, which can keep it.

    Raises:
        ProblemError: If the risk is malformed.
        RiskUnsupportedError: If the solver cannot keep the risk.
        UnknownSolverError: If no solver goes by the name.
        SolverUnavailableError: If the solver cannot run here.
    """
    if risk is not None:
        problem = replace(problem, risk=risk if isinstance(risk, Risk) else Risk(risk))
    backend = solver if isinstance(solver, Solver) else get(solver)
    if problem.is_risky and not backend.handles_risk:
        raise RiskUnsupportedError(backend.name)
    return problem, backend


def checked_time_limit(seconds: float | None) -> float | None:
    """The time limit, an infinite one as None.

    Raises:
        ProblemError: If it is not a positive number.
    """
    if seconds is not None and (isinstance(seconds, bool) or math.isnan(seconds) or seconds <= 0):
        raise ProblemError("time_limit", None, seconds, "must be a positive number of seconds, or None")
    return None if seconds is not None and math.isinf(seconds) else seconds


def _checked(backend: Solver, problem: PathProblem, time_limit: float | None) -> PathSolution:
    try:
        asked = compiled(problem)
        answer = backend._solve(asked.problem, time_limit)
        faults = check(asked.problem, answer)
        if not faults:
            answer = asked.answer(answer)
            faults = check(problem, answer)
    except UnsupportedProblemError:
        raise
    except Exception as error:  # KeyboardInterrupt and SystemExit pass through
        return without_walk(Status.ERROR, message=f"{type(error).__name__}: {error}")
    if faults:
        return without_walk(Status.ERROR, message="the answer failed its check: " + "; ".join(faults))
    return answer
