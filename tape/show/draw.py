"""Draws a plan graph with its path as an SVG, in the layout and the look of the page of ``tape view``.

The page's own script draws the same record in the browser, where the path changes with what is clicked; compare TAPE
figure 6.
"""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from tape.budget import in_units, part_in_units
from tape.choice.graph import PlanGraph
from tape.errors import GraphError
from tape.files import replace_file
from tape.show.text import cut, one_line
from tape.show.view.geometry import GOAL_PAD, LINE, PAD, mark
from tape.show.view.graphs import graph_record, left_along

_TEMPLATES = Path(__file__).parent / "view" / "templates"

_MARGIN, _NARROWEST = 20.0, 420.0
_HEAD = 8.0
"""Length of an arrow's head."""

_TITLE, _NOTE = 24.0, 18.0
"""Heights of the lines above the picture."""

_CHARACTER = 6.9
"""Width of a character of these lines, at most."""

_OWN_STYLE = ".ground { fill: #ffffff; } .drawing .note { text-anchor: start; font-size: 12.5px; fill: var(--soft); }\n"
_OWN_STYLE += ".drawing .title { text-anchor: start; font-size: 16px; font-weight: 650; fill: var(--ink); }\n"


def draw(
    graph: PlanGraph,
    file: Path | None,
    *,
    start: str,
    path: Sequence[int] = (),
    title: str = "",
    note: str = "",
    left: Mapping[str, int] | None = None,
    refused: Collection[str] = (),
) -> str:
    """Write a picture; of a large graph the part that matters for the path.

    The path is a thick line with its costs, contradicted edges are dotted with a cross, certified ones dash-dotted
    with a tick, so that the picture reads without colour too. Nodes are ``node-N`` and edges ``edge-N``, by their order
    in what is drawn; each shows more when it is pointed at. The background is white, also on a dark page.

    Args:
        graph: The plan graph.
        file: Ends in ``.svg``; None writes none.
        start: Key of the start node.
        path: Edge ids of the path.
        title: A line above the picture.
        note: A line below it.
        left: What is left of each capped resource at the start, in counts: then every node of the path shows what is
            left there if all its steps use their worst case, and costs are those of these resources alone.
        refused: Actions that were refused when they were to be approved.

    Returns:
        The picture.

    Raises:
        GraphError: The file's ending is another one, or ``start`` is no node.
    """
    if file is not None and file.suffix != ".svg":
        raise GraphError(
            f"{file}: pictures of plan graphs are SVG; name it {file.with_suffix('.svg').name}, which every browser "
            "opens and can print as PDF"
        )
    graph.attributes(start)
    made = _Picture(graph, start, path, left, refused)
    picture = "".join(made.elements(one_line(title) or "plan graph", one_line(note)))
    if file is not None:
        replace_file(file, picture.encode())
    return picture


