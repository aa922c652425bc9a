"""What a person sees while episodes run: a live board on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from rich.columns import Columns
from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.text import Text

from tape.budget import in_units
from tape.budget.deadline import KIND as WALL
from tape.runner.configurations import Job
from tape.runner.work import Watcher
from tape.trace import (
    ActedEvent,
    BrokenDeclarationEvent,
    Event,
    FinishedEvent,
    LedgerEvent,
    MismatchEvent,
    ObservedEvent,
    PathSelectedEvent,
    ReplannedEvent,
)


class Tally:
    """Successes so far, by configuration; a sum over configurations would say nothing."""

    def __init__(self) -> None:
        self._counts: dict[str, tuple[int, int]] = {}
        self.configuration = ""

    def add(self, line: Mapping[str, Any]) -> None:
        """Count an episode; its configuration is now the current one."""
        self.configuration = line["cell"]
        wins, seen = self._counts.get(self.configuration, (0, 0))
        self._counts[self.configuration] = wins + bool(line["result"]["success"]), seen + 1

    def score(self) -> tuple[int, int]:
        """Successes and episodes of the current configuration."""
        return self._counts.get(self.configuration, (0, 0))

    def named(self, label: str) -> str:
        """The label, with the current configuration where there are several."""
        return f"{label} | {self.configuration}" if len(self._counts) > 1 else label


class Rest:
    """What is left of the run's budget."""

    def __init__(self) -> None:
        self.text = ""

    def tell(self, left: Mapping[str, int], caps: Mapping[str, int]) -> None:
        """Take it in."""
        parts = [f"{in_units(kind, count)} of {in_units(kind, caps[kind])}" for kind, count in left.items()]
        self.text = f" | left for the run: {', '.join(parts)}"


class PlainDisplay:
    """One line per finished episode.

    Args:
        label: What runs, for instance ``hard tape bundled:mini``.
        out: Where to write; standard output by default.
        quiet: Write a line only when a tenth of the run is done.
    """

    def __init__(self, label: str, out: TextIO | None = None, *, quiet: bool = False) -> None:
        self._label, self._out, self._quiet = label, out or sys.stdout, quiet
        self._tally, self._rest = Tally(), Rest()

    def watcher(self) -> Watcher:
        """What the runner tells."""
        return Watcher(finished=self._finished, drained=self._rest.tell)

    def __enter__(self) -> PlainDisplay:
        return self

    def __exit__(self, *_: object) -> None:
        self._out.flush()

    def _finished(self, line: Mapping[str, Any], done: int, total: int) -> None:
        self._tally.add(line)
        if self._quiet and 10 * done // total == 10 * (done - 1) // total:
            return
        wins, seen = self._tally.score()
        episode = "" if self._quiet else f"{one_line(line)} | "
        score = f"{episode}{wins}/{seen} solved{self._rest.text}"
        self._out.write(f"[{done}/{total}] {self._tally.named(self._label)} | {score}\n")
        self._out.flush()


def one_line(line: Mapping[str, Any]) -> str:
    """An episode in one line."""
    result = line["result"]
    notes = "".join(
        f", {count} {name}"
        for name, count in (
            ("replans", result["replans"]),
            ("malformed", result["malformed"]),
            ("broken declarations", sum(result.get("broken_declarations", {}).values())),
        )
        if count
    )
    ended = result["end_state"]
    if ended.endswith("_error") and (detail := result.get("detail", "")):
        ended += f" ({detail if len(detail) <= _LONGEST_DETAIL else detail[: _LONGEST_DETAIL - 1] + '…'})"
    return f"{line['task']} #{line['repeat']}: {ended}, {result['steps']} steps{_used(result)}{notes}"


_LONGEST_DETAIL = 120
"""Characters of what is said of a fault."""


def _used(result: Mapping[str, Any]) -> str:
    """What was used of the caps, but for steps, which are told anyway, and real time."""
    kinds = [kind for kind in result.get("budget", ()) if kind not in ("steps", WALL)]
    return "".join(
        f", {in_units(kind, used).removesuffix(f' {kind}')} of {in_units(kind, result['budget'][kind])}"
        for kind in kinds
        if (used := result["used"].get(kind, 0)) is not None
    )


_NARROW, _WIDE = 38, 76
"""Columns of a panel."""

_SHORT = 12
"""Characters of an action that still is a move."""


def _gap(wide: bool, *, last: bool) -> str:
    return "" if last else "\n" if wide else " "


