"""The terminal of our displays: what they show is guarded, how they move the cursor is not."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from typing import Any, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from tape.screen import bare, printable


class GuardedConsole(Console):
    """A console that writes to a stream behind its guard, and guards every text that it shows.

    Args:
        file: Where to; standard output by default.
        settings: Of :class:`rich.console.Console`.
    """

    def __init__(self, file: TextIO | None = None, **settings: Any) -> None:
        super().__init__(file=bare(file or sys.stdout), **settings)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """See :meth:`rich.console.Console.render`, which every text goes through, whatever it is part of."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """Let the command end as any whose reader is gone; rich's own way is the status of a failure."""
        raise BrokenPipeError


WIDTH = 80
"""Columns where the output is no terminal."""


def plain_text(*parts: RenderableType) -> str:
    """What would stand on a terminal of 80 columns, without colours and without blanks at the ends of lines."""
    plain = io.StringIO()
    console = GuardedConsole(plain, width=WIDTH, highlight=False, markup=False, emoji=False, force_terminal=False)
    for part in parts:
        console.print(part)
    return "\n".join(line.rstrip() for line in plain.getvalue().split("\n"))


def guarded_text(text: str, style: str = "") -> Text:
    """Text of a model, a tool or ours: nothing in it is taken as markup or as a control code of a terminal."""
    return Text(printable(text), style=style)