class _Picture:
    """One picture, laid out."""

    def __init__(
        self,
        graph: PlanGraph,
        start: str,
        path: Sequence[int],
        left: Mapping[str, int] | None,
        refused: Collection[str],
    ) -> None:
        self._graph, self._left = graph, dict(sorted((left or {}).items()))
        self._taken = [graph.edge(number) for number in path]
        kinds = [*self._left] or sorted({kind for edge in graph.edges() for kind in edge.cost})
        rests = left_along(self._left, self._taken)
        widest = max((len(text) + len(" left") for rest in rests for _, text in rest), default=0)
        record, places = graph_record(graph, start, [path], kinds=kinds, widest=widest, views=1, refused=refused)
        self._record, self._view = record, record["views"][0]
        self._path = {places[number] for number in path}
        self._rests: dict[int, list[list[str]]] = {}
        for rest, node in zip(rests, [start, *(edge.target for edge in self._taken)], strict=True):
            at = next(i for i, item in enumerate(record["nodes"]) if item["key"] == node)
            self._rests.setdefault(at, rest)  # where it comes again, what is left at the first visit

    def elements(self, title: str, note: str) -> Iterator[str]:
        """The parts of the file, in order."""
        wide = max(float(self._view["size"][0]), _NARROWEST)
        notes = [note, self._bill(), self._left_out(), self._legend()]
        lines = [line for text in notes for line in textwrap.wrap(text, int(wide / _CHARACTER))]
        titles = textwrap.wrap(title, int(wide / _CHARACTER / 1.3))
        top = len(titles) * _TITLE + len(lines) * _NOTE + 14
        width, height = wide + 2 * _MARGIN, self._view["size"][1] + top + 2 * _MARGIN
        yield (
            f'<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" class="drawing" '
            f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}">\n'
            f"<title>{html.escape(title)}</title>\n<style>{style_rules()}</style>\n<defs>"
        )
        for kind in ("plain", "path", "good", "bad"):
            yield (
                f'<marker id="arrow-{kind}" class="head {kind}" viewBox="0 0 10 10" refX="0" refY="5" '
                f'markerWidth="{_HEAD:g}" markerHeight="{11 if kind == "path" else 8}" preserveAspectRatio="none" '
                'markerUnits="userSpaceOnUse" orient="auto"><path d="M 0 0.5 L 10 5 L 0 9.5 z"/></marker>'
            )
        yield '</defs>\n<rect class="ground" width="100%" height="100%"/>\n'
        y = _MARGIN
        for texts, name, step in ((titles, "title", _TITLE), (lines, "note", _NOTE)):
            for text in texts:
                yield text_element(_MARGIN, y + 12, text, name) + "\n"
                y += step
        yield f'<g transform="translate({_MARGIN:g} {_MARGIN + top:g})">\n'
        for place in sorted(self._view["edges"], key=lambda i: (i in self._path, i)):
            yield from self._edge(place)
        for place in self._view["nodes"]:
            yield from self._node(place)
        yield "</g>\n</svg>\n"

    # --- what is drawn ----------------------------------------------------------------------

    def _node(self, place: int) -> Iterator[str]:
        node, (x, y), rest = self._record["nodes"][place], self._view["nodes"][place], self._rests.get(place, [])
        width, height = node["box"]
        left, top = x - width / 2, y - height / 2
        marks = [("goal", node.get("goal")), ("first", place == self._record["start"]), ("on-path", rest)]
        yield f'<g id="node-{place}" class="{" ".join(["node", *(name for name, holds in marks if holds)])}">'
        yield f"<title>{html.escape(one_line(node['key']))}</title>"
        yield f'<rect class="box" x="{left:g}" y="{top:g}" width="{width}" height="{height}" rx="7"/>'
        if node.get("goal"):
            inner = f'x="{left + 3:g}" y="{top + 3:g}" width="{width - 6}" height="{height - 6}"'
            yield f'<rect class="inner" {inner} rx="5"/>'
        at = top + (GOAL_PAD if node.get("goal") else PAD) + 9
        hidden = node.get("out", 0) - sum(self._record["edges"][i]["from"] == place for i in self._view["edges"])
        wide = max(map(len, node["lines"]))
        lines = [(line.ljust(wide).replace(" ", "\u00a0"), "label") for line in node["lines"]]
        own = [edge for edge in self._record["edges"] if edge["from"] == edge["to"] == place]
        hidden -= len(own)
        lines += [(f"{node['said']} +{hidden}" if hidden > 0 else node["said"], "footer")]
        for text, name in (*lines, *((f"{text} left", "rest") for _, text in rest)):
            yield text_element(x, at, text, name)
            at += LINE
        yield "</g>\n"
        for row, edge in enumerate(own):
            text = text_element(
                x, top + height + 14 + row * LINE, f"↻ {cut(one_line(edge['action']), 28)}{mark(edge)}", "action"
            )
            yield f'<g class="edge {_standing(edge)}">{text}</g>\n'

    def _edge(self, place: int) -> Iterator[str]:
        edge, drawn, on_path = self._record["edges"][place], self._view["edges"][place], place in self._path
        kind = {"refused": "bad", "contradicted": "bad", "certified": "good"}.get(_standing(edge), "plain")
        names = ["edge", _standing(edge), "on-path" if on_path else "", "" if edge["votes"] else "unsampled"]
        facts = [edge["action"], ", ".join(text for _, text in edge["cost"]), _standing(edge)]
        (x, y), step = drawn["at"], LINE + 0.5 * on_path
        yield f'<g id="edge-{place}" class="{" ".join(filter(None, names))}">'
        yield f"<title>{html.escape(one_line('; '.join(filter(None, facts))))}</title>"
        yield f'<path class="line" d="{_line(drawn)}" marker-end="url(#arrow-{"path" if on_path else kind})"/>'
        for row, text in enumerate(reversed(drawn["above"])):
            yield text_element(x, y - 6 - row * step, text, "action")
        for row, text in enumerate(drawn.get("below", ())):
            yield text_element(x, y + 14 + row * LINE, text, "price")
        yield "</g>\n"

    # --- texts ------------------------------------------------------------------------------

    def _bill(self) -> str:
        """What the path needs of what there is."""
        parts = []
        for kind, count in self._left.items() if self._taken else ():
            costs = [edge.cost[kind] for edge in self._taken]
            need = sum(cost or 0 for cost in costs)
            parts.append(f"? of {in_units(kind, count)}" if None in costs else part_in_units(kind, need, count))
        return f"at worst the path needs {', '.join(parts)}" if parts else ""

    def _left_out(self) -> str:
        """How much of the graph is not drawn, and whether there are goals in it."""
        (nodes, edges), drawn = self._record["whole"], self._view["nodes"]
        if len(drawn) == nodes:
            return ""
        keys = {self._record["nodes"][place]["key"] for place in drawn}
        others = [self._graph.attributes(node) for node in self._graph.nodes if node not in keys]
        goals = [data["reward"] for data in others if data["goal"]]
        loops = sum(edge["from"] == edge["to"] and edge["from"] in drawn for edge in self._record["edges"])
        hidden = edges - len(self._view["edges"]) - loops
        text = f"not drawn: {len(others)} of {nodes} nodes and {hidden} of {edges} edges"
        if goals:
            what = "1 goal with a score of" if len(goals) == 1 else f"{len(goals)} goals with scores of at most"
            text += f", among them {what} {max(goals):.2f}"
        return text

    def _legend(self) -> str:
        edges, nodes = self._record["edges"], self._record["nodes"]
        marks = [
            (bool(self._path), "thick: selected path"),
            (any(edge.get("certified") for edge in edges), "✓ observed"),
            (any(_standing(edge) == "contradicted" for edge in edges), "✗ contradicted"),
            (any(node.get("goal") for node in nodes), "double frame: goal"),
            (True, "0.00: score"),
            (any(node["support"] for node in nodes), "×n: plans through it"),
            (len(nodes) < self._record["whole"][0], "+n: actions not drawn"),
        ]
        return ", ".join(text for holds, text in marks if holds)


