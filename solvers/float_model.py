"""What the backends that calculate in floating point share: refusals, scaled gains, and their answers."""

from __future__ import annotations

from solvers.answer import with_path, without_path
from solvers.errors import BackendError
from solvers.problem import PathProblem
from solvers.solution import PathSolution, Status
from solvers.time_expanded import TimeExpanded

LARGEST_GAIN = 1e3
"""The largest gain is scaled to this, so that absolute tolerances mean the same whatever the rewards' unit is."""


def scaled_gains(graph: TimeExpanded, largest_amount: int) -> tuple[list[float], float]:
    """The gains of the arcs as the solver is to see them, and the factor that was applied.

    Args:
        graph: The arcs.
        largest_amount: The largest budget of which the solver tells one unit apart.

    Raises:
        BackendError: If the budgets are too large for floating point.
    """
    if max(graph.budgets, default=0) > largest_amount:
        raise BackendError(
            f"this solver calculates in floating point and is exact for budgets up to {largest_amount} only; "
            "use a coarser resolution, or one of the solvers labelling and cp-sat"
        )
    factor = LARGEST_GAIN / (max(abs(arc.gain) for arc in graph.arcs) or 1.0)
    return [arc.gain * factor for arc in graph.arcs], factor


def answer(
    problem: PathProblem, graph: TimeExpanded, status: Status, values: list[float], bound: float, seconds: float | None
) -> PathSolution:
    """The answer to give for a solver's outcome.

    Args:
        problem: The problem.
        graph: Its arcs.
        status: OPTIMAL, FEASIBLE, INFEASIBLE or TIMEOUT.
        values: Of the variables, one for each arc; not looked at where the status has no path.
        bound: No path is better, in the problem's rewards; infinity if the solver tells none.
        seconds: What its search took, or None.
    """
    bound = min(bound, graph.bound)
    if status in (Status.INFEASIBLE, Status.TIMEOUT):
        return without_path(status, bound if status is Status.TIMEOUT else None).but(solve_seconds=seconds)
    edges = graph.edges_of([index for index, value in enumerate(values) if value > 0.5])
    found = with_path(problem, edges, status, None if status is Status.OPTIMAL else bound)
    return found.but(solve_seconds=seconds)
