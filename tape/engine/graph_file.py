"""Plan graphs in files: networkx's node-link form, read with care."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import networkx as nx

from tape.budget import Resources
from tape.errors import GraphError

SCHEMA = 1

_NODE = {"goal": False, "plan_end": False, "support": 0}
_EDGE: dict[str, Any] = {"votes": 1, "confidence": 1.0, "certified": False, "refuted": False}
"""What files may leave out."""


def finite(value: Any, what: str) -> float:
    """A number that is finite.

    Raises:
        GraphError: It is not; says what it was to be.
    """
    try:
        number = math.nan if isinstance(value, bool | str) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise GraphError(f"{what} must be a finite number, got {value!r}")
    return number


def read_object(path: Path) -> Mapping[str, Any]:
    """The JSON object in a file.

    Raises:
        GraphError: There is none; says why.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise GraphError(f"cannot be read as a plan graph: {error}") from error
    if not isinstance(data, dict):
        raise GraphError("a plan graph is a JSON object")
    return data


def read_node_link(data: Mapping[str, Any]) -> tuple[Any, list[tuple[str, str]]]:
    """A graph in node-link form with all that a plan graph needs, its edges numbered from 0.

    Returns:
        The networkx graph, and source and target of each edge.

    Raises:
        GraphError: Says what is wrong.
    """
    if data.get("kind") != "plan_graph" or data.get("schema") != SCHEMA:
        raise GraphError(f"not a plan graph of schema {SCHEMA}")
    try:
        graph = nx.node_link_graph(dict(data), directed=True, multigraph=True, edges="links")
        for node, attributes in graph.nodes(data=True):
            for name, default in {"label": node, **_NODE}.items():
                attributes.setdefault(name, default)
            attributes["reward"] = finite(attributes.get("reward", 0.0), f"the reward of node {node!r}")
            for name in ("goal", "plan_end"):
                if not isinstance(attributes[name], bool):
                    raise GraphError(f"{name} of node {node!r} must be true or false, got {attributes[name]!r}")
        read = sorted(graph.edges(keys=True, data=True), key=lambda edge: edge[3].get("id", edge[2]))
        graph.remove_edges_from([edge[:3] for edge in read])
        for number, (source, target, _, attributes) in enumerate(read):
            for name, default in {**_EDGE, "cost": {}}.items():
                attributes.setdefault(name, default)
            attributes |= {"id": number, "target": target, "action": str(attributes["action"])}
            Resources(attributes["cost"])
            if "reward" in attributes:
                attributes["reward"] = finite(attributes["reward"], f"the reward of edge {source!r} -> {target!r}")
            graph.add_edge(source, target, key=number, **attributes)
    except (KeyError, TypeError, ValueError, nx.NetworkXError) as error:
        raise GraphError(f"malformed plan graph: {error!r}") from error
    return graph, [(source, target) for source, target, *_ in read]
