"""`networkx`: the longest path through the time-expanded graph, for problems without budgets."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import ClassVar

from solvers.answer import with_path, without_path
from solvers.base import missing_package
from solvers.deadline import Deadline
from solvers.errors import UnsupportedProblemError
from solvers.grid import decimal_scale
from solvers.problem import PathProblem
from solvers.solution import PathSolution, Status
from solvers.time_expanded import expand
from solvers.worker import WorkerSolver

# The gains are rounded to a decimal grid on which the largest sum is about this, and added as integers.
_LARGEST_SUM = 2.0**60

_END = (-1, -1)


class NetworkxSolver(WorkerSolver):
    """`networkx.dag_longest_path`: exact, and a cross-check that shares no search with the other solvers.

    Budgets make the problem NP-hard, which a longest path cannot express: problems with budgets are refused.
    """

    name: ClassVar[str] = "networkx"
    summary: ClassVar[str] = "longest path with networkx, for problems without budgets"
    library: ClassVar[str] = "networkx"

    @classmethod
    def unavailable_reason(cls) -> str | None:
        """Whether networkx is installed."""
        return missing_package("networkx", "pip install tape-planner")

    def _solve(self, problem: PathProblem, time_limit: float | None) -> PathSolution:
        if problem.budgets:
            raise UnsupportedProblemError(
                self.name, f"budgets ({', '.join(problem.resources)})", ("labelling", "cp-sat", "pulp:cbc")
            )
        return super()._solve(problem, time_limit)

    def _search(self, problem: PathProblem, time_limit: float | None) -> PathSolution:
        graph = expand(problem, Deadline(time_limit))  # the search itself has no limit: it is killed
        if not graph.arcs:
            return without_path(Status.INFEASIBLE, message="no terminal can be reached within the horizon")
        import networkx

        scale = decimal_scale(sum(abs(arc.gain) for arc in graph.arcs), _LARGEST_SUM)
        # networkx lets a path begin and end wherever more of it would not pay. With the same amount added for each
        # step, so the same in total for all paths, every gain is positive, and the best path goes all the way.
        raised = 1 + max(0, -min(round(arc.gain * scale) for arc in graph.arcs))
        last = graph.arcs[-1].step
        expanded = networkx.DiGraph()
        for index, arc in enumerate(graph.arcs):
            head = _END if arc.head is None else (arc.step + 1, arc.head)
            steps = 1 if arc.head is not None else last - arc.step + 1
            weight = round(arc.gain * scale) + raised * steps
            rival = expanded.get_edge_data((arc.step, arc.tail), head)
            if rival is None or weight > rival["weight"]:
                expanded.add_edge((arc.step, arc.tail), head, weight=weight, arc=index)
        began = time.perf_counter()
        path = networkx.dag_longest_path(expanded)
        seconds = time.perf_counter() - began
        chosen = [expanded.edges[edge]["arc"] for edge in networkx.utils.pairwise(path)]
        return replace(with_path(problem, graph.edges_of(chosen), Status.OPTIMAL), solve_seconds=seconds)
