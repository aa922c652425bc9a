"""The part of a large plan graph that matters for its path, small enough to be drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tape.engine.graph import PlanGraph

MOST_NODES = 32
"""Of a larger graph only a part is drawn."""


@dataclass(frozen=True)
class Essence:
    """What is drawn of a graph.

    Attributes:
        graph: The graph, or a part of it.
        path: The path's edges in it.
        said: What is left out, for people; empty where nothing is.
        hidden: How many edges that leave a node are not drawn; only where some are.
    """

    graph: PlanGraph
    path: Sequence[int]
    said: str = ""
    hidden: Mapping[str, int] = field(default_factory=dict)


def essence(graph: PlanGraph, start: str, path: Sequence[int], most: int = MOST_NODES) -> Essence:
    """The whole graph if it is small enough, else a part.

    The path and what was observed on the way to the start come first, then what leads to other goals, the best ones
    first, then what most plans pass through. A node is taken with a way to it from what is drawn already, so nothing
    hangs in the air.

    Args:
        graph: A plan graph.
        start: Key of its start.
        path: Edge ids of the selected path, all of which are kept.
        most: How many nodes are kept, unless the path has more.
    """
    if len(graph.nodes) <= most:
        return Essence(graph, path)
    edges = list(graph.edges())
    arrows = {edge.id for edge in edges if edge.votes or edge.certified or edge.refuted} | set(path)
    kept = {start: None, **{graph.edge(number).target: None for number in path}}
    parents = _parents(graph, [*kept], arrows)
    depth = {node: i for i, node in enumerate(parents)}

    def wanted(node: str) -> tuple[bool, float, int, int]:
        data = graph.attributes(node)
        return not data["goal"], -data["reward"] if data["goal"] else 0.0, -data["support"], depth[node]

    for node in sorted(parents, key=wanted):
        way = []
        at: str | None = node
        while at is not None and at not in kept:
            way.append(at)
            at = parents[at]
        if len(kept) + len(way) <= most:
            kept |= dict.fromkeys(reversed(way))
    # What is left of the room shows what else could be done along the path, though no plan did it.
    for number in path:
        for edge in edges:
            if edge.source == graph.edge(number).source and edge.id not in arrows and len(kept) < most:
                kept[edge.target] = None
                arrows.add(edge.id)
    arrows = {number for number in arrows if {graph.edge(number).source, graph.edge(number).target} <= kept.keys()}
    return _part(graph, path, kept, sorted(arrows))


def _parents(graph: PlanGraph, first: Sequence[str], arrows: set[int]) -> dict[str, str | None]:
    """For every node that is connected by these edges to the first ones: the next node on a short way to them."""
    beside: dict[str, list[str]] = {node: [] for node in graph.nodes}
    for number in sorted(arrows):
        edge = graph.edge(number)
        beside[edge.source].append(edge.target)
        beside[edge.target].append(edge.source)
    found: dict[str, str | None] = dict.fromkeys(first)
    queue = list(first)
    for node in queue:
        for other in beside[node]:
            if other not in found:
                found[other] = node
                queue.append(other)
    return found


def _part(graph: PlanGraph, path: Sequence[int], kept: Mapping[str, None], arrows: Sequence[int]) -> Essence:
    data = graph.to_dict()
    hidden = Counter(edge.source for edge in graph.edges() if edge.source in kept) - Counter(
        graph.edge(number).source for number in arrows
    )
    goals = [node for node in graph.nodes if node not in kept and graph.attributes(node)["goal"]]
    nodes, links = len(graph.nodes) - len(kept), len(data["links"]) - len(arrows)
    said = f"not drawn: {nodes} of {len(graph.nodes)} nodes and {links} of {len(data['links'])} edges"
    if goals:
        best = max(graph.attributes(node)["reward"] for node in goals)
        what = "1 goal with a score of" if len(goals) == 1 else f"{len(goals)} goals with scores of at most"
        said += f", among them {what} {best:.2f}"
    data["nodes"] = [node for node in data["nodes"] if node["id"] in kept]
    chosen = set(arrows)
    data["links"] = [link for link in data["links"] if link["key"] in chosen]
    number = {old: new for new, old in enumerate(arrows)}
    return Essence(PlanGraph.from_dict(data), [number[old] for old in path], said, dict(hidden))
