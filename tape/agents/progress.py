"""One line on standard error that says what an episode is doing, where a person is looking."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from threading import Lock

from tape.approval import BEFORE_ASKING
from tape.budget import in_units
from tape.screen import printable
from tape.trace import (
    ActedEvent,
    CallBegunEvent,
    Event,
    FinishedEvent,
    ForecastEvent,
    GeneratedEvent,
    LedgerEvent,
    ObservedEvent,
    PathSelectedEvent,
    PlansSampledEvent,
    ReplannedEvent,
)

SWITCH = "TAPE_PROGRESS"
"""``0`` turns off the line that shows how far an agent is on a terminal."""

WIDTH = 100
"""Characters, where there is no terminal that has a width."""

_taken = Lock()
"""One episode at a time has the line."""


def shows() -> bool:
    """Whether a person is looking: standard error is a terminal, or this is a notebook."""
    if os.environ.get(SWITCH) == "0":
        return False
    return sys.stderr.isatty() or "ipykernel" in sys.modules


class ProgressLine:
    """Writes the line."""

    def __init__(self, width: int | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._width, self._clock = width or _columns(), clock
        self._began, self._calls, self._steps, self._left, self._now = clock(), 0, 0, "", "beginning"
        self._fits = ""

    def __call__(self, event: Event) -> None:
        """Show an event."""
        match event:
            case FinishedEvent():
                self.clear()
                return
            case LedgerEvent(what="reserve", purpose=purpose) if purpose.startswith("lm:"):
                self._now = f"asking the model ({purpose.removeprefix('lm:')})"
            case GeneratedEvent():
                self._calls += 1
            case PlansSampledEvent(plans=plans):
                self._now = f"{len(plans)} plans sampled"
            case PathSelectedEvent(actions=actions):
                self._now = f"a path of {len(actions)} steps selected"
            case CallBegunEvent(action=action):
                self._now = action
            case ObservedEvent(remaining=rest):
                self._left = ", ".join(in_units(kind, count) for kind, count in rest.items())
            case ActedEvent(step=step, action=action):
                self._steps, self._now = step, action
            case ForecastEvent(probability=chance, verdict=verdict):
                self._fits = ", certain to fit" if verdict == "fits" else f", {chance:.2f} that it fits"
            case ReplannedEvent(reason=reason):
                self._now = f"replanning ({reason})"
            case _:
                return
        left = (f", left: {self._left}" if self._left else "") + self._fits
        counts = f"{self._clock() - self._began:.0f} s, step {self._steps}, {self._calls} model calls{left}"
        self._write(printable(f"tape: {counts} | {self._now}").replace("\n", " "))

    def clear(self) -> None:
        """Take the line away."""
        self._write("")

    def _write(self, text: str) -> None:
        sys.stderr.write("\r\x1b[K" + text[: self._width])
        sys.stderr.flush()


def _columns() -> int:
    try:
        return (os.get_terminal_size(sys.stderr.fileno()).columns or WIDTH) - 1
    except (OSError, ValueError):  # a notebook
        return WIDTH


def progress_line() -> tuple[Callable[[Event], object] | None, Callable[[], None]]:
    """A listener that writes the line, if somebody is looking and no other episode has it; and what ends it."""
    if not shows() or not _taken.acquire(blocking=False):
        return None, lambda: None
    line = ProgressLine()
    BEFORE_ASKING.append(line.clear)

    def end() -> None:
        BEFORE_ASKING.remove(line.clear)
        line.clear()
        _taken.release()

    return line, end
