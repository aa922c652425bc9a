"""`cspy`, a C++ labelling library for resource-constrained shortest paths, as a backend of the benchmark.

It is given the pruned time-expanded graph, and as another backend the problem's own graph. cspy is no dependency of the
project; where it is absent the benchmark says so and goes on. Tested with 1.0.3.
"""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar

from solvers import PathProblem, PathSolution, Solver, Status
from solvers.answer import with_walk, without_walk
from solvers.base import missing_package
from solvers.errors import BackendError
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
        expanded = expand(problem)
        if not expanded.arcs:
            return without_walk(Status.INFEASIBLE, message="no terminal can be reached within horizon and budgets")
        graph, used = _graph(problem, expanded)
        steps = float(problem.steps + 1)
        limits = [steps, *map(float, expanded.budgets)]
        status, places, seconds = _searched(graph, limits, self.direction, time_limit)
        if places is None:
            return replace(without_walk(status), solve_seconds=seconds)
        chosen = sorted(used[pair] for pair in pairwise(places) if pair in used)
        return replace(with_walk(problem, expanded.edges_of(chosen), status), solve_seconds=seconds)


class CspyRawSolver(Solver):
    """cspy's exact labelling on the problem's own graph, as a user of cspy would put it: steps are one more resource.

    Nothing is expanded or pruned beforehand. Stays go to and fro between two copies of the terminal (cspy passes over
    arcs from a node to itself), which needs rewards there that are not negative, and no discount. The start has a copy
    without arcs into it. Searching forward was the fastest direction.
    """

    name: ClassVar[str] = "cspy:raw"
    summary: ClassVar[str] = "cspy's forward labelling in C++ on the graph as it is"
    direction: ClassVar[str] = "forward"

    @classmethod
    def unavailable_reason(cls) -> str | None:
        """Whether cspy is installed."""
        return CspySolver.unavailable_reason()

    def _solve(self, problem: PathProblem, time_limit: float | None) -> PathSolution:
        graph, used = _raw_graph(problem)
        limits = [float(problem.steps + 1), *map(float, problem.budgets)]
        status, places, seconds = _searched(graph, limits, self.direction, time_limit)
        if places is None:
            return replace(without_walk(status), solve_seconds=seconds)
        edges = [used[pair] for pair in pairwise(places) if pair in used]
        return replace(with_walk(problem, edges, status), solve_seconds=seconds)


def _searched(
    graph: Any, limits: list[float], direction: str, time_limit: float | None
) -> tuple[Status, list[Any] | None, float]:
    """The status, the path from source to sink if there is one, and the seconds that cspy took."""
    from cspy import BiDirectional

    began = time.perf_counter()
    search = BiDirectional(
        graph,
        max_res=limits,
        min_res=[0.0] * len(limits),
        direction=direction,
        elementary=False,
        time_limit=time_limit,
    )
    search.run()
    places = search.path
    seconds = time.perf_counter() - began
    late = time_limit is not None and seconds >= _CUT_SHORT * time_limit
    if places is None or (late and places[-1] != "Sink"):
        return Status.TIMEOUT if late else Status.INFEASIBLE, None, seconds
    return Status.FEASIBLE if late else Status.OPTIMAL, places, seconds


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


def _raw_graph(problem: PathProblem) -> tuple[Any, dict[tuple[Any, Any], int]]:
    """The graph for cspy, and the edge behind each of its arcs."""
    import networkx

    poor = any(problem.rewards[end] < 0 for end in problem.terminals)
    if poor or problem.discount < 1 or problem.objective != "stay":
        raise BackendError("without a time-expanded graph, stays must not be discounted, nor earn less than nothing")
    graph = networkx.DiGraph(directed=True, n_res=1 + len(problem.budgets))
    free = [0.0] * len(problem.budgets)
    used: dict[tuple[Any, Any], int] = {}
    costs = problem.costs or [()] * len(problem.edges)
    for index, ((tail, head), amounts) in enumerate(zip(problem.edges, costs, strict=True)):
        for origin in ("Source", tail) if tail == problem.start else (tail,):
            end: Any = head
            steps = 1.0
            if origin == end or graph.has_edge(origin, end):  # loops and parallel arcs go through a node of their own
                end, steps = ("parallel", origin, index), 0.5
                graph.add_edge(end, head, weight=0.0, res_cost=[0.5, *free])
            graph.add_edge(origin, end, weight=-problem.rewards[head], res_cost=[steps, *map(float, amounts)])
            used[origin, end] = index
    for node in problem.terminals:
        gain, stays = -problem.rewards[node], (("stay", node), ("again", node))
        for origin in ("Source", node) if node == problem.start else (node,):
            graph.add_edge(origin, "Sink", weight=0.0, res_cost=[1.0, *free])
            graph.add_edge(origin, stays[0], weight=gain, res_cost=[1.0, *free])
        for one, other in (stays, stays[::-1]):
            graph.add_edge(one, other, weight=gain, res_cost=[1.0, *free])
            graph.add_edge(one, "Sink", weight=0.0, res_cost=[1.0, *free])
    return graph, used
