"""The events of an episode as operations that lie inside each other: the agent, its plans, model calls, tool calls.

A trace is flat. Viewers of other projects show trees, so both exports (:mod:`tape.adapters.otel`,
:mod:`tape.adapters.inspect_log`) are made from here, live or from a finished run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tape.errors import ConfigError, RunDirectoryError, TraceError, UnknownNameError
from tape.reading import storable
from tape.redaction import redacted
from tape.show.view.sources import Entry, Source, open_sources, read_events
from tape.trace import (
    ActedEvent,
    CostAboveBoundEvent,
    Event,
    FinishedEvent,
    GeneratedEvent,
    GraphFoldedEvent,
    InfeasibleEvent,
    LedgerEvent,
    ObservedEvent,
    PathSelectedEvent,
    PlansSampledEvent,
    ReplannedEvent,
    StartedEvent,
)

Kind = Literal["agent", "plan", "model", "tool"]

_STEP, _MODEL = "step:", "lm:"
"""How the purposes of ledger events begin."""
_PLAN = "plan"
"""The role of the model that plans: its first call begins a planning round."""
_OUTSIDE = frozenset({"act", "answer", "project"})
"""Roles that are asked after a plan was chosen."""


@dataclass(eq=False)
class Operation:
    """Something that took time.

    Attributes:
        kind: ``agent`` is a whole episode, ``plan`` a planning round, ``model`` a request, ``tool`` an action.
        parent: What it lies in; None for the agent.
        start: When it began, in nanoseconds since 1970.
        end: When it ended.
        events: What happened in it, with the times; what lies in an inner operation is there.
        failed: A tool call that was not carried out to its end; or an episode that was cut off.
    """

    kind: Kind
    parent: Operation | None
    start: int
    end: int = 0
    events: list[tuple[int, Event]] = field(default_factory=list)
    failed: bool = False

    def last(self, *types: type[Event]) -> Event | None:
        """The last event of one of these types."""
        return next((event for _, event in reversed(self.events) if isinstance(event, types)), None)


Report = Callable[[Operation], object]


class Operations:
    """Takes the events of one episode after another, and reports what begins and what has ended.

    Every operation ends before what it lies in, and no sooner than it began. A request is made known when it is
    answered, a tool call when it begins.
    """

    def __init__(self, begun: Report, ended: Report) -> None:
        self._begun, self._ended = begun, ended
        self._agent: Operation | None = None
        self._plan: Operation | None = None
        self._tool: Operation | None = None
        self._call: tuple[int, int] | None = None
        """When the last request began and was answered."""
        self._now = 0

    def take(self, time: int, event: Event) -> None:
        """Take the next event.

        Args:
            time: When it was written, in nanoseconds since 1970. A clock that goes back is taken to stand still.
            event: The event.

        Raises:
            TraceError: An episode begins within another one, or there is none.
        """
        before, self._now = self._now, max(time, self._now)
        if isinstance(event, StartedEvent):
            if self._agent is not None:
                raise TraceError("an episode begins before the last one has ended; give each one a listener of its own")
            self._agent = self._open("agent", None, event)
            return
        if self._agent is None:
            raise TraceError(f"{event.type!r} comes before an episode begins; listen from its beginning")
        self._end_what_is_over(event)
        match event:
            case LedgerEvent(purpose=purpose) if purpose.startswith(_MODEL):
                self._take_model_money(event, before)
            case LedgerEvent(what="reserve", purpose=purpose) if purpose.startswith(_STEP):
                self._end_tool()
                self._tool = self._open("tool", self._agent, event)
            case GeneratedEvent():
                start, end = self._call or (before, self._now)
                call = self._open("model", self._planning() if event.role == _PLAN else self._inside, event, start)
                self._close(call, end)
            case PlansSampledEvent() | GraphFoldedEvent() | PathSelectedEvent():
                self._planning().events.append((self._now, event))
            case LedgerEvent() | ActedEvent() | ObservedEvent() | CostAboveBoundEvent() if self._tool is not None:
                self._tool.events.append((self._now, event))
                if isinstance(event, ObservedEvent):
                    self._end_tool()
            case _:
                self._inside.events.append((self._now, event))
                if isinstance(event, InfeasibleEvent):
                    self._end_plan()
                if isinstance(event, FinishedEvent):
                    self.close()

    def close(self) -> None:
        """End what is still open; an episode without a result counts as failed."""
        self._end_tool()
        self._end_plan()
        if self._agent is not None:
            agent, self._agent = self._agent, None
            agent.failed = agent.last(FinishedEvent) is None
            self._close(agent, self._now)
        self._call = None

    def _open(self, kind: Kind, parent: Operation | None, event: Event, start: int | None = None) -> Operation:
        opened = Operation(kind, parent, self._now if start is None else start, events=[(self._now, event)])
        if parent is not None:
            opened.start = max(opened.start, parent.start)
        self._begun(opened)
        return opened

    def _close(self, operation: Operation, end: int) -> None:
        operation.end = max(end, operation.end, operation.start)
        if operation.parent is not None:
            operation.parent.end = max(operation.end, operation.parent.end)
        self._ended(operation)

    @property
    def _inside(self) -> Operation:
        """The planning round that is under way, else the agent."""
        inside = self._plan or self._agent
        assert inside is not None
        return inside

    def _planning(self) -> Operation:
        """The planning round, begun if there is none."""
        if self._plan is None:
            assert self._agent is not None
            self._plan = Operation("plan", self._agent, self._now)
            self._begun(self._plan)
        return self._plan

    def _take_model_money(self, event: LedgerEvent, before: int) -> None:
        if event.what in ("reserve", "refused") and _PLAN in _roles(event):
            self._planning()
        if event.what == "settle":
            # A request begins where the event before its settlement was written: that is its reservation, but for
            # the final answer, which is reserved when the episode begins.
            self._call = before, self._now
        if event.what == "refused":
            self._inside.events.append((self._now, event))

    def _end_what_is_over(self, event: Event) -> None:
        """End the tool call and the planning round that an event does not belong to any more."""
        if self._tool is not None and not isinstance(event, ActedEvent | CostAboveBoundEvent):
            settled = any(isinstance(held, LedgerEvent) and held.what == "settle" for _, held in self._tool.events)
            if settled and self._tool.last(ActedEvent) is None:
                self._end_tool()
        if isinstance(event, ReplannedEvent | FinishedEvent) or _acts(event):
            self._end_plan()

    def _end_tool(self) -> None:
        if self._tool is None:
            return
        tool, self._tool = self._tool, None
        acted = next((time for time, event in tool.events if isinstance(event, ActedEvent)), None)
        tool.failed = acted is None
        self._close(tool, self._now if acted is None else acted)

    def _end_plan(self) -> None:
        if self._plan is not None:
            plan, self._plan = self._plan, None
            self._close(plan, plan.events[-1][0] if plan.events else plan.start)


def _roles(event: LedgerEvent) -> set[str]:
    """The roles of the model that an amount of money is for."""
    return set(event.purpose.removeprefix(_MODEL).split(","))


def _acts(event: Event) -> bool:
    """Whether an event shows that a plan was chosen and is acted on."""
    if isinstance(event, GeneratedEvent):
        return event.role in _OUTSIDE
    if not isinstance(event, LedgerEvent) or event.what not in ("reserve", "refused"):
        return False
    return event.purpose.startswith(_STEP) or (event.purpose.startswith(_MODEL) and _roles(event) <= _OUTSIDE)


MEASURED = "measured"
"""Times were taken while the episode was played."""
ORDER = "order"
"""Times of a finished run: evenly spaced within the episode."""
DURATION = "duration"
"""Times of a finished episode as a whole: its duration is recorded, its end is the date of the trace file."""

_LEAST = 1_000
"""Nanoseconds between two events of an episode whose duration is not recorded."""

_MOST = 253_402_300_799 * 10**9
"""Nanoseconds since 1970 of the last date that is exported, the end of the year 9999."""


@dataclass(frozen=True)
class FinishedEpisode:
    """A finished episode.

    Attributes:
        key: Its key; the name of the file of a single trace.
        line: Its record; empty of a single trace.
        events: Its events, in order; the first one is its beginning.
        times: Nanoseconds since 1970, one for each event, none before the one before it.
        note: What is wrong with the trace; empty where nothing is.
    """

    key: str
    line: Mapping[str, Any]
    events: tuple[Event, ...]
    times: tuple[int, ...]
    note: str

    @property
    def started(self) -> StartedEvent:
        """How it began."""
        assert isinstance(self.events[0], StartedEvent)
        return self.events[0]

    @property
    def task(self) -> str:
        """The task's name."""
        return str(self.line.get("task", self.key))


