"""Our side: `solvers.shortest_path` from a problem, from arrays, and from the graph that a networkx user has."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from experiments.benches.rcsp.competitors import ERROR, INFEASIBLE, OPTIMAL, TIMEOUT, Instance
from solvers import RcspProblem, ShortestPath, Status, shortest_path
from solvers.deadline import Deadline
from solvers.rcsp.folded import fold
from solvers.rcsp.solving import search

_STATUS = {Status.OPTIMAL: OPTIMAL, Status.INFEASIBLE: INFEASIBLE, Status.ERROR: ERROR}

SEARCH, PROBLEM, CPU, ARRAYS, GRAPH = "search", "problem", "cpu", "arrays", "graph"
"""What is timed: the search alone; the call with an `RcspProblem`, and what it took of the processor (on a machine with
other work that is less); that call and making the problem from arrays; the call with a networkx graph."""

PAUSE = 0.001
"""Seconds before a timed call: who comes from a pause is not put off by the scheduler in the middle of a short call."""

Calls = dict[str, Callable[[], ShortestPath]]


def calls(instance: Instance, limit: float, graph_too: bool = True) -> Calls:
    """The three ways of asking, all with the same answer; what their users have in hand is made here, untimed."""
    problem = instance.problem
    fields = {
        name: getattr(problem, name)
        for name in ("n_nodes", "tails", "heads", "cost", "use", "lower", "upper", "source", "target")
    }
    if problem.node_cost.any() or problem.node_use.any():
        fields |= {"node_cost": problem.node_cost, "node_use": problem.node_use}
    ways: Calls = {
        PROBLEM: lambda: shortest_path(problem, time_limit=limit),
        ARRAYS: lambda: shortest_path(RcspProblem(**fields), time_limit=limit),
    }
    if graph_too:
        graph, limits = _networkx(instance)
        ends = (problem.source, problem.target)
        ways[GRAPH] = lambda: shortest_path(graph, *ends, limits, time_limit=limit)
    return ways


def _networkx(instance: Instance) -> tuple[Any, dict[str, Any]]:
    """The graph that cspy gets, with an attribute for each resource; node costs are on the arcs, as there."""
    import networkx

    arcs = instance.useful_arcs
    simple = len({(tail, head) for tail, head, _, _ in arcs}) == len(arcs)
    graph = networkx.DiGraph() if simple else networkx.MultiDiGraph()
    graph.add_nodes_from((instance.problem.source, instance.problem.target))
    names = instance.problem.resources
    for tail, head, cost, use in arcs:
        graph.add_edge(tail, head, cost=cost, **dict(zip(names, use, strict=True)))
    return graph, dict(zip(names, zip(instance.lower, instance.upper, strict=True), strict=True))


def inside(instance: Instance, limit: float, repeats: int) -> dict[str, float]:
    """What goes on inside the call: the seconds in which the problem is made one of whole numbers, and labels made."""
    folding = []
    for _ in range(repeats):
        time.sleep(PAUSE)
        began = time.perf_counter()
        folded = fold(instance.problem)
        folding.append(time.perf_counter() - began)
    labels = (
        0 if folded.hopeless is not None else search()(folded, 1, False, os.cpu_count() or 1, Deadline(limit)).labels
    )
    return {"fold": median(folding), "labels": labels}


class Ours:
    """The times and the answer of all ways, gathered call by call."""

    def __init__(self, instance: Instance, limit: float, graph_too: bool = True) -> None:
        self._calls = calls(instance, limit, graph_too)
        self._offset = instance.offset
        self.times: dict[str, list[float]] = {SEARCH: [], CPU: [], **{way: [] for way in self._calls}}
        self.status, self.message = "", ""
        self.cost: float | None = None

    def measure(self) -> float:
        """Asks in every way once, and returns how long that took.

        Raises:
            ValueError: If two ways lead to different answers.
        """
        spent = 0.0
        for way, call in self._calls.items():
            gc.collect()
            time.sleep(PAUSE)
            began, worked = time.perf_counter(), time.process_time()
            answer = call()
            seconds, worked = time.perf_counter() - began, time.process_time() - worked
            spent += seconds
            self.times[way].append(seconds)
            if way == PROBLEM:
                self.times[SEARCH].append(answer.solve_seconds)
                self.times[CPU].append(worked)
            status, cost = _STATUS.get(answer.status, TIMEOUT), None if answer.cost is None else float(answer.cost)
            if cost is not None and way == GRAPH:
                cost += self._offset
            cost = cost if status == OPTIMAL else None
            if self.status and (status, cost) != (self.status, self.cost):
                raise ValueError(f"{way}: {status} {cost}, before {self.status} {self.cost}")
            self.status, self.cost, self.message = status, cost, answer.message
        return spent
