"""How backends build their answers, so that everything derived from a path is derived in one place."""

from __future__ import annotations

from collections.abc import Sequence

from solvers.check import consumption_of, objective_of, path_nodes
from solvers.problem import PathProblem
from solvers.solution import PathSolution, Status


def with_path(problem: PathProblem, edges: Sequence[int], status: Status, bound: float | None = None) -> PathSolution:
    """An answer with a path.

    Args:
        problem: The problem.
        edges: The path's m moves as edge indices.
        status: OPTIMAL or FEASIBLE.
        bound: No path is better than this. It is raised to the objective where rounding left it below, and is the
            objective itself if the status is OPTIMAL and no bound is given.
    """
    objective = objective_of(problem, edges)
    if bound is not None:
        bound = max(bound, objective)
    elif status is Status.OPTIMAL:
        bound = objective
    return PathSolution(
        status=status,
        edges=tuple(edges),
        nodes=path_nodes(problem, edges),
        objective=objective,
        bound=bound,
        consumption=consumption_of(problem, edges),
    )


def without_path(status: Status, bound: float | None = None, message: str = "") -> PathSolution:
    """An answer without a path: INFEASIBLE, TIMEOUT or ERROR."""
    return PathSolution(status=status, bound=bound, message=message)
