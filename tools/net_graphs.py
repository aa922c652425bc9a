"""The plan graphs that the behaviour net's commands of ``tape solve`` read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def graphs() -> dict[str, dict[str, Any]]:
    """The plan graphs of the solver's commands, by file name; costs in micro-dollars."""
    usd = 1_000_000
    trip = [
        ("home", "walk", "station", 0, 0),
        ("home", "bus", "station", 2_500_000, 0),
        ("home", "taxi", "office", 24 * usd, 0),
        ("station", "train", "office", 3 * usd, 0),
        ("station", "coach", "depot", 2 * usd, 0),
        ("depot", "walk", "office", 0, 0),
        ("station", "tram", "home", usd, 0),
    ]
    chain = [(str(i), "on", str(i + 1), 0, 0) for i in range(5)]
    risky = [
        ("home", "market", "goal", 4_500_000, usd),
        ("home", "shop", "desk", 2 * usd, usd // 4),
        ("desk", "clerk", "goal", 2 * usd, usd // 4),
    ]
    return {
        "graph.json": _graph(trip, "home", {"office": 1.0, "depot": 0.2, "station": 0.1}, "office"),
        "chain.json": _graph(chain, "0", {"5": 1.0}, "5"),
        "risky.json": _graph(risky, "home", {"goal": 1.0, "desk": -0.1}, "goal"),
    }


def _graph(
    edges: Sequence[tuple[str, str, str, int, int]], start: str, rewards: Mapping[str, float], goal: str
) -> dict[str, Any]:
    """A plan graph as ``tape solve`` reads it; an edge is source, action, target, cost and the cost's spread."""
    nodes = dict.fromkeys(end for source, _, target, *_ in edges for end in (source, target))
    links = [
        {
            "source": source,
            "target": target,
            "key": number,
            "id": number,
            "action": action,
            "cost": {"usd": cost, "steps": 1},
            **({"spread": {"usd": spread}} if spread else {}),
        }
        for number, (source, action, target, cost, spread) in enumerate(edges)
    ]
    return {
        "schema": 1,
        "kind": "plan_graph",
        "start": start,
        "directed": True,
        "multigraph": True,
        "graph": {},
        "nodes": [{"id": node, "reward": rewards.get(node, 0.0), "goal": node == goal} for node in nodes],
        "links": links,
    }
