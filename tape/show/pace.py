"""How far a run has got, and when it may end: by what its episodes have asked of the model so far."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tape.budget import in_units
from tape.budget.deadline import KIND as WALL
from tape.runner.work import Line, Work
from tape.trace import Event, GeneratedEvent, ObservedEvent, StartedEvent


@dataclass
class _Running:
    tokens: int = 0
    share: float = 0.0
    caps: Mapping[str, int] = field(default_factory=dict)


class Pace:
    """Counts a run's calls and tokens, and estimates its end.

    An episode is taken to need the tokens of the mean ended one; of those before any has ended, what it takes at most:
    its tokens so far, over the largest part of a cap that it has used.

    Args:
        clock: Seconds from any moment on.

    Attributes:
        done: Committed episodes.
        total: All episodes.
        running: Those at work that are yet to be committed, by key.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.done = self.total = 0
        self.running: dict[str, _Running] = {}
        self._clock = clock
        self._began: float | None = None
        self._calls = self._tokens = 0
        self._made = 0.0  # by the episodes that have ended since the beginning
        self._ended: list[float] = []

    def begun(self, held: Sequence[Line], total: int) -> None:
        """See :class:`tape.runner.work.Watcher`, also for the others."""
        self.done, self.total = len(held), total
        self._ended += map(_effort, held)

    def started(self, work: Work) -> None:
        """A batch begins."""
        if self._began is None:
            self._began = self._clock()
        self.running |= {job.key: _Running() for job in work.jobs if job.key not in work.kept}

    def event(self, key: str, event: Event) -> None:
        """Take an event in."""
        # One that is committed already is played again for its batch alone, and brings the end no nearer.
        episode = self.running.get(key, _Running())
        match event:
            case StartedEvent():
                episode.caps = {kind: cap for kind, cap in event.budget.items() if cap and kind != WALL}
            case GeneratedEvent():
                self._calls += 1
                self._tokens += event.prompt_tokens + event.completion_tokens
                episode.tokens += event.prompt_tokens + event.completion_tokens
            case ObservedEvent():
                left, caps = event.remaining, episode.caps
                episode.share = max((1 - left[kind] / cap for kind, cap in caps.items() if kind in left), default=0.0)
            case _:
                pass

    def finished(self, line: Line, done: int, total: int) -> None:
        """An episode is committed."""
        self.done, self.total = done, total
        self._ended.append(_effort(line))
        if self.running.pop(line["key"], None) is not None:
            self._made += _effort(line)

    def so_far(self) -> str:
        """Calls, tokens and the time that they took; empty before the first batch."""
        if self._began is None:
            return ""
        counts = f"{in_units('calls', self._calls)}, {in_units('tokens', self._tokens)} in " if self._calls else ""
        return f"{counts}{_span(self._clock() - self._began)}"

    def to_go(self) -> str:
        """When the run may end; empty when it has, or before the first batch."""
        if self._began is None or self.done >= self.total:
            return ""
        known = [run.tokens / run.share for run in self.running.values() if run.share > 0]
        made = self._made + sum(run.tokens for run in self.running.values())
        mean = _mean(self._ended) or _mean(known)
        if not made or not mean:
            return "end not known yet"
        waiting = max(0, self.total - self.done - len(self.running))
        # Who needs more than the mean is taken to need a tenth of it more.
        left = mean * waiting + sum(max(mean - run.tokens, mean / 10) for run in self.running.values())
        seconds = left * (self._clock() - self._began) / made
        now = datetime.now().astimezone()
        end = now + timedelta(seconds=min(seconds, _MOST_SECONDS))
        at = f"{end:%H:%M}" if end.date() == now.date() else f"{end:%Y-%m-%d %H:%M}"
        return f"{'about' if self._ended else 'at most'} {_span(seconds)} to go, until {at}"


_MOST_SECONDS = 1e9
"""A later end has no date."""


def _effort(line: Mapping[str, Any]) -> float:
    """Tokens of an episode, and one more: there are episodes without a model."""
    return 1 + (line["result"].get("used", {}).get("tokens") or 0)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _span(seconds: float) -> str:
    """A time in one unit."""
    for unit, length in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.5 * length:
            return f"{seconds / length:.{1 if unit == 'h' else 0}f} {unit}"
    return f"{seconds:.0f} s"