class _Scene:
    """What is known of one episode."""

    def __init__(self, name: str) -> None:
        self.name, self.picture, self.note = name, "", "planning"
        self.remaining: dict[str, int] = {}
        self.path: Sequence[str] = ()
        self.at = 0

    def tell(self, event: Event) -> None:
        """Take an event in."""
        match event:
            case ObservedEvent():
                self.picture, self.remaining = event.picture, dict(event.remaining)
            case LedgerEvent(what="settle"):
                # Between observations, which have the exact rest.
                for kind in self.remaining.keys() & event.amounts.keys():
                    self.remaining[kind] = max(0, self.remaining[kind] - (event.amounts[kind] or 0))
            case BrokenDeclarationEvent():
                self.note = f"broken declaration: {event.purpose} used more {event.kind} than declared"
            case PathSelectedEvent():
                self.path, self.at = event.actions, 0
                self.note = f"{event.selector}: {event.status}" + (" (partial path)" if event.partial else "")
            case ActedEvent():
                self.at += 1
                self.note = event.text or f"step {event.step}"
            case MismatchEvent():
                self.note = "mismatch: the world is not as predicted"
            case ReplannedEvent():
                self.path, self.note = (), f"replanning ({event.reason})"
            case FinishedEvent():
                self.note = str(event.result["end_state"])
            case _:
                pass

    def panel(self) -> Panel:
        """Board, path, budget and note."""
        path = Text("path  ", style="dim")
        # Moves stand side by side, calls of tools one below the other.
        wide = any(len(action) > _SHORT for action in self.path)
        for i, action in enumerate(self.path):
            style = "dim strike" if i < self.at else "bold" if i == self.at else ""
            path.append(
                f"{'      ' if wide and i else ''}{action}{_gap(wide, last=i == len(self.path) - 1)}", style=style
            )
        left = Text("left  " + ", ".join(in_units(kind, n) for kind, n in self.remaining.items()), style="dim")
        return Panel(
            Group(Text(self.picture), path, left, Text(self.note, overflow="ellipsis", no_wrap=True)),
            title=Text(self.name),
            width=_WIDE if wide or len(max(self.picture.splitlines(), key=len, default="")) > _NARROW - 4 else _NARROW,
        )


class LiveDisplay:
    """The batch's boards with their paths, what is left of each budget, and the running score.

    Args:
        label: What runs.
        console: A rich console.
        boards: Most boards shown at once.
    """

    def __init__(self, label: str, console: Console, boards: int = 4) -> None:
        self._label, self._boards = label, boards
        self._live = Live(console=console, refresh_per_second=12, transient=True)
        self._console = console
        self._scenes: dict[str, _Scene] = {}
        self._tally, self._done, self._total = Tally(), 0, 1
        self._rest = Rest()

    def __enter__(self) -> LiveDisplay:
        self._live.__enter__()
        return self

    def __exit__(self, *problem: Any) -> None:
        self._live.__exit__(*problem)
        self._console.print(self._score())

    def watcher(self) -> Watcher:
        """What the runner tells."""
        return Watcher(self._started, self._event, self._finished, self._rest.tell)

    def _started(self, jobs: Sequence[Job]) -> None:
        self._scenes = {job.key: _Scene(f"{job.task.id} #{job.repeat}") for job in jobs[: self._boards]}
        self._draw()

    def _event(self, key: str, event: Event) -> None:
        if key in self._scenes:
            self._scenes[key].tell(event)
            self._draw()

    def _finished(self, line: Mapping[str, Any], done: int, total: int) -> None:
        self._tally.add(line)
        self._done, self._total = done, total
        self._draw()

    def _score(self) -> Text:
        wins, seen = self._tally.score()
        share = f"{wins / seen:.2f}" if seen else "-"  # the interval needs the levels: see the table
        return Text(f"{self._tally.named(self._label)}: {wins}/{seen} solved, {share}{self._rest.text}")

    def _draw(self) -> None:
        filled = 60 * self._done // self._total
        bar = Text("━" * filled + "─" * (60 - filled) + f" {self._done}/{self._total} episodes")
        boards = Columns([scene.panel() for scene in self._scenes.values()])
        self._live.update(Group(boards, bar, self._score()))


def display(label: str, *, quiet: bool = False, boards: int = 4) -> PlainDisplay | LiveDisplay:
    """A live display on a terminal, plain lines elsewhere or with ``quiet``.

    Args:
        label: What runs.
        quiet: About ten lines in all.
        boards: Most boards shown at once; 0 where the episodes are played in other processes, which
            leaves the progress bar and the score.
    """
    console = Console()
    if quiet or not console.is_terminal:
        return PlainDisplay(label, quiet=quiet)
    return LiveDisplay(label, console, boards)
