"""How far a page is: a bar on a terminal, a line for each tenth elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tape.screen import guarded
from tape.show.console import GuardedConsole

FEW = 20
"""Episodes that need no lines."""


@contextmanager
def progress(out: TextIO) -> Iterator[Callable[[int, int], None]]:
    """Gives a function that is told how many episodes are done, and of how many.

    Args:
        out: Where it is shown.
    """
    console = GuardedConsole(out)
    if not console.is_terminal:
        yield lambda done, total: _line(out, done, total)
        return
    columns = (TextColumn("reading episodes"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar, guarded():
        task = bar.add_task("episodes", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _line(out: TextIO, done: int, total: int) -> None:
    if total > FEW and 10 * done // total != 10 * (done - 1) // total:
        out.write(f"[{done}/{total}] episodes read\n")
        out.flush()
