"""Plan graphs for the page: a part small enough to be drawn, and what changed between two planning rounds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from tape.budget import in_units
from tape.choice.graph import PlanGraph
from tape.choice.graph_problem import Edge
from tape.show.view.geometry import measure, view

MOST_SHOWN = 28
"""Nodes shown at first."""

MOST_KEPT = 110
"""Nodes that are in the page at all; the rest is counted."""

MOST_EDGES = 330

Ends = tuple[str, str, str]
"""Source, action and target of an edge."""

_LISTED = 12
"""Changes of one sort that are named; the rest is counted."""


def graph_record(
    graph: PlanGraph,
    start: str,
    paths: Sequence[Sequence[int]],
    *,
    followed: int = 1,
    kinds: Sequence[str] = (),
    confidence: float = 0.0,
    widest: int = 12,
    views: int = 2,
    refused: Collection[str] = (),
) -> tuple[dict[str, Any], dict[int, int]]:
    """A plan graph for the page, laid out.

    Nodes have a ``level``: 0 is shown at first, 1 where more is asked for. The paths come first, then what was
    observed, then what plans pass through, then what else could be done.

    Args:
        graph: The whole graph.
        start: Key of its start.
        paths: Edge ids of the paths that have to be there; the first becomes a straight line.
        followed: How many of them were followed, these first: their nodes show what is left there.
        kinds: The capped resources.
        confidence: Predictions made with less are not usable.
        widest: Characters of the longest line on what is left somewhere; 0: none does.
        views: How many levels are laid out.
        refused: Actions that were refused when they were to be approved.

    Returns:
        The record, and for the id of every edge that is in it its place there.
    """
    edges = list(graph.edges())
    leaving: dict[str, list[Edge]] = defaultdict(list)
    for edge in edges:
        leaving[edge.source].append(edge)
    levels = _levels(graph, leaving, start, paths)
    usable = {edge.id for edge in graph.usable_edges(confidence)}
    named = {number for path in paths for number in path}
    order = {node: i for i, node in enumerate(levels)}
    within = [edge for edge in edges if edge.source in order and edge.target in order]
    within.sort(key=lambda e: (e.id not in named, not (e.certified or e.contradicted), e.votes == 0, e.id))
    kept = sorted(within[: max(MOST_EDGES, len(named))], key=lambda e: e.id)
    places = {edge.id: place for place, edge in enumerate(kept)}
    nodes = [_node(graph, node, level, leaving[node]) for node, level in levels.items()]
    rests = {node for path in paths[:followed] for number in path for node in _ends(graph.edge(number))} | {start}
    for node in nodes:
        own = leaving[node["key"]]
        lines = len(kinds) if widest and node["key"] in rests else 0
        measure(node, lines, widest, sum(edge.target == edge.source for edge in own))
    record: dict[str, Any] = {"start": order[start], "whole": [len(graph.nodes), len(edges)], "nodes": nodes}
    record["edges"] = [_edge(edge, order, usable=edge.id in usable, refused=edge.action in refused) for edge in kept]
    path = [places[number] for number in paths[0]] if paths else []
    most = max(levels.values())
    record["views"] = [view(record, path, kinds, level) for level in range(min(views, most + 1))]
    return record, places


def _ends(edge: Edge) -> tuple[str, str]:
    return edge.source, edge.target


def _levels(
    graph: PlanGraph, leaving: Mapping[str, list[Edge]], start: str, paths: Sequence[Sequence[int]]
) -> dict[str, int]:
    """The nodes that are kept, with their levels."""
    named = [graph.edge(number) for path in paths for number in path]
    observed = [edge for edge in graph.edges() if edge.certified or edge.contradicted]
    levels: dict[str, int] = {start: 0}
    for edge in [*named, *observed]:
        levels.setdefault(edge.source, 0)
        levels.setdefault(edge.target, 0)
    for wanted in (_voted, _any):
        for node in _reached(graph, levels, leaving, wanted):
            if len(levels) >= MOST_KEPT:
                return levels
            levels[node] = 0 if len(levels) < MOST_SHOWN else 1
    for node in graph.nodes:  # what hangs in the air: states that were left behind
        if len(levels) < MOST_KEPT:
            levels.setdefault(node, 0 if len(levels) < MOST_SHOWN else 1)
    return levels


def _voted(edge: Edge) -> bool:
    return edge.votes > 0


def _any(_: Edge) -> bool:
    return True


def _reached(graph: PlanGraph, known: Mapping[str, int], leaving: Mapping[str, list[Edge]], wanted: Any) -> list[str]:
    """Nodes that edges of a sort lead to from known ones, nearest first, of those what more plans pass through."""
    mapping: dict[str, None] = {}
    front = list(known)
    while front:
        targets = {edge.target for node in front for edge in leaving.get(node, ()) if wanted(edge)}
        fresh = targets - known.keys() - mapping.keys()
        front = sorted(fresh, key=lambda n: (-graph.attributes(n)["support"], -graph.attributes(n)["reward"], n))
        mapping |= dict.fromkeys(front)
    return list(mapping)


def _node(graph: PlanGraph, node: str, level: int, leaving: Sequence[Edge]) -> dict[str, Any]:
    data = graph.attributes(node)
    record = {"key": node, "label": str(data["label"]), "reward": data["reward"], "support": data["support"]}
    marks = {"goal": data["goal"], "end": data["plan_end"], "likelihood": data.get("likelihood"), "level": level}
    marks["out"] = len(leaving)
    return record | {name: value for name, value in marks.items() if value not in (False, None, 0)}


def _edge(edge: Edge, order: Mapping[str, int], *, usable: bool, refused: bool) -> dict[str, Any]:
    record: dict[str, Any] = {"from": order[edge.source], "to": order[edge.target], "action": edge.action}
    record |= {"votes": edge.votes, "cost": amounts(edge.cost.items())}
    marks = {"certified": edge.certified, "contradicted": edge.contradicted, "unusable": not usable}
    marks["refused"] = refused
    if edge.confidence < 1:
        record["confidence"] = edge.confidence
    if edge.reward:
        record["reward"] = edge.reward
    return record | {name: True for name, value in marks.items() if value}


def amounts(counts: Iterable[tuple[str, int | None]]) -> list[list[str]]:
    """Counts by resource as pairs of the resource and the amount in human units."""
    return [[kind, f"? {kind}" if count is None else in_units(kind, count)] for kind, count in counts]


def left_along(left: Mapping[str, int], path: Sequence[Edge]) -> list[list[list[str]]]:
    """What is left of every budget at each node of a path, start included, if every step costs its worst case."""
    now: dict[str, int | None] = dict(left)
    all_lists = [amounts(now.items())]
    for edge in path:
        for kind, count in now.items():
            cost = edge.cost[kind]
            now[kind] = None if count is None or cost is None else count - cost
        all_lists.append([[kind, "none" if (now[kind] or 0) < 0 else text] for kind, text in amounts(now.items())])
    return all_lists


def changes(before: PlanGraph, after: PlanGraph, refused: Collection[str] = ()) -> dict[str, Any]:
    """What a planning round found that the one before had not, and what it no longer has.

    Returns:
        ``nodes`` and ``edges``, each ``new`` and ``gone`` with texts, and edges newly ``certified``, ``contradicted``
        and ``refused`` when they were to be approved; of every sort the number and the first few by name.
    """
    old, new = _edges_by_ends(before), _edges_by_ends(after)
    failed = [edge.action for edge in _newly(old, new, "contradicted")]
    fresh_nodes = [node for node in after.nodes if node not in before.nx]
    lost_nodes = [node for node in before.nodes if node not in after.nx]
    return {
        "nodes": {
            "new": _named([str(after.attributes(node)["label"]) for node in fresh_nodes]),
            "gone": _named([str(before.attributes(node)["label"]) for node in lost_nodes]),
            "keys": fresh_nodes[:MOST_KEPT],
        },
        "edges": {
            "new": _named([edge.action for ends, edge in new.items() if ends not in old]),
            "gone": _named([edge.action for ends, edge in old.items() if ends not in new]),
            "certified": _named([edge.action for edge in _newly(old, new, "certified")]),
            "contradicted": _named([action for action in failed if action not in refused]),
            "refused": _named([action for action in failed if action in refused]),
        },
    }


def _edges_by_ends(graph: PlanGraph) -> dict[Ends, Edge]:
    return {(edge.source, edge.action, edge.target): edge for edge in graph.edges()}


def _newly(old: Mapping[Ends, Edge], new: Mapping[Ends, Edge], mark: str) -> list[Edge]:
    """Edges that have a mark and had not."""
    return [
        edge for ends, edge in new.items() if getattr(edge, mark) and not (ends in old and getattr(old[ends], mark))
    ]


def _named(texts: Sequence[str]) -> dict[str, Any]:
    return {"count": len(texts), "first": list(texts[:_LISTED])}


def path_changes(before: Sequence[str], after: Sequence[str]) -> list[list[str]]:
    """What is kept, dropped and added between what was still to be done and what is planned now, in order."""
    texts: list[list[str]] = []
    for what, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if what == "equal":
            texts += [["kept", action] for action in before[a:b]]
        else:
            texts += [["dropped", action] for action in before[a:b]]
            texts += [["added", action] for action in after[c:d]]
    return texts
