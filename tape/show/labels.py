"""What a picture of a plan graph says: in its boxes, at its edges and above it."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tape.budget import in_units
from tape.engine.graph import PlanGraph
from tape.engine.graph_problem import Edge
from tape.show.essence import Essence
from tape.show.text import cut, one_line

MONO, SANS = "DejaVu Sans Mono", "DejaVu Sans"
SMALL, MIDDLE, LARGE, NOTE = 6.5, 8.0, 11.0, 7.5
"""Sizes of text in points: boxes and labels, actions of the path, the title, what is said below it."""

LEADING = 1.22
"""The height of a line of text, in sizes."""

PAD, GOAL_PAD = 3.5, 6.0
"""Room between a box's border and its text."""

_ACTION_WIDTH, _ACTION_LINES = 26, 3
_STATE_WIDTH, _STATE_LINES = 38, 24
"""Characters and lines of what stands at an edge and in a box; the rest is cut with an ellipsis."""

Measure = Callable[[str, float, bool, bool], float]
"""The width in points of a line of text: text, size, whether monospaced, whether bold."""


@dataclass(frozen=True)
class Box:
    """What stands in a node's box, and its size in points.

    Attributes:
        state: The picture of the state.
        said: Score, support, and how many edges are not drawn.
        left: What is left of the budget there, on the path.
        loops: Actions that lead back to the node itself; they stand below the box.
        goal: Whether it is a goal.
        width: Of the box.
        height: Of the box.
    """

    state: tuple[str, ...]
    said: tuple[str, ...]
    left: tuple[str, ...]
    loops: tuple[str, ...]
    goal: bool
    width: float
    height: float

    @property
    def below(self) -> float:
        """Room for the loops."""
        return (len(self.loops) * SMALL * LEADING + 3) if self.loops else 0.0


@dataclass(frozen=True)
class Label:
    """What stands at an edge, the action on one side of the line and its cost on the other.

    Attributes:
        action: Lines.
        cost: Lines.
        size: Of the action's text.
        width: Of the longest line, in points.
    """

    action: tuple[str, ...]
    cost: tuple[str, ...]
    size: float
    width: float

    @property
    def above(self) -> float:
        """Height of the action."""
        return len(self.action) * self.size * LEADING

    @property
    def below(self) -> float:
        """Height of the cost."""
        return len(self.cost) * SMALL * LEADING


