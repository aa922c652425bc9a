"""What a person sees while something goes on: live boards on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import Any, TextIO

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from tape.budget import in_units, part_in_units
from tape.budget.deadline import KIND as WALL
from tape.runner.summary import cells, remark, score, table
from tape.runner.work import Line, Watcher, Work
from tape.screen import guard, guarded, printable
from tape.show.console import GuardedConsole
from tape.show.pace import Pace
from tape.show.scene import Marks, Scene
from tape.show.text import cut
from tape.show.text import one_line as on_one_line
from tape.trace import Event, GeneratedEvent


def moves(console: Console) -> bool:
    """Whether what is shown can change in place: on a terminal that has more than lines."""
    return console.is_terminal and not console.is_dumb_terminal


@contextmanager
def loading(what: str, console: Console | None = None) -> Iterator[None]:
    """Say what is waited for: with a spinner on a terminal, else in one plain line on standard error.

    Args:
        what: For instance ``loading bundled:mini``.
        console: The terminal, if it is one; standard output by default.
    """
    console = console or GuardedConsole()
    if moves(console):
        with console.status(Text(what), spinner=Marks(console.encoding).spinner), guarded():
            yield
        return
    print(what, file=sys.stderr, flush=True)  # standard output is for what comes of it
    yield


@contextmanager
def working(what: str, console: Console | None = None) -> Iterator[Callable[[int, int], None]]:
    """Show on a terminal how far something has got; elsewhere nothing is shown.

    Args:
        what: What is done.
        console: Where to; standard output by default.

    Yields:
        Takes how much is done of how much.
    """
    console = console or GuardedConsole()
    if not moves(console):
        yield lambda _done, _all: None
        return
    with console.status(Text(what), spinner=Marks(console.encoding).spinner) as status, guarded():
        yield lambda done, total: status.update(Text(f"{what}: {done + 1} of {total}"))


def show_results(groups: Sequence[Mapping[str, Any]], console: Console | None = None) -> None:
    """Print the table of a run: as Markdown, on a terminal as a table that fits it, turned if need be.

    Args:
        groups: The summary's groups.
        console: Where to; standard output by default.
    """
    console = console or GuardedConsole()
    if not console.is_terminal:
        console.file.write(printable(f"{table(groups)}\n"))
        console.file.flush()
        return
    rows = cells(groups)
    shown = plain_table(rows, first=4 if rows[0][0] == "cell" else 3)
    if console.measure(shown, options=console.options.update(width=_UNBOUNDED)).maximum > console.width:
        shown = plain_table([*zip(*rows, strict=True)], first=len(rows))
    console.print(shown)
    console.print(Text(remark(groups), style="dim"))


_UNBOUNDED = 100_000


def plain_table(rows: Sequence[Sequence[str]], *, first: int) -> Table:
    """A table with so many columns of text before those of numbers."""
    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for i, name in enumerate(rows[0]):
        shown.add_column(Text(name), justify="left" if i < first else "right", overflow="fold")
    for row in rows[1:]:
        shown.add_row(*map(Text, row))
    return shown


class Tally:
    """Successes and end states so far, by configuration; a sum over configurations would mean nothing."""

    def __init__(self) -> None:
        self._counts: dict[str, tuple[int, Counter[str]]] = {}
        self.configuration = ""

    def add(self, line: Mapping[str, Any]) -> None:
        """Count an episode; its configuration is now the current one."""
        self.configuration = line["cell"]
        wins, ends = self.score()
        self._counts[self.configuration] = (
            wins + bool(line["result"]["success"]),
            ends + Counter([line["result"]["end_state"]]),
        )

    def score(self) -> tuple[int, Counter[str]]:
        """Successes of the current configuration, and all its episodes by end state."""
        return self._counts.get(self.configuration, (0, Counter()))

    def named(self, label: str) -> str:
        """The label, with the current configuration where there are several."""
        return f"{label} | {self.configuration}" if len(self._counts) > 1 else label


class RunRest:
    """What is left of the run's budget."""

    def __init__(self) -> None:
        self.text = ""

    def update(self, left: Mapping[str, int], caps: Mapping[str, int]) -> None:
        """Take it in."""
        parts = [f"{in_units(kind, count)} of {in_units(kind, caps[kind])}" for kind, count in left.items()]
        self.text = f" | left for the run: {', '.join(parts)}"


