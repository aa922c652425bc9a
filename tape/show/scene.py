"""One episode on a terminal: the picture of its state, its path with the current step, what is left, and a note."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Group
from rich.panel import Panel
from rich.text import Text

from tape.budget import in_units, part_in_units
from tape.show.text import asked_about, one_line, plain
from tape.trace import (
    ActedEvent,
    ApprovalEvent,
    CostAboveBoundEvent,
    Event,
    FinishedEvent,
    InfeasibleEvent,
    LedgerEvent,
    MismatchEvent,
    ObservedEvent,
    PathSelectedEvent,
    ReplannedEvent,
    StartedEvent,
)

NARROW, WIDE = 38, 76
"""Columns of a panel."""

_SHORT = 12
"""Characters of an action that still is a move: such actions stand side by side."""

_MOST_CALLS, _MOST_NOTES, _MOST_LINES = 7, 3, 16
"""Lines of a path of longer actions, of a note, and of a picture."""

_LONGEST_VALUE = 24
"""Characters of a value of an action that was to be approved."""

_INDENT = 6
"""Columns of the words in front of a panel's lines."""


class Marks:
    """The marks of a screen, in characters that it can show.

    Args:
        encoding: Of the screen.
    """

    def __init__(self, encoding: str = "utf-8") -> None:
        unicode = encoding.lower().replace("-", "").startswith("utf")
        self.done, self.now, self.failed = ("✓", "▶", "✗") if unicode else ("+", ">", "x")
        self.bar, self.rest = ("━", "─") if unicode else ("#", "-")
        self.more, self.spinner = ("…", "dots") if unicode else ("...", "line")


