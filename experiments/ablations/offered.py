"""The paths of a plan graph that are offered to a selector other than the solver."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heappop, heappush

from tape.choice.graph import PlanGraph
from tape.choice.graph_problem import Edge
from tape.protocols import OfferedPath

PLENTY = 16
"""Fewer paths than this are filled up with random ones."""

MOST = 32
"""Most paths that are offered."""

Edges = tuple[int, ...]
"""A path as the ids of its edges, in order."""


def chains(graph: PlanGraph, start: str) -> list[Edges]:
    """Every folded plan from a node on, without recombination.

    A plan that was sampled from inside the graph continues the first path that reaches its start. A plan that began
    elsewhere and passes through the node counts from there on.

    Args:
        graph: The plan graph.
        start: Key of the current node.
    """
    edges: list[Edges] = []
    for plan in graph.plans:
        sources = [graph.edge(number).source for number in plan]
        if start in sources:
            edges.append(plan[sources.index(start) :])
            continue
        before = next((head for head in edges if sources and _at(graph, head, sources[0])), None)
        if before is not None:
            edges.append(before[: _at(graph, before, sources[0])] + plan)
    return edges


def _at(graph: PlanGraph, path: Edges, node: str) -> int:
    """How many moves of a path lead to a node; 0 if it is not on it."""
    return next((moves for moves, number in enumerate(path, 1) if graph.edge(number).target == node), 0)


def prefixes(graph: PlanGraph, paths: Sequence[Edges], ends: set[str]) -> list[Edges]:
    """The beginnings of paths that end at one of some nodes, each once."""
    cut = [path[:moves] for path in paths for moves in range(1, len(path) + 1)]
    return [*dict.fromkeys(path for path in cut if graph.edge(path[-1]).target in ends)]


def offered(
    graph: PlanGraph, start: str, ends: Sequence[str], kinds: Sequence[str], moves: int, rng: random.Random
) -> list[Edges]:
    """Paths of the usable graph from which a model selects.

    They are the sampled plans; for each end the path with the fewest moves and, for each capped resource, a path that
    uses least of it; and, up to :data:`PLENTY`, random paths without a circle. Up to :data:`MOST` paths, every end that
    can be reached has one. Neither the choice of paths nor their random order depends on budgets or scores, so they do
    not reveal the solver's path.

    Args:
        graph: The annotated plan graph.
        start: Key of the current node.
        ends: Keys of the nodes where a path may end.
        kinds: The capped resources.
        moves: Most moves of a path.
        rng: Draws what is random.
    """
    out: dict[str, list[Edge]] = {}
    for edge in graph.usable_edges():
        out.setdefault(edge.source, []).append(edge)
    usable = {edge.id for edges in out.values() for edge in edges}
    wanted = set(ends)
    plans = [plan for plan in prefixes(graph, chains(graph, start), wanted) if usable.issuperset(plan)]
    weights: list[Callable[[Edge], int]] = [lambda _: 0]
    weights += [lambda edge, kind=kind: edge.cost[kind] or 0 for kind in kinds]  # type: ignore[misc]
    least = [path for weight in weights for node, path in _least(out, start, weight) if node in wanted]
    rng.shuffle(least)
    longest = max(map(len, [*plans, *least]), default=0)
    mapping = dict.fromkeys(path for path in (*plans, *least) if len(path) <= moves)
    for path in _random(out, start, wanted, min(moves, longest), rng):
        if len(mapping) >= PLENTY:
            break
        mapping.setdefault(path)
    chosen = [*mapping][:MOST]
    rng.shuffle(chosen)
    return chosen


def _least(out: Mapping[str, Sequence[Edge]], start: str, weight: Callable[[Edge], int]) -> Iterator[tuple[str, Edges]]:
    """The path of least weight to every node that can be reached, on a tie the one with the fewest moves."""
    queue: list[tuple[int, int, Edges, str]] = [(0, 0, (), start)]
    done: set[str] = set()
    while queue:
        total, moves, path, node = heappop(queue)
        if node in done:
            continue
        done.add(node)
        if path:
            yield node, path
        for edge in out.get(node, ()):
            if edge.target not in done:
                heappush(queue, (total + weight(edge), moves + 1, (*path, edge.id), edge.target))


def _random(
    out: Mapping[str, Sequence[Edge]], start: str, ends: set[str], moves: int, rng: random.Random
) -> Iterator[Edges]:
    """Random paths without a circle, each cut at the last end that it reaches."""
    for _ in range(4 * PLENTY):
        path: list[int] = []
        node, seen, at_end = start, {start}, 0
        while len(path) < moves:
            onward = [edge for edge in out.get(node, ()) if edge.target not in seen]
            if not onward:
                break
            edge = rng.choice(onward)
            path.append(edge.id)
            node = edge.target
            seen.add(node)
            at_end = len(path) if node in ends else at_end
        if at_end:
            yield tuple(path[:at_end])


def shown(graph: PlanGraph, paths: Sequence[Edges], kinds: Sequence[str]) -> list[OfferedPath]:
    """Paths with their scores and costs of the graph; nodes are numbered in the order in which they appear."""
    names: dict[str, str] = {}
    offered_paths = []
    for path in paths:
        edges = [graph.edge(number) for number in path]
        nodes = [graph.attributes(edge.target) for edge in edges]
        offered_paths.append(
            OfferedPath(
                actions=tuple(edge.action for edge in edges),
                nodes=tuple(names.setdefault(edge.target, f"s{len(names) + 1}") for edge in edges),
                scores=tuple(float(node["reward"]) for node in nodes),
                goal=bool(nodes[-1]["goal"]),
                confidence=min(edge.confidence for edge in edges),
                cost={kind: sum(edge.cost[kind] or 0 for edge in edges) for kind in kinds},
            )
        )
    return offered_paths