class PlainDisplay:
    """One line per finished episode, and lines between where that takes long.

    Args:
        label: What runs, for instance ``hard tape bundled:mini``.
        out: Where to write; standard output by default.
        quiet: Write a line only when a tenth of the run is done.
    """

    def __init__(self, label: str, out: TextIO | None = None, *, quiet: bool = False) -> None:
        self._label, self._out, self._quiet = label, out or sys.stdout, quiet
        self._tally, self._rest, self._pace = Tally(), RunRest(), Pace()
        self._silent_until = _FIRST_SECONDS

    def watcher(self) -> Watcher:
        """What the runner reports."""
        started, drained = self._pace.started, self._rest.update
        return Watcher(self._begun, started=started, event=self._event, finished=self._finished, drained=drained)

    def __enter__(self) -> PlainDisplay:
        return self

    def __exit__(self, *_: object) -> None:
        self._out.flush()

    def _begun(self, held: Sequence[Line], total: int) -> None:
        self._pace.begun(held, total)
        for line in held:
            self._tally.add(line)
        if held:
            self._write(f"{score(*self._tally.score())} before, {total - len(held)} to play")

    def _event(self, key: str, event: Event) -> None:
        self._pace.event(key, event)
        if isinstance(event, GeneratedEvent) and not self._quiet and self._pace.seconds >= self._silent_until:
            self._write(f"{len(self._pace.running)} at work: {self._pace.text()}")

    def _finished(self, line: Line, done: int, total: int) -> None:
        self._pace.finished(line, done, total)
        self._tally.add(line)
        if self._quiet and 10 * done // total == 10 * (done - 1) // total:
            return
        episode = "" if self._quiet else f"{one_line(line)} | "
        rest = f" | {self._pace.to_go()}" if self._pace.seconds and done < total else ""
        self._write(f"{episode}{score(*self._tally.score())}{self._rest.text}{rest}")

    def _write(self, text: str) -> None:
        self._out.write(f"[{self._pace.done}/{self._pace.total}] {self._tally.named(self._label)} | {text}\n")
        self._out.flush()
        self._silent_until = self._pace.seconds + _NEXT_SECONDS


_FIRST_SECONDS, _NEXT_SECONDS = 2.0, 30.0
"""How long there is no line about what is at work: at the beginning, and after any line."""


def one_line(line: Mapping[str, Any]) -> str:
    """An episode in one line."""
    result = line["result"]
    counts = (
        ("replan", "replans", result["replans"]),
        ("malformed", "malformed", result["malformed"]),
        ("broken declaration", "broken declarations", sum(result["broken_declarations"].values())),
    )
    notes = "".join(f", {count} {name if count == 1 else several}" for name, several, count in counts if count)
    ended = result["end_state"]
    if ended.endswith("_error") and (detail := result["detail"]):
        ended += f" ({cut(on_one_line(detail), _LONGEST_DETAIL)})"
    text = f"{line['task']} #{line['repeat']}: {ended}, {in_units('steps', result['steps'])}{_used(result)}{notes}"
    return text.replace("\n", "\\n")


_LONGEST_DETAIL = 120
"""Characters of the description of a fault."""


def _used(result: Mapping[str, Any]) -> str:
    """What was used of the caps, but for steps, which are shown anyway, and real time."""
    kinds = [kind for kind in result["budget"] if kind not in ("steps", WALL)]
    return "".join(
        f", {part_in_units(kind, used, result['budget'][kind])}"
        for kind in kinds
        if (used := result["used"].get(kind, 0)) is not None
    )


