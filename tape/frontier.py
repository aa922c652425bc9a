"""Where a plan graph may still grow: nodes that a walk can reach and from which nobody has planned yet."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tape.budget import Resources
from tape.graph import HOPELESS, PlanGraph


@dataclass(frozen=True)
class Frontier:
    """A node to plan from.

    Attributes:
        node: Its key.
        moves: Moves of the shortest way to it.
        remaining: Counts of each capped resource left after that way.
    """

    node: str
    moves: int
    remaining: Mapping[str, int]


def frontier(
    graph: PlanGraph, start: str, remaining: Mapping[str, int], planned_from: Collection[str]
) -> list[Frontier]:
    """Nodes worth planning from, nearest first; nodes equally near in the order of their appearance.

    Of several ways to a node the one with the fewest moves counts. Left out are nodes scored as goal or as
    hopeless, nodes from which plans were sampled already, and nodes at which the cheapest edge of the graph cannot be
    paid any more.

    Args:
        graph: The annotated graph.
        start: Key of the current node.
        remaining: Counts left of each capped resource.
        planned_from: Keys of nodes from which plans were sampled.
    """
    edges = graph.usable_edges()
    cheapest = {kind: min((edge.cost[kind] or 0 for edge in edges), default=0) for kind in remaining}
    out: dict[str, list[tuple[str, Resources]]] = {}
    for edge in edges:
        out.setdefault(edge.source, []).append((edge.target, edge.cost))
    reached = {start: Frontier(start, 0, dict(remaining))}
    queue = [start]
    for node in queue:  # grows while it is read: breadth first
        here = reached[node]
        if graph.attributes(node)["goal"]:
            continue
        for target, cost in out.get(node, ()):
            left = {kind: count - (cost[kind] or 0) for kind, count in here.remaining.items()}
            if target not in reached and min(left.values(), default=0) >= 0:
                reached[target] = Frontier(target, here.moves + 1, left)
                queue.append(target)
    return [
        found
        for node, found in reached.items()
        if node not in planned_from
        and not graph.attributes(node)["goal"]
        and graph.attributes(node)["reward"] > HOPELESS
        and all(found.remaining[kind] >= count for kind, count in cheapest.items())
    ]
