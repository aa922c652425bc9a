"""Draws a plan graph with its path, as SVG, PNG or PDF (compare TAPE figure 6).

Everything is laid out in points (1/72 inch) from the widths of the texts alone, before anything is drawn, so a picture
has the same geometry at every resolution and in every format. It has a white background of its own, also on a dark
page.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from tape.engine.graph import PlanGraph
from tape.engine.graph_problem import Edge
from tape.errors import GraphError
from tape.plugins import require_extra
from tape.show.essence import MOST_NODES, Essence, essence
from tape.show.figures import save_figure
from tape.show.labels import GOAL_PAD, LARGE, LEADING, MONO, PAD, SANS, SMALL, Labels, Measure
from tape.show.layout import Arc, Arranged, Item, Route, arrange
from tape.show.rows import Row, Rows
from tape.show.text import one_line

__all__ = ["MOST_NODES", "draw"]

PATH, CERTIFIED, CONTRADICTED, PLAIN = "#0b5cad", "#1a7f37", "#b42318", "#6f6f6f"
DARK, GREY = "#333333", "#777777"

_MARGIN = 16.0
_NARROWEST = 330.0
"""Of a picture without its margins, so that title and legend have room."""

_SCREEN = (1100.0, 700.0)
"""A laptop's screen in points, at 96 pixels an inch."""

_HEAD = 6.5
"""Length of an arrow's head."""

_DPI, _MOST_PIXELS = 144, 8000
"""Of a PNG: its resolution, and its longest side, for which the resolution is lowered."""


def draw(
    graph: PlanGraph,
    file: Path,
    *,
    start: str,
    path: Sequence[int] = (),
    title: str = "",
    note: str = "",
    left: Mapping[str, int] | None = None,
) -> None:
    """Write a picture; of a graph of more than :data:`MOST_NODES` nodes the part that matters for the path.

    The path is a thick line with its costs, contradicted edges are dotted with a cross, certified ones dash-dotted
    with a tick, so that the picture reads without colour too. In an SVG nodes are ``node-N``, edges ``edge-N`` and
    ``edge-N-head``, by their order in what is drawn.

    Args:
        graph: The plan graph.
        file: Ends in ``.svg``, ``.png`` or ``.pdf``.
        start: Key of the start node.
        path: Edge ids of the path.
        title: A line above the picture.
        note: What is said below the title, before what is left out.
        left: What is left of each capped resource at the start, in counts: then every node of the path says what is
            left there if all its steps use their worst case, and costs are those of these resources alone.

    Raises:
        GraphError: The file's ending is another one, or ``start`` is no node.
    """
    if file.suffix not in (".svg", ".png", ".pdf"):
        raise GraphError(f"{file}: a picture ends in .svg, .png or .pdf")
    require_extra("plots", "matplotlib", what="drawing")
    graph.attributes(start)
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # it is drawn as an empty box, to be seen
        matplotlib.rcdefaults()  # a user's style must change neither fonts nor the background
        matplotlib.rcParams["svg.hashsalt"] = "tape"
        _Picture(essence(graph, start, path), start, left).write(file, one_line(title) or "plan graph", note)