@dataclass(frozen=True)
class FinishedRun:
    """What is exported.

    Attributes:
        source: The run, as all readers open it.
        entries: Its episodes with traces, or those of one configuration.
        notes: What a reader of the export should know.
    """

    source: Source
    entries: tuple[Entry, ...]
    notes: tuple[str, ...]

    def episodes(self) -> Iterator[FinishedEpisode]:
        """The episodes, read one by one."""
        for entry in self.entries:
            events, note = read_events(entry)
            if events and isinstance(events[0], StartedEvent):
                assert entry.trace is not None
                times = _times(events, entry.trace.stat().st_mtime_ns)
                yield FinishedEpisode(entry.key, _clean(entry.line or {}), tuple(map(_cleaned, events)), times, note)


def open_run(path: Path, configuration: str | None = None) -> FinishedRun:
    """Open a run directory, or a single trace."""
    [source] = open_sources([path])
    entries = [entry for entry in source.entries if entry.trace is not None]
    if configuration is not None:
        names = configurations(source)
        if not source.is_run:
            raise ConfigError(f"{path} is a single trace and has no configurations; leave --configuration out")
        if configuration not in names:
            raise UnknownNameError("configuration", configuration, names)
        entries = [entry for entry in entries if entry.line is not None and entry.line["cell"] == configuration]
    if not entries:
        raise RunDirectoryError(f"{path} holds no trace of a finished episode; play it first, with `tape run`")
    problem = "" if source.is_run else read_events(entries[0])[1]
    return FinishedRun(source, tuple(entries), (*source.notes, *filter(None, [problem])))


def configurations(source: Source) -> list[str]:
    """The names of the configurations that have episodes, in order."""
    return list(dict.fromkeys(str(entry.line["cell"]) for entry in source.entries if entry.line is not None))


def _cleaned(event: Event) -> Event:
    """An event without secrets of this process, and without halves of surrogate pairs, which a model may write."""
    held = event.model_dump()
    clean = _clean(held)
    return event if clean == held else type(event).model_validate(clean)


def _clean(held: Mapping[str, Any]) -> dict[str, Any]:
    return dict(storable(redacted(dict(held))))


def _times(events: list[Event], end: int) -> tuple[int, ...]:
    last = events[-1]
    seconds = float(last.result.get("wall_seconds", 0.0)) if isinstance(last, FinishedEvent) else 0.0
    # A record may hold anything, and so may the date of a file: what is no date of a calendar is cut to one.
    end = min(max(end, _LEAST * len(events)), _MOST)
    lasted = max(round(min(max(seconds, 0.0) * 1e9, end)), _LEAST * len(events))
    return tuple(end - lasted + lasted * number // max(len(events) - 1, 1) for number in range(len(events)))
