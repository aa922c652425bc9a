"""A small picture as SVG: texts, boxes and lines, with the font and the colours of the project's plan graphs.

The background is white, also on a dark page, and whatever a colour says is also said by a shape or a word.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence

from tape.show.draw import style_rules, text_element

WIDTH = 700.0
"""Of every picture: the width of the text on a page."""

_MARGIN, _LINE = 20.0, 17.0
_CHARACTERS = 108
"""Of a line of the note."""

_STYLE = """
.drawing .word { text-anchor: start; font-size: 12px; fill: #1b1d20; }
.drawing .head { text-anchor: start; font-size: 12.5px; font-weight: 650; fill: #1b1d20; }
.drawing .soft { text-anchor: start; font-size: 11px; fill: #5c636b; }
.drawing .board { text-anchor: start; font-size: 10px; fill: #1b1d20; white-space: pre; font-family: ui-monospace,
  SFMono-Regular, Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace; }
.drawing .mid { text-anchor: middle; }
.drawing .end { text-anchor: end; }
.drawing .halo { paint-order: stroke; stroke: #ffffff; stroke-width: 5px; stroke-linejoin: round; }
.drawing .inside { fill: #ffffff; }
.drawing .blue { fill: #1f55c4; } .drawing .green { fill: #17703d; } .drawing .red { fill: #b0271c; }
.card { fill: #ffffff; stroke: #8a9098; }
.card.good { stroke: #17703d; stroke-width: 1.8; } .card.bad { stroke: #b0271c; stroke-width: 1.8; }
.card.bad, .asked { stroke-dasharray: 5 3; }
.free { fill: #f1f1ee; stroke: #8a9098; } .spent { fill: #1f55c4; stroke: #1f55c4; }
.held { fill: url(#hatch); stroke: #1f55c4; } .asked { fill: none; stroke: #b0271c; stroke-width: 1.8; }
.thin { fill: none; stroke: #8a9098; } .faint { fill: none; stroke: #8a9098; stroke-dasharray: 2 4; }
.strong { fill: none; stroke: #1f55c4; stroke-width: 3; } .stay { stroke-dasharray: 7 4; }
.cap { fill: none; stroke: #1b1d20; stroke-width: 1.6; } .need { fill: none; stroke: #8a5300; stroke-width: 2.4; }
.dot { fill: #1f55c4; } .node { fill: #ffffff; stroke: #8a9098; } .node.on { stroke: #1f55c4; stroke-width: 2; }
"""

_DEFS = (
    '<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="6" height="6" fill="#e8effc"/><path d="M 0 0 V 6" stroke="#1f55c4" stroke-width="2.4"/></pattern>'
    '<marker id="arrow-plain" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
    'markerUnits="userSpaceOnUse" orient="auto"><path d="M 0 0.5 L 10 5 L 0 9.5 z" fill="#8a9098"/></marker>'
    '<marker id="arrow-strong" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="11" markerHeight="11" '
    'markerUnits="userSpaceOnUse" orient="auto"><path d="M 0 0.5 L 10 5 L 0 9.5 z" fill="#1f55c4"/></marker>'
)


class Picture:
    """A picture that grows downwards; the place (0, 0) is below its title and note.

    Args:
        title: Above everything.
        note: Below the title: how to read it.
    """

    def __init__(self, title: str, note: str) -> None:
        self._title, self._notes = title, textwrap.wrap(note, _CHARACTERS)
        self._parts: list[str] = []
        self._bottom = 0.0

    def text(self, x: float, y: float, text: str, name: str = "word") -> None:
        """A line of text, ``y`` at its foot; nothing in it is markup."""
        self._add(y, text_element(x, y, text, name))

    def box(self, x: float, y: float, width: float, height: float, name: str = "card") -> None:
        """A box; one without an extent is left out."""
        if width > 0 and height > 0:
            place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
            self._add(y + height, f'<rect class="{name}" {place} rx="2"/>')

    def dot(self, x: float, y: float, radius: float = 4.5, name: str = "dot") -> None:
        """A filled circle."""
        self._add(y + radius, f'<circle class="{name}" cx="{x:g}" cy="{y:g}" r="{radius:g}"/>')

    def line(self, points: Sequence[tuple[float, float]], name: str = "thin", head: str = "") -> None:
        """A line along points, with an arrow's head ``plain`` or ``strong``, or none."""
        path = "M " + " L ".join(f"{x:g} {y:g}" for x, y in points)
        marker = f' marker-end="url(#arrow-{head})"' if head else ""
        self._add(max(y for _, y in points), f'<path class="{name}" d="{path}"{marker}/>')

    def _add(self, bottom: float, part: str) -> None:
        self._bottom = max(self._bottom, bottom)
        self._parts.append(part)

    def svg(self) -> str:
        """The file."""
        top = _MARGIN + 38 + _LINE * len(self._notes)
        height = top + self._bottom + _MARGIN
        head = [text_element(_MARGIN, _MARGIN + 12, self._title, "title")]
        head += [text_element(_MARGIN, _MARGIN + 34 + _LINE * i, note, "note") for i, note in enumerate(self._notes)]
        lines = [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" width="{WIDTH:g}" height="{height:g}" '
            f'viewBox="0 0 {WIDTH:g} {height:g}">',
            f"<title>{html.escape(self._title)}</title>",
            f"<style>{style_rules()}{_STYLE}</style>",
            f"<defs>{_DEFS}</defs>",
            '<rect class="ground" width="100%" height="100%"/>',
            *head,
            f'<g transform="translate({_MARGIN:g} {top:g})">',
            *self._parts,
            "</g>",
            "</svg>",
        ]
        return "\n".join(lines) + "\n"
