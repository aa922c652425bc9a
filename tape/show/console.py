"""The terminal of our displays: what they show is guarded, how they move the cursor is not."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

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