def _measure() -> Measure:
    """Widths of texts from the fonts' own tables, at no resolution."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    def width(text: str, size: float, mono: bool, bold: bool) -> float:
        font = FontProperties(family=MONO if mono else SANS, size=size, weight="bold" if bold else "normal")
        return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0])

    return width


class _Picture:
    """One picture, laid out."""

    def __init__(self, shown: Essence, start: str, left: Mapping[str, int] | None) -> None:
        self._graph, self._path, self._start = shown.graph, tuple(shown.path), start
        self._texts = Labels(shown, start, left, _measure())
        self._usable = {edge.id for edge in self._graph.usable_edges()}
        sideways, downwards = self._arranged(down=False), self._arranged(down=True)
        plain, broken, turned = Rows(sideways), Rows(sideways, _SCREEN[0]), Rows(downwards)
        # A line from left to right is read best; another shape has to fit a screen clearly better.
        fits = {
            plain: _scale(plain.length, plain.breadth),
            turned: _scale(turned.breadth, turned.length) / 1.1,
            broken: _scale(broken.length, broken.breadth) / 1.25,
        }
        self._rows = max(fits, key=lambda rows: fits[rows])
        self._down = self._rows is turned
        self._places = downwards if self._down else sideways
        self._top = _MARGIN

    # --- geometry ---------------------------------------------------------------------------------

    def _arranged(self, *, down: bool) -> Arranged:
        boxes = {
            node: Item(box.height + 2 * box.below, box.width / 2, box.width / 2)
            if down
            else Item(box.width, box.height / 2, box.height / 2 + box.below)
            for node, box in self._texts.boxes.items()
        }
        arcs = []
        for edge in self._texts.edges:
            label = self._texts.labels[edge.id]
            room = Item(label.width + 6, label.above + 2, label.below + 2)
            if down:
                room = Item(label.above + label.below + 2, 2.0, label.width + 6)
            arcs.append(Arc(edge.id, edge.source, edge.target, room))
        nodes = [self._start, *(self._graph.edge(number).target for number in self._path)]
        return arrange(boxes, arcs, nodes, self._path)

    def _at(self, along: float, across: float, row: Row | None = None) -> tuple[float, float]:
        """A place in the picture: to the right and downwards, in points."""
        along, across = (row or self._rows.row(along)).moved(along, across)
        x, y = (across, along) if self._down else (along, across)
        return x + _MARGIN, y + self._top

    def _line(self, route: Route, *, thick: bool) -> tuple[Any, list[tuple[float, float]]]:
        """The line up to the arrow's head, and the head's corners, its tip on the target's border."""
        from matplotlib.path import Path as Curve

        points = list(route.points)
        tip_along, tip_across = points[-1]
        back = -1.0 if tip_along > points[0][0] and route.turns is None else 1.0  # it comes from earlier layers
        base = tip_along + back * _HEAD
        points[-1] = (base - back, tip_across)
        if len(points) > 2 and (points[-1][0] - points[-2][0]) * back > 0:
            points[-2] = points[-1]  # the straight end is shorter than the head
        row = self._rows.row((points[0][0] + points[1][0]) / 2)
        vertices, codes = [self._at(*points[0], row)], [int(Curve.MOVETO)]
        for (a0, c0), (a1, c1) in pairwise(points):
            here = self._rows.row((a0 + a1) / 2)
            if here is not row and route.turns is None:
                row = here
                vertices.append(self._at(a0, c0, row))
                codes.append(int(Curve.MOVETO))
            if c0 == c1 and route.turns is None:
                vertices.append(self._at(a1, c1, row))
                codes.append(int(Curve.LINETO))
                continue
            reach = (a0 + a1) / 2 if route.turns is None else max(a0, a1) + (route.turns - max(a0, a1)) * 4 / 3
            vertices += [self._at(reach, c0, row), self._at(reach, c1, row), self._at(a1, c1, row)]
            codes += [int(Curve.CURVE4)] * 3
        half = 3.6 if thick else 2.4
        head = [(tip_along, tip_across), (base, tip_across - half), (base, tip_across + half)]
        return Curve(vertices, codes), [self._at(*corner, row) for corner in head]

    # --- drawing ----------------------------------------------------------------------------------

    def write(self, file: Path, title: str, note: str) -> None:
        """Draw and save."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        wide, high = self._rows.length, self._rows.breadth
        if self._down:
            wide, high = high, wide
        wide = max(wide, _NARROWEST)
        heading = self._texts.heading(title, note, wide)
        self._top = _MARGIN + sum(size * LEADING + 2 for _, size, _ in heading) + 8
        width, height = wide + 2 * _MARGIN, high + self._top + _MARGIN
        figure = Figure(figsize=(width / 72, height / 72), dpi=72, facecolor="white")
        FigureCanvasAgg(figure)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        axes.set_xlim(0, width)
        axes.set_ylim(height, 0)
        y = _MARGIN
        for text, size, bold in heading:
            _write(axes, text, (_MARGIN, y + size / 2), size, bold=bold, colour="black" if bold else DARK, ha="left")
            y += size * LEADING + 2
        chosen = set(self._path)
        for edge in sorted(self._texts.edges, key=lambda e: e.id in chosen):
            self._draw_edge(axes, edge, on_path=edge.id in chosen)
        for number, node in enumerate(self._graph.nodes):
            self._draw_box(axes, node, f"node-{number}")
        for row in self._rows.rows[:-1]:
            self._draw_break(axes, row)
        dpi = min(_DPI, 72 * _MOST_PIXELS / max(width, height)) if file.suffix == ".png" else 72
        metadata = {".svg": {"Date": None, "Title": title}, ".pdf": {"CreationDate": None, "Title": title}}
        save_figure(figure, file, dpi=dpi, facecolor="white", metadata=metadata.get(file.suffix))

    def _draw_break(self, axes: Any, row: Row) -> None:
        """Say at the end of a row that it goes on."""
        x, y = self._at(row.end, row.high, row)
        _write(axes, "continues below", (x, y + 9), SMALL, colour=GREY, ha="right")

    def _draw_box(self, axes: Any, node: str, gid: str) -> None:
        from matplotlib.patches import FancyBboxPatch

        box = self._texts.boxes[node]
        x, y = self._at(*self._places.nodes[node])
        fill = "#e3f3e6" if box.goal else "#e8eef7" if node == self._start else "white"

        def frame(inset: float, **style: Any) -> Any:
            corner = (x - box.width / 2 + inset, y - box.height / 2 + inset)
            size = (box.width - 2 * inset, box.height - 2 * inset)
            return FancyBboxPatch(corner, *size, boxstyle="round,pad=0,rounding_size=2.5", zorder=3, **style)

        outer = frame(0.0, facecolor=fill, edgecolor=DARK, linewidth=2.0 if node == self._start else 1.0)
        outer.set_gid(gid)
        axes.add_patch(outer)
        if box.goal:
            axes.add_patch(frame(2.4, facecolor="none", edgecolor=DARK, linewidth=0.8))
        line = y - box.height / 2 + (GOAL_PAD if box.goal else PAD) + 0.5 * SMALL * LEADING
        for texts, style in (
            (box.state, {"mono": True}),
            (box.said, {"colour": DARK}),
            (box.left, {"colour": PATH}),
        ):
            line += 2.0 if texts is box.left else 0.0
            for text in texts:
                _write(axes, text, (x, line), SMALL, **style)
                line += SMALL * LEADING
        line = y + box.height / 2 + 3 + 0.5 * SMALL * LEADING
        for text in box.loops:
            colour = CERTIFIED if text.endswith("✓") else CONTRADICTED if text.endswith("✗") else PLAIN
            _write(axes, text, (x, line), SMALL, colour=colour)
            line += SMALL * LEADING

    def _draw_edge(self, axes: Any, edge: Edge, *, on_path: bool) -> None:
        from matplotlib.patches import PathPatch, Polygon

        colour, style = PLAIN, "-"
        if edge.certified:
            colour, style = CERTIFIED, "-."
        if edge.refuted:
            colour, style = CONTRADICTED, ":"
        if on_path:
            colour, style = PATH, "-"
        alpha = 1.0 if edge.id in self._usable or edge.refuted else 0.5
        line, head = self._line(self._places.routes[edge.id], thick=on_path)
        common = {"alpha": alpha, "zorder": 2 if on_path else 1}
        stroke = {"edgecolor": colour, "linestyle": style, "linewidth": 2.4 if on_path else 0.9, "capstyle": "butt"}
        body = PathPatch(line, facecolor="none", **stroke, **common)
        body.set_gid(f"edge-{edge.id}")
        axes.add_patch(body)
        tip = Polygon(head, closed=True, facecolor=colour, edgecolor="none", **common)
        tip.set_gid(f"edge-{edge.id}-head")
        axes.add_patch(tip)
        label = self._texts.labels[edge.id]
        x, y = self._at(*self._places.labels[edge.id])
        if self._down:
            x, y, ha = x + 5, y + 1, "left"
        else:
            x, y, ha = x + 3 + label.width / 2, y - label.above - 2, "center"
        for i, text in enumerate(label.action):
            at = (x, y + (i + 0.5) * label.size * LEADING)
            _write(axes, text, at, label.size, bold=on_path, colour=colour, alpha=alpha, ha=ha)
        y += label.above + (0 if self._down else 4)
        for i, text in enumerate(label.cost):
            _write(axes, text, (x, y + (i + 0.5) * SMALL * LEADING), SMALL, colour=colour, alpha=alpha, ha=ha)


def _scale(wide: float, high: float) -> float:
    """How large a picture of this size in points is on a screen, at most 1."""
    return min(_SCREEN[0] / max(wide, 1.0), _SCREEN[1] / max(high, 1.0), 1.0)


def _write(
    axes: Any,
    text: str,
    at: tuple[float, float],
    size: float = LARGE,
    *,
    mono: bool = False,
    bold: bool = False,
    colour: str = "black",
    alpha: float = 1.0,
    ha: str = "center",
) -> None:
    """A line of text, its middle at a height."""
    font = {"family": MONO if mono else SANS, "fontsize": size, "weight": "bold" if bold else "normal"}
    axes.text(*at, text, **font, color=colour, alpha=alpha, ha=ha, va="center_baseline", parse_math=False, zorder=5)
