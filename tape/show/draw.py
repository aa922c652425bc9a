"""Draws a plan graph with its path, as SVG or PNG (compare TAPE figure 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tape.engine.graph import Edge, PlanGraph
from tape.errors import GraphError
from tape.plugins import require_extra

WALK, CERTIFIED, REFUTED, PLAIN = "#0b5cad", "#1a7f37", "#b42318", "#8a8a8a"

LONGEST_ACTION = 44
"""Characters of an edge's label."""

MOST_NODES = 24
"""Larger graphs are drawn without what no plan and no path takes."""

BEND = 0.28
"""How far edges that lead back bend out of the way."""


def layout(graph: PlanGraph, start: str, path: Sequence[int] = ()) -> dict[str, tuple[float, float]]:
    """Positions: columns by distance from the start, the path along the top, (x, y) in node units."""
    forwards: dict[str, list[str]] = {node: [] for node in graph.nodes}
    backwards: dict[str, list[str]] = {node: [] for node in graph.nodes}
    for edge in graph.edges():
        forwards[edge.source].append(edge.target)
        backwards[edge.target].append(edge.source)
    depth = _distances(start, forwards)
    # States that were left behind lead to the start; they stand to its left.
    for node, distance in _distances(start, backwards).items():
        depth.setdefault(node, -distance)
    last = max(depth.values()) + 1
    for node in graph.nodes:
        depth.setdefault(node, last)
    on_path = {start, *(graph.edge(number).target for number in path)}
    columns: dict[int, list[str]] = {}
    for node in sorted(graph.nodes, key=lambda n: (depth[n], n not in on_path)):
        columns.setdefault(depth[node], []).append(node)
    first = min(columns)
    return {node: (float(x - first), -float(y)) for x, column in columns.items() for y, node in enumerate(column)}