class LiveDisplay:
    """The batch's boards with their paths, what is left of each budget, the running score, and the expected end.

    Args:
        label: What runs.
        console: A rich console.
        boards: Most boards shown at once; 0 where the episodes are played in other processes.
    """

    def __init__(self, label: str, console: Console, boards: int = 4) -> None:
        self._label, self._boards, self._console = label, boards, console
        self._marks = Marks(console.encoding)
        self._lock = RLock()  # what is shown is made in the thread that refreshes it
        self._scenes: dict[str, Scene] = {}
        self._tally, self._pace = Tally(), Pace()
        self._fresh = 0
        self._rest = RunRest()
        self._waits = Spinner(self._marks.spinner, Text("starting"))
        self._live = Live(console=console, refresh_per_second=10, transient=True, get_renderable=self._shown)

    def __enter__(self) -> LiveDisplay:
        self._live.__enter__()
        self._unguard = guard()  # what is printed meanwhile is read by rich, which obeys some escape sequences
        return self

    def __exit__(self, *problem: Any) -> None:
        self._unguard()
        self._live.__exit__(*problem)
        self._console.print(self._score())

    def watcher(self) -> Watcher:
        """What the runner reports."""
        return Watcher(self._begun, self._loading, self._started, self._event, self._finished, self._drained)

    def _begun(self, held: Sequence[Line], total: int) -> None:
        with self._lock:
            for line in held:
                self._tally.add(line)
            self._pace.begun(held, total)

    def _loading(self, model: str) -> None:
        with self._lock:
            self._scenes = {}
            self._waits.update(text=Text(f"loading {model}"))

    def _started(self, work: Work) -> None:
        with self._lock:
            self._tally.configuration = work.configuration
            self._pace.started(work)
            if self._boards:
                self._scenes = {job.key: Scene(f"{job.task.id} #{job.repeat}", self._marks) for job in work.jobs}
                return
            at_work = f"{len(self._pace.running)} episodes at work in other processes"
            loads = "" if self._fresh else f", which load {work.spec.model} first"
            self._waits.update(text=Text(at_work + loads))

    def _event(self, key: str, event: Event) -> None:
        with self._lock:
            if key in self._scenes:
                self._scenes[key].tell(event)
            self._pace.event(key, event)

    def _finished(self, line: Line, done: int, total: int) -> None:
        with self._lock:
            self._tally.add(line)
            self._pace.finished(line, done, total)
            self._fresh += 1
            if not self._boards:
                self._waits.update(text=Text(f"{len(self._pace.running)} episodes at work in other processes"))

    def _drained(self, left: Mapping[str, int], caps: Mapping[str, int]) -> None:
        with self._lock:
            self._rest.update(left, caps)

    def _score(self) -> Text:
        wins, ends = self._tally.score()
        text = score(wins, ends) if ends else "no episode finished yet"
        if ends and not text.startswith("no result"):
            text += f", {wins / ends.total():.2f}"  # the interval needs the levels: see the table
        return Text(f"{self._tally.named(self._label)}: {text}{self._rest.text}")

    def _shown(self) -> RenderableType:
        with self._lock:
            below: list[RenderableType] = []
            if not self._scenes:
                below.append(self._waits)
            if self._pace.total:
                below.append(self._bar())
            below.append(self._score())
            below.append(Text(self._pace.text(), style="dim", no_wrap=True, overflow="ellipsis"))
            free = self._console.height - 1 - sum(self._height(part) for part in below)
            return Group(*self._scenes_in(free), *below)

    def _bar(self) -> Text:
        done, total = self._pace.done, self._pace.total
        count = f" {done}/{total} episodes"
        wide = max(4, min(60, self._console.width - len(count)))
        filled = wide * done // total
        return Text(self._marks.bar * filled + self._marks.rest * (wide - filled) + count, no_wrap=True)

    def _scenes_in(self, free: int) -> list[RenderableType]:
        """As many boards as there is space for, those that still play first; where there is none, a line for each."""
        scenes = sorted(self._scenes.values(), key=lambda scene: bool(scene.ended))
        # In the order of the batch, whichever of them there is space for.
        order = list(self._scenes.values())
        for count in range(min(self._boards, len(scenes)), 0, -1):
            chosen = sorted(scenes[:count], key=order.index)
            boards = Columns([scene.panel(self._console.width) for scene in chosen])
            text = self._others(len(scenes) - count)
            if self._height(boards) + len(text) <= free:
                return [boards, *text]
        lines = [scene.brief() for scene in scenes[: max(1, min(self._boards, free - 1))]] if self._boards else []
        for line in lines:
            line.no_wrap, line.overflow = True, "ellipsis"
        return [*lines, *self._others(len(scenes) - len(lines))]

    def _others(self, count: int) -> list[RenderableType]:
        return [Text(f"and {count} more of this batch", style="dim", no_wrap=True)] if count > 0 else []

    def _height(self, part: RenderableType) -> int:
        return len(self._console.render_lines(part, self._console.options, pad=False))


def display(label: str, *, quiet: bool = False, boards: int = 4) -> PlainDisplay | LiveDisplay:
    """A live display on a terminal, plain lines elsewhere or with ``quiet``.

    Args:
        label: What runs.
        quiet: About ten lines in all.
        boards: Most boards shown at once; 0 where the episodes are played in other processes, which
            leaves the progress bar and the score.
    """
    console = GuardedConsole()
    if quiet or not moves(console):
        return PlainDisplay(label, quiet=quiet)
    return LiveDisplay(label, console, boards)