def _line(drawn: Mapping[str, Any]) -> str:
    """A line along its points up to where the arrow's head begins, as ``lineOf`` of the page's script has it."""
    points, turns = [list(point) for point in drawn["route"]], drawn.get("turns")
    last = points[-1]
    back = -1.0 if last[0] > points[0][0] and turns is None else 1.0  # it comes from earlier layers
    last[0] += back * _HEAD
    if len(points) > 2 and (last[0] - points[-2][0]) * back > 0:
        points[-2] = last  # the straight end is shorter than the head
    parts = [f"M {points[0][0]:g} {points[0][1]:g}"]
    for (a, c), (along, across) in pairwise(points):
        furthest = max(a, along)
        reach = (a + along) / 2 if turns is None else furthest + (turns - furthest) * 4 / 3
        straight = c == across and turns is None
        parts.append(
            f"L {along:g} {across:g}" if straight else f"C {reach:g} {c:g} {reach:g} {across:g} {along:g} {across:g}"
        )
    return " ".join(parts)


def _standing(edge: Mapping[str, Any]) -> str:
    return next((name for name in ("refused", "contradicted", "certified", "unusable") if edge.get(name)), "")


def text_element(x: float, y: float, text: str, name: str) -> str:
    """A line of text; nothing in it is markup."""
    return f'<text class="{name}" x="{x:g}" y="{y:g}">{html.escape(text)}</text>'


def style_rules() -> str:
    """The page's rules for plan graphs in its light colours, written out for programs that know no variables."""
    first = (_TEMPLATES / "page.css").read_text(encoding="utf-8").partition("}")[0]
    colours = dict(re.findall(r"--([\w-]+): ([^;]+);", first))
    rules = _OWN_STYLE + (_TEMPLATES / "graph.css").read_text(encoding="utf-8")
    return re.sub(r"var\(--([\w-]+)\)", lambda match: colours[match[1]], rules)
