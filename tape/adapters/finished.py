"""The episodes of a finished run, with times for their events as far as a trace holds them.

A trace holds the order of events, how long the episode took, and how long each selection took; not when each event
was. So an episode ends when its trace was written (the date of the file), lasts as long as recorded, and its events
are set evenly in between. The attribute ``tape.time`` declares that in every export.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tape.errors import ConfigError, RunDirectoryError, UnknownNameError
from tape.reading import storable
from tape.redaction import redacted
from tape.show.view.sources import Entry, Source, open_sources, read_events
from tape.trace import Event, FinishedEvent, StartedEvent

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
        """The episodes, read one by one.

        Raises:
            TraceError: A trace cannot be read.
        """
        for entry in self.entries:
            events, note = read_events(entry)
            if events and isinstance(events[0], StartedEvent):
                assert entry.trace is not None
                times = _times(events, entry.trace.stat().st_mtime_ns)
                yield FinishedEpisode(entry.key, _clean(entry.line or {}), tuple(map(_cleaned, events)), times, note)


def open_run(path: Path, configuration: str | None = None) -> FinishedRun:
    """Open a run directory, or a single trace.

    Raises:
        RunDirectoryError: It is none, or holds nothing to export.
        ConfigError: A configuration of a single trace.
        TraceError: The file is no trace.
        UnknownNameError: There is no such configuration.
    """
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
