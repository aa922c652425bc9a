"""The result of an episode for people: a table, and its last plan graph as lines of text or as a picture.

:class:`tape.protocols.result.EpisodeResult`, which is below, calls this by name.
"""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Sequence
from importlib import import_module

from rich.console import Group, RenderableType
from rich.table import Table

from tape.budget import in_units, part_in_units
from tape.choice.graph_problem import Edge
from tape.protocols.result import EpisodeResult, json_or_text
from tape.screen import printable
from tape.show.console import GuardedConsole, guarded_text, plain_text
from tape.show.replay import Shown, describe, shown
from tape.show.text import cut, listed_actions, one_line
from tape.trace import Event

_LONGEST, _LONGEST_ACTION = 400, 60
"""Characters of a value of the table, and of an action in a drawing."""

_MOST_STEPS, _MOST_OTHERS = 20, 3
"""Steps of a path that are drawn in text, and other actions in each of its states."""


def text_of(result: EpisodeResult) -> str:
    """The table as plain text."""
    return plain_text(_table(result)).rstrip("\n")


def rich_of(result: EpisodeResult) -> RenderableType:
    """The table and the drawing of the last plan graph, for a terminal."""
    last = _last(result.events)
    return Group(_table(result), *([] if last is None else ["", _drawing(last)]))


def html_of(result: EpisodeResult) -> str:
    """The table and the picture of the last plan graph, for a notebook; whatever is in them is text."""
    rows = "".join(
        f'<tr><th style="text-align:left;vertical-align:top">{html.escape(name)}</th>'
        f'<td style="text-align:left;white-space:pre-wrap">{html.escape(value)}</td></tr>'
        for name, value in _rows(result)
    )
    last = _last(result.events)
    return f"<div><table>{rows}</table>{'' if last is None else _image(last)}</div>"


def show(events: Sequence[Event]) -> None:
    """Print the replay and draw the last plan graph: in a notebook as a picture, else as text."""
    for text in describe(events):
        print(text)
    last, console = _last(events), GuardedConsole()
    if last is None:
        return
    if console.is_jupyter:
        display = import_module("IPython.display")
        display.display(display.HTML(_image(last)))
    elif console.is_terminal:
        console.print("", _drawing(last))
    else:
        print(f"\n{plain_text(_drawing(last))}", end="")


def _last(events: Sequence[Event] | None) -> Shown | None:
    return next(reversed([*shown(events or ())]), None)


def _rows(result: EpisodeResult) -> list[tuple[str, str]]:
    """Names and values of the table."""
    answer = result.final_answer if result.answer is None else json_or_text(result.answer)
    counts = result.counts()
    others = [in_units(kind, count) for kind, count in counts.items() if count and kind not in result.budget]
    rows = [
        ("end", result.end_state + ("" if result.success == (result.end_state == "success") else ", with success")),
        ("answer", "" if answer is None else answer if isinstance(answer, str) else json.dumps(answer)),
        *((kind, _spent(kind, counts[kind], cap)) for kind, cap in sorted(result.budget.items())),
        ("also used", ", ".join(others)),
        ("plan", "" if result.events is None or [*result.plan] == result.actions else listed_actions(result.plan)),
        ("actions", listed_actions(result.actions)),
        ("failed", "; ".join(f"{failed.call}: {failed.error}" for failed in result.failed_calls)),
        ("left out", "; ".join(result.left_out)),
        ("detail", result.detail),
    ]
    return [(one_line(name), cut(printable(one_line(value)), _LONGEST)) for name, value in rows if value]


def _spent(kind: str, count: int | None, cap: int) -> str:
    if count is None:
        return f"an unknown part of {in_units(kind, cap)}"
    return f"{part_in_units(kind, count, cap)}, {in_units(kind, cap - count)} left"


def _table(result: EpisodeResult) -> RenderableType:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _rows(result):
        table.add_row(guarded_text(name, "bold"), guarded_text(value))
    return table


def _image(last: Shown) -> str:
    """A plan graph as an image of its own: nothing in it reaches the rest of a notebook, neither styles nor names."""
    data = base64.b64encode(last.draw(None, "plan graph").encode("utf-8", "backslashreplace")).decode("ascii")
    alt = html.escape(f"plan graph of round {last.number}: {last.note()}")
    return f'<img alt="{alt}" style="max-width:100%" src="data:image/svg+xml;base64,{data}">'


def _drawing(last: Shown) -> RenderableType:
    """A plan graph in lines: the steps of its path (``>``), and what else could be done in the same state."""
    graph, path = last.graph, last.path
    edges = sorted(graph.edges(), key=lambda edge: (-edge.votes, edge.id))
    table = Table.grid(*[""] * 5, padding=(0, 2, 0, 0))
    for number in range(min(len(path), _MOST_STEPS) or 1):
        taken = graph.edge(path[number]) if path else None
        here = last.start if taken is None else taken.source
        others = [edge for edge in edges if edge.source == here and edge != taken]
        for edge in [*([taken] if taken else []), *others[:_MOST_OTHERS]]:
            sign = f"{number + 1} >" if edge == taken else "  |"
            table.add_row(*map(guarded_text, (sign, *_described(last, edge))))
    left_out = len(edges) - table.row_count
    head = f"plan graph of round {last.number}: {len(graph.nodes)} states, {len(edges)} actions; {last.note()}"
    tail = [guarded_text(f"{left_out} other actions are not listed", "dim")] if left_out else []
    return Group(guarded_text(head, "bold"), table, *tail)


def _described(last: Shown, edge: Edge) -> tuple[str, ...]:
    """An action, what it costs, what it leads to, and whether that was seen."""
    left = last.selected.problem.get("budget")
    capped = left if isinstance(left, dict) else edge.cost
    costs = [in_units(kind, count) for kind, count in edge.cost.items() if kind in capped and count]
    end = last.graph.attributes(edge.target)
    score = f"{end['reward']:.2f}{' goal' if end['goal'] else ''}"
    seen = "refused" if edge.action in last.refused else "contradicted" if edge.contradicted else ""
    seen = seen or ("observed" if edge.certified else "")
    return cut(one_line(edge.action), _LONGEST_ACTION), ", ".join(costs), f"to {score}", seen