class Labels:
    """The texts of one picture.

    Args:
        shown: What is drawn.
        start: Key of the start node.
        left: What is left of each capped resource at the start, in counts; None where that is not known.
        measure: Widths of texts.
    """

    def __init__(self, shown: Essence, start: str, left: Mapping[str, int] | None, measure: Measure) -> None:
        self._shown, self._measure = shown, measure
        self._graph: PlanGraph = shown.graph
        self._path = [self._graph.edge(number) for number in shown.path]
        self._kinds = sorted(left) if left else None
        self._budget = dict(left or {})
        self._sampled = any(self._graph.attributes(node)["support"] for node in self._graph.nodes)
        rests = self._rests(start)
        edges = list(self._graph.edges())
        self.edges = [edge for edge in edges if edge.source != edge.target]
        self.boxes = {
            node: self._box(node, rests.get(node, ()), [edge for edge in edges if edge.source == edge.target == node])
            for node in self._graph.nodes
        }
        self.labels = {edge.id: self._label(edge) for edge in self.edges}

    def heading(self, title: str, note: str, wide: float) -> list[tuple[str, float, bool]]:
        """The lines above the picture: text, size, whether bold.

        Args:
            title: The first line.
            note: What is said below it.
            wide: The width to keep, in points.
        """
        lines = [(line, LARGE, True) for line in self._wrapped(one_line(title), LARGE, wide, bold=True)]
        for text in (one_line(note), self._bill(), self._shown.said, self._legend()):
            lines += [(line, NOTE, False) for line in self._wrapped(text, NOTE, wide, bold=False)]
        return lines

    def _costs(self, edge: Edge) -> tuple[str, ...]:
        known = {kind: edge.cost[kind] for kind in (self._kinds or edge.cost) if edge.cost[kind] != 0}
        return tuple(f"? {kind}" if count is None else in_units(kind, count) for kind, count in known.items())

    def _other_costs(self, edge: Edge) -> tuple[str, ...]:
        """The costs of an edge beside the path, where the path's own edge there has other ones; in one line."""
        taken = next((other for other in self._path if other.source == edge.source), None)
        costs = self._costs(edge)
        return () if taken is None or costs == self._costs(taken) else (", ".join(costs) or "free",)

    def _rests(self, start: str) -> dict[str, tuple[str, ...]]:
        """What is left at every node of the path; where it comes again, at the first visit."""
        rest: dict[str, int | None] = {kind: self._budget[kind] for kind in sorted(self._budget)}
        found = {start: _left(rest)}
        for edge in self._path:
            for kind, count in rest.items():
                cost = edge.cost[kind]
                rest[kind] = None if count is None or cost is None else count - cost
            found.setdefault(edge.target, _left(rest))
        return found

    def _box(self, node: str, left: tuple[str, ...], loops: Sequence[Edge]) -> Box:
        data = self._graph.attributes(node)
        lines = [cut(one_line(line), _STATE_WIDTH) for line in str(data["label"]).splitlines()] or [""]
        if len(lines) > _STATE_LINES:
            lines = [*lines[: _STATE_LINES - 1], "…"]
        wide = max(map(len, lines))
        state = tuple(line.ljust(wide) for line in lines)
        score = f"{data['reward']:.2f}".replace("-0.00", "0.00")
        said: tuple[str, ...] = (f"{score} ×{data['support']}" if self._sampled else score,)
        if hidden := self._shown.hidden.get(node):
            said = (*said, f"+{hidden} not drawn")
        widths = [self._measure(line, SMALL, True, False) for line in state]
        widths += [self._measure(line, SMALL, False, False) for line in (*said, *left)]
        pad = GOAL_PAD if data["goal"] else PAD
        height = (len(state) + len(said) + len(left)) * SMALL * LEADING + (2.0 if left else 0.0)
        looped = tuple(f"↻ {cut(one_line(edge.action), _STATE_WIDTH)}{_mark(edge)}" for edge in loops)
        # The loops' text is wider than the box at times, and a little more room does no harm.
        widths += [self._measure(line, SMALL, False, False) - 2 * pad for line in looped]
        return Box(state, said, left, looped, bool(data["goal"]), max(widths) + 2 * pad + 2, height + 2 * pad)

    def _label(self, edge: Edge) -> Label:
        on_path = any(edge.id == other.id for other in self._path)
        size = MIDDLE if on_path else SMALL
        action = _wrapped_action(one_line(edge.action) + _mark(edge))
        cost = self._costs(edge) if on_path else self._other_costs(edge)
        if edge.reward:
            earned = f"earns {edge.reward:.4g}"
            cost = (*cost, earned) if on_path or not cost else (f"{cost[0]}, {earned}",)
        widths = [self._measure(line, size, False, on_path) for line in action]
        widths += [self._measure(line, SMALL, False, False) for line in cost]
        return Label(tuple(action), cost, size, max(widths))

    def _bill(self) -> str:
        """What the path needs of what there is."""
        if not self._path or not self._budget:
            return ""
        parts = []
        for kind in sorted(self._budget):
            costs = [edge.cost[kind] for edge in self._path]
            known = [count for count in costs if count is not None]
            need = in_units(kind, sum(known)) if len(known) == len(costs) else f"? {kind}"
            parts.append(f"{need.removesuffix(f' {kind}')} of {in_units(kind, self._budget[kind])}")
        return f"at worst the path needs {', '.join(parts)}"

    def _legend(self) -> str:
        edges = list(self._graph.edges())
        marks = [
            (bool(self._path), "thick: selected path"),
            (any(edge.certified for edge in edges), "✓ observed"),
            (any(edge.refuted for edge in edges), "✗ contradicted"),
            (any(box.goal for box in self.boxes.values()), "double frame: goal"),
            (True, "0.00: score"),
            (self._sampled, "×n: plans through it"),
        ]
        return "   ".join(text for holds, text in marks if holds)

    def _wrapped(self, text: str, size: float, wide: float, *, bold: bool) -> list[str]:
        """A text in lines of a width."""
        lines: list[str] = []
        for word in text.split(" "):
            if lines and self._measure(f"{lines[-1]} {word}", size, False, bold) <= wide:
                lines[-1] += f" {word}"
            else:
                lines.append(word)
        return [line for line in lines if line]


def _left(rest: Mapping[str, int | None]) -> tuple[str, ...]:
    return tuple(f"? {kind} left" if count is None else f"{in_units(kind, count)} left" for kind, count in rest.items())


def _mark(edge: Edge) -> str:
    return " ✗" if edge.refuted else " ✓" if edge.certified else ""


def _wrapped_action(text: str) -> list[str]:
    """An action in lines; the arguments of a call begin a new one."""
    if len(text) <= _ACTION_WIDTH:
        return [text]
    name, bracket, arguments = text.partition("(")
    parts = [name, bracket + arguments] if bracket else [text]
    lines = [line for part in parts for line in textwrap.wrap(part, _ACTION_WIDTH + 4)]
    if len(lines) > _ACTION_LINES:
        lines = [*lines[: _ACTION_LINES - 1], cut(f"{lines[_ACTION_LINES - 1]} …", _ACTION_WIDTH + 4)]
    return lines or [text]
