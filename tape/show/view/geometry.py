"""Where everything in a plan graph of the page goes: the sizes of boxes and labels, and the layout of pictures."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from tape.show.layout import Arc, Item, arrange
from tape.show.text import cut, one_line

MONO, SANS, BOLD = 6.65, 5.9, 6.6
"""Widths of a character in pixels: of states (11 px), of what stands below and at edges (10.5 px), of the path."""

LINE = 14.0
"""Height of a line of text."""

PAD = 9.0
GOAL_PAD = 12.0

_WIDEST, _TALLEST = 34, 9
_ACTION_WIDTH, _ACTION_LINES = 26, 3


def measure(node: dict[str, Any], rests: int, widest: int, loops: int) -> None:
    """Put the lines that stand in a node's box, and its size, into its record.

    Args:
        node: The node's record.
        rests: Lines kept for what is left of the budget there.
        widest: Characters of the longest of them.
        loops: Actions that lead back to it, which stand below the box.
    """
    lines = [cut(one_line(line), _WIDEST) for line in node["label"].splitlines()] or [""]
    if len(lines) > _TALLEST and max(map(len, lines)) > 2 * _TALLEST:
        lines = ["…", *lines[1 - _TALLEST :]]  # of running text the end, where what is new stands
    score = f"{node['reward']:.2f}".replace("-0.00", "0.00") + (f" ×{node['support']}" if node["support"] else "")
    pad = GOAL_PAD if node.get("goal") else PAD
    wide = max(MONO * max(map(len, lines)), SANS * len(score), SANS * widest if rests else 0)
    node["lines"], node["said"] = lines, score
    node["box"] = [round(wide + 2 * pad), round((len(lines) + 1 + rests) * LINE + 2 * pad - 4)]
    node["below"] = round(loops * LINE + 4) if loops else 0


def label(action: str, costs: Sequence[str], *, on_path: bool) -> tuple[list[str], list[str], float]:
    """What stands above and below the line of an edge, and how wide that is.

    Args:
        action: The action, with its mark.
        costs: What it costs by resource, and what it earns.
        on_path: The path's labels are larger.
    """
    text = one_line(action)
    lines = [text]
    if len(text) > _ACTION_WIDTH:
        name, bracket, arguments = text.partition("(")
        parts = [name, bracket + arguments] if bracket else [text]
        lines = [line for part in parts for line in textwrap.wrap(part, _ACTION_WIDTH + 4)] or [text]
    if len(lines) > _ACTION_LINES:
        lines = [*lines[: _ACTION_LINES - 1], cut(f"{lines[_ACTION_LINES - 1]} …", _ACTION_WIDTH + 4)]
    wide = max((BOLD if on_path else SANS) * max(map(len, lines)), SANS * max(map(len, costs), default=0))
    return lines, [*costs], wide


def mark(edge: Mapping[str, Any]) -> str:
    """What stands behind the action of an edge that is known to hold or to fail."""
    failed = " ✗ refused" if edge.get("refused") else " ✗" if edge.get("contradicted") else ""
    return failed or (" ✓" if edge.get("certified") else "")


def view(record: Mapping[str, Any], path: Sequence[int], kinds: Sequence[str], level: int) -> dict[str, Any]:
    """Where the nodes of some levels go, and the edges between them.

    Args:
        record: The graph's record, its nodes measured.
        path: The edges of the path, by their places in the record; it becomes a straight line.
        kinds: The resources whose costs stand at the path.
        level: Nodes of higher levels are left out.

    Returns:
        ``size``; ``nodes``: the middle of every box, by its place; ``edges``: lines of text above and below, where
        they begin, and the points of the line.
    """
    nodes, edges = record["nodes"], record["edges"]
    kept = [i for i, node in enumerate(nodes) if node.get("level", 0) <= level]
    there = set(kept)
    items = {
        str(i): Item(nodes[i]["box"][0], nodes[i]["box"][1] / 2, nodes[i]["box"][1] / 2 + nodes[i]["below"])
        for i in kept
    }
    arcs, texts = [], {}
    chosen = set(path)
    for i, edge in enumerate(edges):
        if edge["from"] == edge["to"] or edge["from"] not in there or edge["to"] not in there:
            continue
        costs = [text for kind, text in edge["cost"] if kind in kinds] if i in chosen else []
        costs += [f"earns {edge['reward']:.4g}"] if "reward" in edge else []
        refused = edge.get("refused")  # on a line of its own: wrapped, it could be torn
        above, below, wide = label(edge["action"] + ("" if refused else mark(edge)), costs, on_path=i in chosen)
        if refused:
            above, wide = [*above, mark(edge).strip()], max(wide, BOLD * len(mark(edge)))
        texts[i] = above, below, wide
        area = Item(wide + 8, len(above) * LINE + 3, len(below) * LINE + 4)
        arcs.append(Arc(i, str(edge["from"]), str(edge["to"]), area))
    start = edges[path[0]]["from"] if path else record["start"]
    way = list(dict.fromkeys([str(start), *(str(edges[i]["to"]) for i in path)]))
    placed = arrange(items, arcs, way, chosen)
    lines = {}
    for i, (above, below, wide) in texts.items():
        along, across = placed.labels[i]
        route = placed.routes[i]
        lines[i] = {"above": above, "at": [round(along + 4 + wide / 2), round(across)]}
        lines[i]["route"] = [[round(a, 1), round(c, 1)] for a, c in route.points]
        if below:
            lines[i]["below"] = below
        if route.turns is not None:
            lines[i]["turns"] = round(route.turns, 1)
    return {
        "size": [round(placed.length), round(placed.breadth)],
        "nodes": {int(name): [round(along), round(across)] for name, (along, across) in placed.nodes.items()},
        "edges": lines,
    }
