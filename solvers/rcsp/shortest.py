"""`shortest_path` and `shortest_paths`: the one public way to the searches, which trusts neither of them."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypedDict, Unpack, overload

from solvers.api import checked_count, checked_time_limit
from solvers.deadline import SolveDeadline
from solvers.rcsp.explaining import RcspExplanation, explained
from solvers.rcsp.graphs import Limits, asked
from solvers.rcsp.problem import Amount
from solvers.rcsp.solving import Counted, Question, Solved, solved, stated
from solvers.solution import Status

_MOST = 2**31 - 1
"""More paths than this are the same as all: they would not fit into memory."""


class _Explained:
    """An answer that can say why it holds no path."""

    _question: tuple[Question, bool] | None

    @cached_property
    def explanation(self) -> RcspExplanation | None:
        """Which limits are short, and what would do; None unless the status is INFEASIBLE.

        It is looked for when it is first asked for, within the time limit of the call, or 10 seconds: one search for
        each limit alone, and one with the others.
        """
        return None if self._question is None else explained(*self._question)


@dataclass(frozen=True)
class ShortestPath(_Explained):
    """An answer of `shortest_path`.

    Attributes:
        status: OPTIMAL: proved the best (in `ShortestPaths`, but for those before it). FEASIBLE: a path, but the search
            was cut short. INFEASIBLE: proved that there is none. TIMEOUT: none found, and no proof. ERROR: `message`
            says what failed.
        nodes: The nodes from the source to the target, as the graph names them; empty where there is no path.
        edges: The edges: `(tail, head)` of a networkx graph, `(tail, head, key)` of a multigraph, else their positions.
        cost: What the path costs, its nodes included; None where there is none.
        resources: What it uses of each resource.
        bound: No path is better than this (in `ShortestPaths`, but for those before it); None where that is not known.
        seconds: Wall time of the whole call.
        solve_seconds: Of which the search took so many.
        message: Details, above all for ERROR.

    Examples:
        >>> from solvers import shortest_path
        >>> path = shortest_path([("a", "b", {"cost": 2, "fuel": 3})], "a", "b", {"fuel": 2})
        >>> path.status.value, path.cost
        ('INFEASIBLE', None)
        >>> print(path.explanation)
        fuel is short: 2 given, 3 would do, everything else unchanged.
    """

    status: Status
    nodes: tuple[Any, ...] = ()
    edges: tuple[Any, ...] = ()
    cost: Amount | None = None
    resources: dict[str, Amount] = field(default_factory=dict)
    bound: Amount | None = None
    seconds: float = 0.0
    solve_seconds: float = 0.0
    message: str = ""
    _question: tuple[Question, bool] | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class ShortestPaths(_Explained, Sequence[ShortestPath]):
    """The best paths, best first; a sequence of its `paths`.

    Attributes:
        status: OPTIMAL: these are the k best, or all there are. Else as in `ShortestPath`, for the paths together.
        paths: At most k, all distinct (no two have the same edges).
        seconds: Wall time of the whole call.
        solve_seconds: Of which the search took so many.
        message: Details, above all for ERROR.

    Examples:
        >>> from solvers import shortest_paths
        >>> edges = [("a", "b", {"cost": 2, "fuel": 3}), ("a", "b", {"cost": 5, "fuel": 1})]
        >>> paths = shortest_paths(edges, "a", "b", {"fuel": 9}, k=3)
        >>> paths.status.value, len(paths), paths[1].resources
        ('OPTIMAL', 2, {'fuel': 1})
    """

    status: Status
    paths: tuple[ShortestPath, ...] = ()
    seconds: float = 0.0
    solve_seconds: float = 0.0
    message: str = ""
    _question: tuple[Question, bool] | None = field(default=None, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.paths)

    @overload
    def __getitem__(self, rank: int) -> ShortestPath: ...
    @overload
    def __getitem__(self, rank: slice) -> tuple[ShortestPath, ...]: ...
    def __getitem__(self, rank: int | slice) -> ShortestPath | tuple[ShortestPath, ...]:
        return self.paths[rank]


class ShortestOptions(TypedDict, total=False):
    """What :func:`shortest_path` takes by keyword."""

    cost: str
    elementary: bool
    maximise: bool
    threads: int | None
    time_limit: float | None


def shortest_path(
    graph: Any,
    source: Any = None,
    target: Any = None,
    limits: Limits | None = None,
    **options: Unpack[ShortestOptions],
) -> ShortestPath:
    """Finds the path of least cost from `source` to `target` that keeps every limit.

    Costs may be below zero, amounts may not. What a path costs and uses is the sum over its edges and its nodes, source
    and target included. It may come to a node again, where that pays (strictly it is a walk then), unless `elementary`
    is set: a circle of negative cost is taken as often as the limits allow.

    Integers and decimals (2.5) are counted exactly; `solvers.rcsp.folded` says what becomes of other floats.

    Args:
        graph: A directed networkx graph, whose edges and nodes have costs and amounts as attributes; or
            `(tail, head, {attribute: value})` for each edge; or an `RcspProblem`, which has ends and limits already. An
            attribute that an edge or a node has not counts as 0; but if one edge has a cost, all must have.
        source: The node where paths begin.
        target: The node where they end.
        limits: For each resource, by the name of its attribute: an upper limit, `(lower, upper)`, or None to count it
            without a limit. None in a pair is no limit.
        **options: ``cost``, the attribute to minimise, by default ``"cost"``; ``elementary=True``: no node may come
            twice; ``maximise=True``: find the path of greatest cost instead (a reward); ``threads`` for large problems,
            by default all cores (the answer is the same with any number); ``time_limit``, positive seconds of wall time
            for the search, by default none.

    Raises:
        ProblemError: If anything is malformed; it names the edge or node, the attribute and the value.
        EndlessError: If a circle gains for ever: its cost is negative, and nothing it uses has an upper limit.

    Examples:
        >>> from solvers import shortest_path
        >>> edges = [
        ...     ("home", "stop", {"usd": 2.5, "minutes": 5}),
        ...     ("stop", "office", {"usd": 3, "minutes": 15}),
        ...     ("home", "office", {"usd": 24, "minutes": 12}),
        ... ]
        >>> path = shortest_path(edges, "home", "office", {"minutes": 30}, cost="usd")
        >>> path.nodes, path.cost, path.resources
        (('home', 'stop', 'office'), 5.5, {'minutes': 20})
    """
    paths = shortest_paths(graph, source, target, limits, k=1, **options)
    if paths.paths:
        return paths.paths[0]
    return ShortestPath(
        paths.status, seconds=paths.seconds, solve_seconds=paths.solve_seconds, message=paths.message,
        _question=paths._question,
    )  # fmt: skip


def shortest_paths(
    graph: Any,
    source: Any = None,
    target: Any = None,
    limits: Limits | None = None,
    *,
    k: int,
    cost: str = "cost",
    elementary: bool = False,
    maximise: bool = False,
    threads: int | None = None,
    time_limit: float | None = None,
) -> ShortestPaths:
    """Finds the k best paths, best first; fewer, if there are no more.

    Two paths are distinct if their edges are: parallel edges make two paths of one.

    Args:
        graph: This and all others as for `shortest_path`.
        source: The node where paths begin.
        target: The node where they end.
        limits: The limits of resources.
        k: How many paths, at least 1.
        cost: The attribute to minimise.
        elementary: No node may come twice.
        maximise: Find the paths of greatest cost instead.
        threads: Threads for large problems; None for all cores.
        time_limit: Positive seconds of wall time for the search of all of them, or None for no limit.

    Raises:
        ProblemError: If anything is malformed.
        EndlessError: If a circle gains for ever.

    Examples:
        >>> from solvers import shortest_paths
        >>> edges = [("a", "b", {"cost": 2, "fuel": 3}), ("a", "b", {"cost": 5, "fuel": 1})]
        >>> [(path.cost, path.edges) for path in shortest_paths(edges, "a", "b", {"fuel": 9}, k=3)]
        [(2, (0,)), (5, (1,))]
    """
    wanted = min(checked_count("k", k), _MOST)
    began = time.perf_counter()
    limit = checked_time_limit(time_limit)
    deadline = SolveDeadline(limit)
    question = Question(asked(graph, source, target, limits, cost), elementary, _threads(threads), limit)
    result = solved(question, wanted, deadline, maximise=maximise)
    seconds = time.perf_counter() - began
    paths = tuple(_path(question, result, path, maximise, seconds) for path in result.paths)
    unexplained = (question, result.unreachable) if result.status is Status.INFEASIBLE else None
    return ShortestPaths(result.status, paths, seconds, result.seconds, result.message, unexplained)


def _path(question: Question, result: Solved, path: Counted, maximise: bool, seconds: float) -> ShortestPath:
    """A path in terms of the graph."""
    graph, (cost_places, use_places) = question.asked, result.places
    best = result.status is Status.OPTIMAL
    if result.bound is not None:
        best = best or (path.cost >= result.bound if maximise else path.cost <= result.bound)
    bound = path.cost if best else result.bound
    return ShortestPath(
        status=Status.OPTIMAL if best else Status.FEASIBLE,
        nodes=tuple(map(graph.node, path.nodes)),
        edges=tuple(map(graph.edge, path.edges)),
        cost=stated(path.cost, cost_places),
        resources={
            name: stated(amount, places)
            for name, amount, places in zip(graph.problem.resources, path.use, use_places, strict=True)
        },
        bound=None if bound is None else stated(bound, cost_places),
        seconds=seconds,
        solve_seconds=result.seconds,
        message="" if best else result.message,
    )


def _threads(threads: int | None) -> int:
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return checked_count("threads", threads, ", or None for all cores")
