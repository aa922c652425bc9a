"""Plan graphs in files: networkx's node-link form, validated when it is read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import networkx as nx
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from tape.budget import Resources
from tape.errors import ConfigError, GraphError
from tape.files import replace_file
from tape.reading import read_json, short, wrong

SCHEMA = 1

_NODE = {"goal": False, "plan_end": False, "support": 0}
_EDGE: dict[str, Any] = {"votes": 1, "confidence": 1.0, "certified": False, "refuted": False}
"""Attributes that files may leave out."""


def finite(value: Any, what: str) -> float:
    """The value as a finite number; ``what`` names it in the error."""
    try:
        number = math.nan if isinstance(value, bool | str) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise GraphError(f"{what} must be a finite number, got {short(value)}")
    return number


def node_link(graph: Any, extra: Mapping[str, Any]) -> dict[str, Any]:
    """A networkx graph in node-link form with a schema number; ``extra`` is kept beside it."""
    return {"schema": SCHEMA, "kind": "plan_graph", **extra, **nx.node_link_data(graph, edges="links")}


def write_file(path: Path, data: Mapping[str, Any]) -> None:
    """Write a graph in node-link form as JSON."""
    text = json.dumps(data, ensure_ascii=False, indent=1)
    replace_file(path, text.encode("utf-8", "backslashreplace"))  # half a surrogate pair becomes its escape in JSON


def read_file(path: Path) -> tuple[Any, list[tuple[str, str]]]:
    """Read what :func:`write_file` has written, as :func:`read_node_link` does."""
    # Actions and labels may contain text of models, surrogates included.
    return read_node_link(read_json(path, surrogates=True, error=_no_graph), str(path))


def _no_graph(message: str) -> GraphError:
    return GraphError(f"{message}; so it cannot be read as a plan graph, which PlanGraph.save writes")


def read_node_link(data: Any, where: str) -> tuple[Any, list[tuple[str, str]]]:
    """Read a graph in node-link form; missing attributes get defaults, and edges are numbered from 0.

    Returns:
        The networkx graph, and source and target of each edge.
    """
    if not isinstance(data, Mapping):
        raise GraphError(f"{where}: a plan graph is a JSON object, got {short(data)}")
    if data.get("kind") != "plan_graph" or data.get("schema") != SCHEMA:
        raise GraphError(f"{where}: not a plan graph of schema {SCHEMA}; write one with PlanGraph.save")
    _check(data, where)
    try:
        graph = nx.node_link_graph(dict(data), directed=True, multigraph=True, edges="links")
        for node, attributes in graph.nodes(data=True):
            for name, default in {"label": node, "reward": 0.0, **_NODE}.items():
                attributes.setdefault(name, default)
            attributes["reward"] = float(attributes["reward"])
        read = sorted(graph.edges(keys=True, data=True), key=lambda edge: edge[3].get("id", edge[2]))
        graph.remove_edges_from([edge[:3] for edge in read])
        for number, (source, target, _, attributes) in enumerate(read):
            for name, default in {**_EDGE, "cost": {}}.items():
                attributes.setdefault(name, default)
            attributes |= {"id": number, "target": target, "action": str(attributes["action"])}
            graph.add_edge(source, target, key=number, **attributes)
    except (KeyError, TypeError, ValueError, nx.NetworkXError) as error:
        raise GraphError(f"{where}: malformed plan graph: {error!r}") from error
    return graph, [(source, target) for source, target, *_ in read]


def _check(data: Mapping[str, Any], where: str) -> None:
    """Refuse values of a wrong type or out of range."""
    try:
        _ADAPTER.validate_python(data, strict=True)
        for link in data["links"]:
            Resources(link.get("cost", {}))
            Resources(link.get("spread", {}))
    except ValidationError as error:
        raise GraphError(f"{where}: malformed plan graph: {wrong(error)}") from error
    except ConfigError as error:
        raise GraphError(f"{where}: malformed plan graph: {error}") from error


_Finite = Annotated[float, Field(allow_inf_nan=False)]


class _Node(BaseModel):
    id: str
    label: str = ""
    reward: _Finite = 0.0
    goal: bool = False
    plan_end: bool = False
    support: int = 0
    likelihood: _Finite | None = None


class _Link(BaseModel):
    source: str
    target: str
    action: str | int
    key: str | int = 0
    id: int = 0
    votes: int = 1
    confidence: _Finite = 1.0
    certified: bool = False
    refuted: bool = False
    cost: dict[str, int | None] = {}
    spread: dict[str, int] = {}
    reward: _Finite = 0.0


class _Graph(BaseModel):
    graph: dict[str, Any] = {}
    start: str | None = None
    nodes: list[_Node]
    links: list[_Link]


_ADAPTER: TypeAdapter[_Graph] = TypeAdapter(_Graph)
