"""`cspy`, a C++ labelling library for resource-constrained shortest paths, as a backend of the benchmark.

cspy is no dependency of the project; where it is absent the benchmark says so and goes on. Tested with 1.0.3.
"""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar

from solvers import PathProblem, PathSolution, Solver, Status
from solvers.answer import with_walk, without_walk
from solvers.base import missing_package
from solvers.time_expanded import TimeExpanded, expand

# cspy does not say that its time limit ended the search; one that took nearly all of it is not called a proof.
_CUT_SHORT = 0.99


class CspySolver(Solver):
    """cspy's exact bidirectional labelling on the pruned time-expanded graph, the one that the integer programmes get.

    Resource 0 is the number of steps: it is strictly monotone, as cspy asks of its critical resource. The graph is
    acyclic, so elementarity is off. Of the directions `both` was the fastest on most instances: often level with
    `forward`, up to ten times faster where several budgets bind. With a budget as the critical resource it is a little
    faster still, but returns walks that are not optimal.
    """

    name: ClassVar[str] = "cspy"
    summary: ClassVar[str] = "cspy's bidirectional labelling in C++ on the time-expanded graph"
    direction: ClassVar[str] = "both"

    @classmethod
    def unavailable_reason(cls) -> str | None:
        """Whether cspy is installed."""
        return missing_package("cspy", "pip install cspy==1.0.3 (its wheels end at Python 3.11)")

    def _solve(self, problem: PathProblem, time_limit: float | None) -> PathSolution:
        from cspy import BiDirectional

        expanded = expand(problem)
        if not expanded.arcs:
            return without_walk(Status.INFEASIBLE, message="no terminal can be reached within horizon and budgets")
        graph, used = _graph(problem, expanded)
        steps = float(problem.horizon + 1)
        searched = time.perf_counter()
        search = BiDirectional(
            graph,
            max_res=[steps, *map(float, expanded.budgets)],
            min_res=[0.0] * (1 + len(expanded.budgets)),
            direction=self.direction,
            elementary=False,
            time_limit=time_limit,
        )
        search.run()
        places = search.path
        seconds = time.perf_counter() - searched
        late = time_limit is not None and seconds >= _CUT_SHORT * time_limit
        if places is None or (late and places[-1] != "Sink"):
            answer = without_walk(Status.TIMEOUT if late else Status.INFEASIBLE)
        else:
            chosen = sorted(used[pair] for pair in pairwise(places) if pair in used)
            edges = expanded.edges_of(chosen)
            answer = with_walk(problem, edges, Status.FEASIBLE if late else Status.OPTIMAL)
        return replace(answer, solve_seconds=seconds)


def _graph(problem: PathProblem, expanded: TimeExpanded) -> tuple[Any, dict[tuple[Any, Any], int]]:
    """The graph for cspy, and the arc behind each of its edges; parallel arcs go through a node of their own."""
    import networkx

    graph = networkx.DiGraph(directed=True, n_res=1 + len(expanded.budgets))
    free = [0.0] * len(expanded.budgets)
    used: dict[tuple[Any, Any], int] = {}
    for index, arc in enumerate(expanded.arcs):
        tail: Any = "Source" if (arc.step, arc.tail) == (0, problem.start) else (arc.step, arc.tail)
        head: Any = "Sink" if arc.head is None else (arc.step + 1, arc.head)
        costs = [float(cost) for cost in arc.costs]
        if graph.has_edge(tail, head):
            through = ("parallel", index)
            graph.add_edge(tail, through, weight=-arc.gain, res_cost=[0.5, *costs])
            graph.add_edge(through, head, weight=0.0, res_cost=[0.5, *free])
            used[tail, through] = index
        else:
            graph.add_edge(tail, head, weight=-arc.gain, res_cost=[1.0, *costs])
            used[tail, head] = index
    return graph, used
