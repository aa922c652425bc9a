"""`PathSolution`: what a solver answers; how it ended and whether there is a path are separate facts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from solvers.proof_file import Proof


class Status(StrEnum):
    """How a solver ended.

    OPTIMAL: a path, proved best.
    FEASIBLE: a path that keeps the budgets, not proved best.
    INFEASIBLE: proved that there is no path.
    TIMEOUT: stopped by the time limit with nothing: neither a path nor a proof.
    ERROR: the solver failed, or its answer did not survive `check`; `message` says which.

    Examples:
        >>> from solvers import PathProblem, Status, solve
        >>> problem = PathProblem(
        ...     2, [(0, 1)], rewards=[0, 1], costs=[[3]], budgets=[2], start=0, terminals=[1], horizon=1
        ... )
        >>> solve(problem).status is Status.INFEASIBLE, Status.INFEASIBLE == "INFEASIBLE"
        (True, True)
    """

    OPTIMAL = "OPTIMAL"
    FEASIBLE = "FEASIBLE"
    INFEASIBLE = "INFEASIBLE"
    TIMEOUT = "TIMEOUT"
    ERROR = "ERROR"


@dataclass(frozen=True)
class PathSolution:
    """A solver's answer to a `PathProblem`.

    Attributes:
        status: How the solver ended.
        edges: The m moves as edge indices, in order; the final stays are not listed.
        nodes: The m + 1 nodes visited, from the start to the final terminal; empty where there is no path.
        objective: The path's objective, the final stays included; None where there is no path.
        bound: No path has a greater objective; None where the solver knows no bound.
        consumption: K ints, what the path uses of each resource; empty where there is no path.
        seconds: Wall time of the solve.
        solver: The name of the solver that answered.
        message: Details, above all for ERROR.
        solve_seconds: Seconds in the backend's own search, model building and process start excluded; None where that
            is not known.
        proof: That it is best, or that nothing fits, where `solve` was asked for one; its checker has passed it.

    Examples:
        >>> from solvers import PathProblem, solve
        >>> problem = PathProblem(
        ...     2, [(0, 1)], rewards=[0, 1], costs=[[3]], budgets=[3], start=0, terminals=[1], horizon=1
        ... )
        >>> solution = solve(problem)
        >>> solution.has_path, solution.edges, solution.nodes, solution.consumption
        (True, (0,), (0, 1), (3,))
    """

    status: Status
    edges: tuple[int, ...] = ()
    nodes: tuple[int, ...] = ()
    objective: float | None = None
    bound: float | None = None
    consumption: tuple[int, ...] = ()
    seconds: float = 0.0
    solver: str = ""
    message: str = ""
    solve_seconds: float | None = None
    proof: Proof | None = None

    def but(self, **fields: Any) -> PathSolution:
        """As `dataclasses.replace` for fields that exist, without its price: a solve does this more than once."""
        changed = object.__new__(type(self))
        changed.__dict__.update(self.__dict__, **fields)
        return changed

    @property
    def has_path(self) -> bool:
        """Whether there is a path to execute (the empty path, of one node, is one)."""
        return bool(self.nodes)