class Scene:
    """What is known of one episode: of its path since it was last planned anew the steps done and those ahead.

    Args:
        name: Its title.
        marks: For its path and its end.
    """

    def __init__(self, name: str, marks: Marks | None = None) -> None:
        self.name, self.picture, self.note = name, "", "planning"
        self.remaining: dict[str, int] = {}
        self.caps: Mapping[str, int] = {}
        self.done: list[str] = []
        self.ahead: list[str] = []
        self.success: bool | None = None
        self._marks = marks or Marks()

    def tell(self, event: Event) -> None:
        """Take an event in."""
        match event:
            case StartedEvent():
                self.caps = event.budget
            case ObservedEvent():
                self.picture, self.remaining = event.picture, dict(event.remaining)
            case LedgerEvent(what="settle"):
                # Between observations, which have the exact rest.
                for kind in self.remaining.keys() & event.amounts.keys():
                    self.remaining[kind] = max(0, self.remaining[kind] - (event.amounts[kind] or 0))
            case CostAboveBoundEvent():
                self.note = f"broken declaration: {event.purpose} used more {event.kind} than declared"
            case PathSelectedEvent():
                self.ahead = list(event.actions)
                self.note = _selected(event)
            case ApprovalEvent():
                self.note = f"{event.decision} when asked: {asked_about(event.action, _LONGEST_VALUE)}"
            case ActedEvent():
                self.done.append(event.action)
                self.ahead = self.ahead[1:]
                self.note = event.text or f"step {event.step}"
            case MismatchEvent():
                self.note = "mismatch: the world is not as predicted"
            case ReplannedEvent():
                self.done, self.ahead, self.note = [], [], f"replanning ({event.reason})"
            case InfeasibleEvent():
                self.note = event.text
            case FinishedEvent():
                self.success = bool(event.result["success"])
                ended, before = str(event.result["end_state"]), self.note
                steps = event.result["steps"]
                self.note = f"{ended} after {steps} step{'' if steps == 1 else 's'}"
                if ended == "infeasible":
                    self.note += f": {event.result.get('detail') or before}"
            case _:
                pass

    @property
    def ended(self) -> str:
        """The mark of how it ended; empty while it goes on."""
        return {None: "", True: self._marks.done, False: self._marks.failed}[self.success]

    def panel(self, most: int = WIDE) -> Panel:
        """Picture, path, budget and note.

        Args:
            most: Columns that there are.
        """
        picture = plain(self.picture).splitlines()
        if len(picture) > _MOST_LINES:
            picture = [*picture[: _MOST_LINES - 1], self._marks.more]
        calls = any(len(action) > _SHORT for action in (*self.done, *self.ahead))
        broad = calls or max(map(cell_len, picture), default=0) > NARROW - 4
        columns = min(most, WIDE if broad else NARROW)
        width = columns - 4
        style = {None: "", True: "green", False: "red"}[self.success]
        lines = [
            *(Text(self._fitted(line, width)) for line in picture),
            *_headed("path", self._path(width - _INDENT, calls=calls)),
            *_headed("left", self._flowed([(text, "dim") for text in self._left()], width - _INDENT, ", ")),
            *(Text(line, style=style) for line in self._wrapped(f"{self.ended} {self.note}".strip(), width)),
        ]
        for line in lines:
            line.no_wrap = True
        return Panel(Group(*lines), title=Text(one_line(self.name)), width=columns, border_style=style or "none")

    def brief(self) -> Text:
        """The episode in one line."""
        left = ", ".join(in_units(kind, count) for kind, count in self.remaining.items())
        steps = f"step {len(self.done) + 1} of {len(self.done) + len(self.ahead)}"
        at = steps if self.ahead and not self.ended else self.note
        return Text(f"{self.ended or self._marks.now} {self.name}: {one_line(at)}" + (f", {left} left" if left else ""))

    def _left(self) -> list[str]:
        """What is left, of what there was."""
        return [
            part_in_units(kind, count, self.caps[kind]) if kind in self.caps else in_units(kind, count)
            for kind, count in self.remaining.items()
        ]

    def _path(self, width: int, *, calls: bool) -> list[Text]:
        """The lines of the path: done steps and the current one are marked, also without colour."""
        marked = []
        at = len(self.done)
        for i, action in enumerate([*self.done, *self.ahead]):
            mark, style = (self._marks.done, "dim") if i < at else (self._marks.now, "bold cyan")
            if i > at:
                mark, style = " " if calls else "", ""
            marked.append((f"{mark} {one_line(action)}" if mark else one_line(action), style))
        if not calls:
            return self._flowed(marked, width, "  ")
        lines = [Text(self._fitted(text, width), style=style) for text, style in marked]
        if len(lines) <= _MOST_CALLS:
            return lines
        first = max(0, min(at - 1, len(lines) - _MOST_CALLS + 1))
        last = first + _MOST_CALLS - 2 + (not first)
        last = len(lines) if last + 1 >= len(lines) else last  # a single one takes no more than "1 more"
        before = [Text(f"{self._marks.done} {first} done", style="dim")] if first else []
        after = [Text(f"  {len(lines) - last} more")] if last < len(lines) else []
        return [*before, *lines[first:last], *after]

    def _flowed(self, items: Sequence[tuple[str, str]], width: int, between: str) -> list[Text]:
        """Texts with their styles side by side, in lines that break only between them."""
        lines: list[Text] = []
        for i, (text, style) in enumerate(items):
            shown = self._fitted(text, width) + (between.rstrip() if i < len(items) - 1 else "")
            gap = between[len(between.rstrip()) :]
            if lines and lines[-1].cell_len + len(gap) + cell_len(shown) <= width:
                lines[-1].append(gap).append(shown, style=style)
            else:
                lines.append(Text().append(shown, style=style))
        return lines

    def _wrapped(self, text: str, width: int) -> list[str]:
        """A note in a few lines."""
        lines = textwrap.wrap(one_line(text), width) or [""]
        if len(lines) > _MOST_NOTES:
            lines = [*lines[: _MOST_NOTES - 1], self._fitted(" ".join(lines[_MOST_NOTES - 1 :]), width)]
        return lines

    def _fitted(self, text: str, width: int) -> str:
        """A text cut to a width."""
        if cell_len(text) <= width:
            return text
        return set_cell_size(text, max(0, width - cell_len(self._marks.more))) + self._marks.more


def _selected(event: PathSelectedEvent) -> str:
    """What was selected, and what it costs."""
    if not event.actions:
        return "no path fits" if event.status == "INFEASIBLE" else f"{event.selector}: {event.status}"
    if event.selector == "lm":
        what = "path picked by the model"
    else:
        what = f"{'best ' if event.status == 'OPTIMAL' else ''}{'partial ' if event.partial else ''}path"
    needs = ", ".join(in_units(kind, count) for kind, count in event.consumption.items() if count)
    return f"{what}, {'about' if event.expected else 'at worst'} {needs}" if needs else what


def _headed(word: str, lines: Sequence[Text]) -> list[Text]:
    """Lines with a word in front of the first, the others below it."""
    heads = [word.ljust(_INDENT), *[" " * _INDENT] * (len(lines) - 1)]
    return [Text(head, style="dim").append(line) for head, line in zip(heads, lines or [Text()], strict=True)]
