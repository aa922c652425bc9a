"""Graphs as users have them, as problems: networkx, lists of edges, and problems with other ends or limits."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from solvers.errors import ProblemError
from solvers.rcsp.problem import Numbers, RcspProblem

Limits = Mapping[str, Any]
"""For each resource an upper limit, a pair of a lower and an upper one, or None for none; so is None in a pair."""


class NamedProblem(NamedTuple):
    """A problem, and how whoever asked calls its nodes and edges.

    Attributes:
        problem: The problem.
        node: The node of a number.
        edge: The edge of a number: `(tail, head)` or `(tail, head, key)` of a networkx graph, else its position.
    """

    problem: RcspProblem
    node: Callable[[int], Any]
    edge: Callable[[int], Any]


def asked(graph: Any, source: Any, target: Any, limits: Limits | None, cost: str) -> NamedProblem:
    """The problem that a graph, two of its nodes and limits make; the arguments are those of `shortest_path`."""
    if limits is not None and not isinstance(limits, Mapping):
        raise ProblemError("limits", None, limits, "expected a dict from resources to limits, such as {'time': 10}")
    if isinstance(graph, RcspProblem):
        return _limited(graph, source, target, limits or {}, cost)
    names = list(limits or ())
    edge = _networkx(graph) if hasattr(graph, "adjacency") else _edge_list(graph)
    ends = []
    for name, node in (("source", source), ("target", target)):
        try:
            ends.append(edge.index[node])
        except (KeyError, TypeError):
            message = "say where paths begin and end" if node is None else "no such node in the graph"
            raise ProblemError(name, None, node, message) from None
    pairs = [_pair(name, limit) for name, limit in (limits or {}).items()]
    return NamedProblem(edge.problem(cost, names, pairs, ends), edge.labels.__getitem__, edge.edge)


def _pair(name: str, limit: Any) -> tuple[Any, Any]:
    """The lower and the upper limit."""
    if isinstance(limit, tuple | list):
        if len(limit) != 2:
            raise ProblemError(f"limits[{name!r}]", None, limit, "expected an upper limit, or a pair (lower, upper)")
        return limit[0], limit[1]
    return None, limit


def _limited(problem: RcspProblem, source: Any, target: Any, limits: Limits, cost: str) -> NamedProblem:
    if cost != "cost":
        raise ProblemError("cost", None, cost, "an RcspProblem has its costs already")
    if source is not None or target is not None:
        source = problem.source if source is None else source
        problem = problem.between(source, problem.target if target is None else target)
    if limits:
        lower, upper = list(problem.lower), list(problem.upper)
        for name, limit in limits.items():
            if name not in problem.resources:
                known = ", ".join(problem.resources) or "none"
                raise ProblemError("limits", None, name, f"no such resource; there are: {known}")
            k = problem.resources.index(name)
            lower[k], upper[k] = _pair(name, limit)
        problem = problem.with_limits(lower, upper)
    return NamedProblem(problem, int, int)


@dataclass
class _Graph:
    """A graph, taken apart; `visits` has the attributes of its nodes, and is empty where none has any."""

    labels: Sequence[Any]
    index: dict[Any, int]
    tails: Any
    heads: Any
    attributes: Sequence[Mapping[str, Any]]
    visits: Sequence[Mapping[str, Any]]
    edge: Callable[[int], Any]

    def problem(self, cost: str, names: list[str], limits: list[tuple[Any, Any]], ends: list[int]) -> RcspProblem:
        """The problem with these attributes as its cost and its resources."""
        columns = [cost, *names]
        try:
            rows = _table(self.attributes, columns)
        except KeyError:
            self._require_known(columns)
            rows = _table([_Missing(attribute) for attribute in self.attributes], columns)
        visits = _table([_Missing(visit) for visit in self.visits], columns)
        node_cost, node_use = (visits[:, 0], visits[:, 1:]) if visits.any() else (None, None)
        lower, upper = [low for low, _ in limits], [high for _, high in limits]
        try:
            return RcspProblem(
                len(self.labels), self.tails, self.heads, rows[:, 0], rows[:, 1:], node_cost, node_use, lower, upper,
                source=ends[0], target=ends[1], resources=names,
            )  # fmt: skip
        except ProblemError as error:
            raise self._named(error, columns) from error

    def _require_known(self, columns: list[str]) -> None:
        """Refuses an attribute that nothing has, which is a slip of the pen, and a cost that only some edges have."""
        for name in columns:
            without = next((e for e, attribute in enumerate(self.attributes) if name not in attribute), None)
            if without is None:
                continue
            if not any(name in attribute for attribute in chain(self.attributes, self.visits)):
                raise ProblemError("attribute", None, name, "no edge and no node of the graph has it")
            if name == columns[0] and any(name in attribute for attribute in self.attributes):
                raise ProblemError("edge", None, self.edge(without), f"has no attribute {name!r}, and others have")

    def _named(self, error: ProblemError, columns: list[str]) -> ProblemError:
        """The error in terms of the graph."""
        at = error.index if isinstance(error.index, tuple) else (error.index,)
        if error.field in {"lower", "upper"} and at[0] is not None:
            where = f"limits[{columns[1 + at[0]]!r}]"
        elif error.field in {"cost", "use", "node_cost", "node_use"} and at[0] is not None:
            attribute = columns[0 if error.field.endswith("cost") else 1 + (at[1] if len(at) > 1 else 0)]
            thing = f"node {self.labels[at[0]]!r}" if error.field.startswith("node") else f"edge {self.edge(at[0])!r}"
            where = f"{thing}, attribute {attribute!r}"
        else:
            return error
        return ProblemError(where, None, error.value, str(error).rpartition(": ")[2])


class _Missing(dict[str, Any]):
    """Attributes, of which those that are not there are 0."""

    def __missing__(self, name: str) -> int:
        return 0


def _table(dicts: Sequence[Mapping[str, Any]], names: list[str]) -> Numbers:
    """A row for each dict: the values by these names.

    Raises:
        KeyError: If a dict has no such value.
    """
    if not dicts:
        return np.zeros((0, len(names)), dtype=np.int64)

    def flat() -> Iterable[Any]:
        rows = map(itemgetter(*names), dicts)
        return chain.from_iterable(rows) if len(names) > 1 else rows

    try:
        numbers: Any = np.frombuffer(array("q", flat()), dtype=np.int64)  # the fastest way from Python's integers
    except (TypeError, OverflowError):
        numbers = _floats(list(flat()))
    table: Numbers = numbers.reshape(len(dicts), len(names))
    return table


def _floats(values: list[Any]) -> Any:
    """Values as an array: of floats, or of whatever they are, to be looked at one by one."""
    try:
        floats = np.fromiter(values, np.float64, len(values))
    except (TypeError, ValueError, OverflowError):
        floats = None
    if floats is not None and not {str, bytes, bool}.intersection(map(type, values)) and (np.abs(floats) < 2**53).all():
        return floats
    things = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):  # all at once, lists among them would be taken for rows
        things[i] = value
    return things


def _networkx(graph: Any) -> _Graph:
    if not graph.is_directed():
        raise ProblemError("graph", None, graph, "is not directed; graph.to_directed() goes both ways along each edge")
    labels = list(graph)
    index = dict(zip(labels, range(len(labels)), strict=True))
    heads: list[Any] = []
    counts: list[int] = []
    attributes: list[Mapping[str, Any]] = []
    keys: list[Any] = []
    several = graph.is_multigraph()
    for _, neighbours in graph.adjacency():
        if several:
            before = len(heads)
            for head, parallel in neighbours.items():
                heads.extend([head] * len(parallel))
                keys.extend(parallel)
                attributes.extend(parallel.values())
            counts.append(len(heads) - before)
        else:
            heads.extend(neighbours)
            counts.append(len(neighbours))
            attributes.extend(neighbours.values())
    tails = np.repeat(np.arange(len(labels), dtype=np.int32), counts)
    ends = np.fromiter(map(index.__getitem__, heads), np.int32, len(heads))
    visits = [item for _, item in graph.nodes(data=True)]

    def edge(number: int) -> tuple[Any, ...]:
        pair = (labels[tails[number]], heads[number])
        return (*pair, keys[number]) if several else pair

    return _Graph(labels, index, tails, ends, attributes, visits if any(visits) else (), edge)


def _edge_list(edges: Any) -> _Graph:
    index: dict[Any, int] = {}
    tails: list[int] = []
    heads: list[int] = []
    attributes: list[Mapping[str, Any]] = []
    if isinstance(edges, str | bytes | Mapping) or not isinstance(edges, Iterable):
        message = "expected a directed networkx graph, (tail, head, {attributes}) for each edge, or an RcspProblem"
        raise ProblemError("graph", None, edges, message)
    for e, edge in enumerate(edges):
        try:
            tail, head, values = edge
            tails.append(index.setdefault(tail, len(index)))
            heads.append(index.setdefault(head, len(index)))
            if not isinstance(values, Mapping):
                raise TypeError
        except (TypeError, ValueError):
            raise ProblemError("graph", e, edge, "expected (tail, head, {attributes}) with hashable nodes") from None
        attributes.append(values)
    return _Graph(list(index), index, tails, heads, attributes, (), int)
