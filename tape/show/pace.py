"""How far a run has got, and when it may end: by the tokens that its episodes have taken so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from time import monotonic

from tape.budget import in_units
from tape.budget.deadline import KIND as WALL
from tape.runner.work import Line, Work
from tape.trace import Event, GeneratedEvent, ObservedEvent

_LONGEST = 1e9
"""Seconds; a longer time is shown as this."""


class Pace:
    """Counts a run's calls and tokens, and estimates its end; takes what a :class:`tape.runner.work.Watcher` gets.

    An episode is taken to need as many tokens as the mean one that has ended. Before any has, it is what one takes at
    most: its tokens so far, divided by the largest part of a cap that it has used.

    Attributes:
        done: Committed episodes.
        total: All episodes.
        running: Tokens so far of those that are at work and yet to be committed, by key.
    """

    def __init__(self) -> None:
        self.done = self.total = 0
        self.running: dict[str, int] = {}
        self._caps: dict[str, Mapping[str, int]] = {}
        self._most: dict[str, float] = {}
        self._ended: list[int] = []
        self._calls = self._tokens = self._made = 0
        self._began: float | None = None

    @property
    def seconds(self) -> float:
        """Since the first batch began."""
        return 0.0 if self._began is None else monotonic() - self._began

    def begun(self, held: Sequence[Line], total: int) -> None:
        """The run begins."""
        self.done, self.total = len(held), total
        self._ended += map(_tokens, held)

    def started(self, work: Work) -> None:
        """A batch begins."""
        self._began = monotonic() if self._began is None else self._began
        # Those that are played again for the batch alone bring the end no nearer.
        self.running |= {job.key: 0 for job in work.jobs if job.key not in work.kept}

    def event(self, key: str, event: Event) -> None:
        """Count an answer of the model; see what is left at an observation."""
        if isinstance(event, GeneratedEvent):
            tokens = event.prompt_tokens + event.completion_tokens
            self._calls, self._tokens = self._calls + 1, self._tokens + tokens
            if key in self.running:
                self.running[key] += tokens
        elif isinstance(event, ObservedEvent) and key in self.running:
            left, caps = event.remaining, self._caps.setdefault(key, event.remaining)
            part = max((1 - left.get(kind, cap) / cap for kind, cap in caps.items() if cap and kind != WALL), default=0)
            if part > 0:
                self._most[key] = self.running[key] / part

    def finished(self, line: Line, done: int, total: int) -> None:
        """An episode is committed."""
        self.done, self.total = done, total
        self._ended.append(_tokens(line))
        if self.running.pop(line["key"], None) is not None:
            self._made += _tokens(line)

    def text(self) -> str:
        """What was done in which time, and how long the rest may take; empty before the first batch."""
        if self._began is None:
            return ""
        counts = f"{in_units('calls', self._calls)}, {in_units('tokens', self._tokens)} in " if self._calls else ""
        return f"{counts}{timedelta(seconds=round(self.seconds))}; {self.to_go()}"

    def to_go(self) -> str:
        """How long the rest may take."""
        known: Sequence[float] = self._ended or list(self._most.values())
        made = self._made + sum(self.running.values())
        if not made or not known:
            return "end not known yet"
        mean = sum(known) / len(known)
        waiting = max(0, self.total - self.done - len(self.running))
        # Who needs more than the mean is taken to need a tenth of it more.
        left = mean * waiting + sum(max(mean - tokens, mean / 10) for tokens in self.running.values())
        seconds = round(min(left * self.seconds / made, _LONGEST))
        return f"{'about' if self._ended else 'at most about'} {timedelta(seconds=seconds)} to go"


def _tokens(line: Line) -> int:
    """Tokens of an episode, and one more: there are episodes without a model."""
    return 1 + (line["result"]["used"].get("tokens") or 0)