def _distances(start: str, neighbours: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Steps from the start to every node that can be reached, breadth first."""
    found = {start: 0}
    queue = [start]
    for node in queue:
        for target in neighbours[node]:
            if target not in found:
                found[target] = found[node] + 1
                queue.append(target)
    return found


def draw(graph: PlanGraph, file: Path, *, start: str, path: Sequence[int] = (), title: str = "") -> None:
    """Write a picture; of a graph of more than :data:`MOST_NODES` nodes only what plans and the path pass through.

    The path is a thick solid line with filled arrow heads, contradicted edges are dotted with a cross,
    certified ones dash-dotted with a tick, so that the picture reads without colour too.

    Args:
        graph: The plan graph.
        file: Ends in ``.svg``, ``.png`` or ``.pdf``.
        start: Key of the start node.
        path: Edge ids of the path.
        title: A line above the picture.

    Raises:
        GraphError: The file's ending is another one, or ``start`` is no node.
    """
    if file.suffix not in (".svg", ".png", ".pdf"):
        raise GraphError(f"{file}: a picture ends in .svg, .png or .pdf")
    require_extra("plots", "matplotlib", what="drawing")
    graph.attributes(start)
    graph, path, left_out = _essence(graph, start, path)
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    places = layout(graph, start, path)
    labels = {node: str(graph.attributes(node)["label"]) for node in graph.nodes}
    tall = max(label.count("\n") for label in labels.values()) + 3.2
    wide = max(len(line) for label in labels.values() for line in label.splitlines())
    longest = max((len(_short(edge.action)) for edge in graph.edges()), default=0)
    dx, dy = max(1.15, 0.062 * wide + max(0.75, 0.075 * longest + 0.3)), 0.125 * tall + 0.42
    columns = max(x for x, _ in places.values()) + 1
    rows = 1 - min(y for _, y in places.values())
    figure = Figure(figsize=(dx * columns + 0.4, dy * rows + 0.9), dpi=110)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(-0.5 * dx - 0.2, (columns - 0.5) * dx + 0.2)
    axes.set_ylim(-(rows - 0.5) * dy - 0.25, 0.5 * dy + 0.65)
    spots = {node: (x * dx, y * dy) for node, (x, y) in places.items()}
    chosen = set(path)
    boxes = {node: _node(axes, graph, node, labels[node], spots[node], start) for node in graph.nodes}
    # Boxes have their final size only once drawn; edges end at their borders.
    figure.canvas.draw()
    usable = {edge.id for edge in graph.usable_edges()}
    for edge in graph.edges():
        _edge(axes, edge, spots, boxes, on_path=edge.id in chosen, usable=edge.id in usable)
    legend = "thick: selected path   ✓ certified   ✗ contradicted   double frame: goal   ×n: plans through it"
    caption = f"{left_out}{legend}"
    axes.text(
        -0.5 * dx, 0.5 * dy + 0.42, title or "plan graph", fontsize=10, weight="bold", va="center", parse_math=False
    )
    axes.text(-0.5 * dx, 0.5 * dy + 0.18, caption, fontsize=7, color="#444444", va="center")
    with matplotlib.rc_context({"svg.hashsalt": "tape"}):
        figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)


def _essence(graph: PlanGraph, start: str, path: Sequence[int]) -> tuple[PlanGraph, Sequence[int], str]:
    """A large graph without the edges that no plan and no path takes, its path, and what to say of what is gone."""
    if len(graph.nodes) <= MOST_NODES:
        return graph, path, ""
    kept = sorted({edge.id for edge in graph.edges() if edge.votes or edge.certified or edge.refuted} | set(path))
    ends = {node for number in kept for node in (graph.edge(number).source, graph.edge(number).target)} | {start}
    data = graph.to_dict()
    edges = len(data["links"])
    data["nodes"] = [node for node in data["nodes"] if node["id"] in ends]
    data["links"] = [link for link in data["links"] if link["key"] in set(kept)]
    number = {old: new for new, old in enumerate(kept)}
    said = f"{len(graph.nodes) - len(ends)} nodes and {edges - len(kept)} edges that no plan takes are left out   "
    return PlanGraph.from_dict(data), [number[old] for old in path], said


def _short(action: str) -> str:
    return action if len(action) <= LONGEST_ACTION else f"{action[: LONGEST_ACTION - 1]}…"


def _node(axes: Any, graph: PlanGraph, node: str, label: str, spot: tuple[float, float], start: str) -> Any:
    data = graph.attributes(node)
    style: dict[str, Any] = {"boxstyle": "round,pad=0.28", "facecolor": "white", "edgecolor": "#333", "linewidth": 1.0}
    if node == start:
        style |= {"facecolor": "#e8eef7", "linewidth": 2.0}
    text = {"family": "monospace", "fontsize": 6.5, "ha": "center", "va": "center", "parse_math": False}
    caption = f"{label}\n{data['reward'] + 0.0:.2f} ×{data['support']}".replace("\n-0.00", "\n0.00")
    if data["goal"]:
        style |= {"facecolor": "#e3f3e6", "boxstyle": "round,pad=0.45"}
        inner = {"boxstyle": "round,pad=0.22", "facecolor": "none", "edgecolor": "#333", "linewidth": 0.8}
        axes.text(*spot, caption, **text, color="none", bbox=inner, zorder=4)
    return axes.text(*spot, caption, **text, bbox=style, zorder=3)


def _edge(
    axes: Any, edge: Edge, spots: dict[str, tuple[float, float]], boxes: dict[str, Any], *, on_path: bool, usable: bool
) -> None:
    colour, line, mark = PLAIN, "-", ""
    if edge.certified:
        colour, line, mark = CERTIFIED, "-.", " ✓"
    if edge.refuted:
        colour, line, mark = REFUTED, ":", " ✗"
    if on_path:
        colour, line = WALK, "-"
    a, b = spots[edge.source], spots[edge.target]
    if edge.source == edge.target:
        box = boxes[edge.source].get_bbox_patch().get_window_extent().transformed(axes.transData.inverted())
        loop = f"↻ {_short(edge.action)}{mark}"
        axes.text(a[0], box.y0 - 0.12, loop, fontsize=6.5, color=colour, ha="center", va="center", parse_math=False)
        return
    backwards = b[0] <= a[0]
    axes.annotate(
        "",
        xy=b,
        xytext=a,
        arrowprops={
            "arrowstyle": "-|>" if on_path else "->",
            "color": colour,
            "linestyle": line,
            "linewidth": 2.6 if on_path else 0.9,
            "alpha": 1.0 if usable or edge.refuted else 0.35,
            "connectionstyle": f"arc3,rad={BEND if backwards else 0.0}",
            "patchA": boxes[edge.source].get_bbox_patch(),
            "patchB": boxes[edge.target].get_bbox_patch(),
            "shrinkA": 1,
            "shrinkB": 1,
        },
        zorder=2 if on_path else 1,
    )
    bend = BEND if backwards else 0.0
    # The middle of matplotlib's arc3: half of its control point's offset, at a right angle to the chord.
    x = 0.5 * (a[0] + b[0]) + 0.5 * bend * (b[1] - a[1])
    y = 0.5 * (a[1] + b[1]) - 0.5 * bend * (b[0] - a[0])
    axes.text(
        x,
        y,
        f"{_short(edge.action)}{mark}",
        fontsize=8 if on_path else 6.5,
        color=colour,
        weight="bold" if on_path else "normal",
        ha="center",
        va="center",
        parse_math=False,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85},
        zorder=5,
    )
