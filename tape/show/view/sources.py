"""What is to be shown: run directories, or single traces."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tape.errors import ConfigError, RunDirectoryError, TraceError
from tape.files import what_is_odd
from tape.runner.commits import KEY
from tape.runner.derived import in_order
from tape.runner.directory import RunDirectory
from tape.runner.summary import summarise
from tape.trace import Event, links_of, read_trace

MOST_RUNS = 2

_LONGEST = 200
"""Characters of a path in a message."""


@dataclass(frozen=True)
class Entry:
    """One episode.

    Attributes:
        key: Its key.
        trace: The file with its events; None where there is none.
        line: Its record in ``episodes.jsonl``; None where there is only a trace.
    """

    key: str
    trace: Path | None
    line: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Source:
    """A run, or traces that were named one by one.

    Attributes:
        name: For people.
        entries: The episodes, in order.
        groups: The groups of its summary; none for single traces.
        facts: What the run was made with, by name.
        notes: Remarks on it.
    """

    name: str
    entries: tuple[Entry, ...]
    groups: tuple[Mapping[str, Any], ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def is_run(self) -> bool:
        """Whether it is a run directory."""
        return bool(self.facts)


def open_sources(paths: Sequence[Path]) -> list[Source]:
    """What paths name: one run directory, two, or any number of trace files.

    Raises:
        ConfigError: They are of both sorts, too many runs, or one twice.
        RunDirectoryError: A folder holds no readable run.
        TraceError: A file is no trace.
    """
    if len({path.resolve() for path in paths}) < len(paths):
        raise ConfigError("the same path is named twice; name two different runs, or traces, once each")
    folders = [path for path in paths if not is_trace(path)]
    if folders and len(folders) < len(paths):
        raise ConfigError("name run directories or trace files, not both")
    if len(folders) > MOST_RUNS:
        raise ConfigError(f"{len(folders)} runs are too many for one page; name one or two")
    if folders:
        return [_run(path) for path in folders]
    return [_traces(paths)]


def is_trace(path: Path) -> bool:
    """Whether a path names a single trace; else it names a run directory. Every command that takes both asks here.

    Raises:
        RunDirectoryError: There is nothing.
        ConfigError: It is the list of a run's episodes.
    """
    is_file = os.path.isfile(path)  # where a path can name nothing, this is no error
    if is_file and path.name == "episodes.jsonl":
        raise ConfigError(f"{path} lists the episodes of a run; name the folder that it is in")
    if not os.path.lexists(path):
        raise RunDirectoryError(f"{str(path)[:_LONGEST]} does not exist; name a run directory or a trace file")
    return is_file


def _run(path: Path) -> Source:
    directory = RunDirectory(path)
    configurations = directory.configurations()
    notes = directory.learn_units()
    lines = in_order(directory.episodes(), list(configurations))
    traces = directory.folder("traces")
    entries = [_entry(directory, line) for line in lines]
    known = {entry.key for entry in entries}
    others = sorted(file for file in traces.glob("*.jsonl") if file.stem not in known)
    # A link may lead out of the run, and a pipe would be waited for.
    beside = [file for file in others if re.fullmatch(KEY, file.stem) and not what_is_odd(file)]
    entries += [Entry(file.stem, file) for file in beside]
    missing = sum(entry.trace is None for entry in entries)
    if not entries:
        notes.append("This run has no finished episode yet.")
    elif missing == len(entries):
        notes.append(
            f"This run directory holds no traces ({traces.name}/ is missing or empty), so that there are results, but "
            "no timelines and no plan graphs."
        )
    elif missing:
        notes.append(f"{missing} of {len(entries)} episodes have no trace.")
    if beside:
        notes.append(f"{len(beside)} traces belong to no finished episode; they stand at the end of the list.")
    if len(beside) < len(others):
        notes.append(f"{len(others) - len(beside)} files in {traces.name}/ are left out: they are no traces of a run.")
    versions = directory.versions()
    facts: dict[str, str] = {name: versions[name] for name in ("tape-planner", "python") if name in versions}
    if commit := directory.commit():
        facts["commit"] = commit[:12]
    groups = tuple(summarise(configurations, lines)) if lines else ()
    named = directory.title() or path.resolve().name
    return Source(named, tuple(entries), groups, facts or {"run": named}, tuple(notes))


def _entry(directory: RunDirectory, line: Mapping[str, Any]) -> Entry:
    file = directory.trace_file(line["key"])
    return Entry(line["key"], file if file.exists() else None, line)


def _traces(paths: Sequence[Path]) -> Source:
    folders = {path.resolve().parent.name for path in paths}
    several = f"{len(paths)} traces" + (f" of {folders.pop()}" if len(folders) == 1 else "")
    name = paths[0].stem if len(paths) == 1 else several
    return Source(name, tuple(Entry(path.stem, path) for path in paths))


def read_events(entry: Entry) -> tuple[list[Event], str]:
    """The events of an episode as far as they can be read, and what is wrong with the rest.

    Raises:
        TraceError: There is not one event in a file that was named as a trace.
    """
    if entry.trace is None:
        return [], "This episode has no trace."
    events: list[Event] = []
    try:
        for event in read_trace(entry.trace):
            events.append(event)
    except TraceError as error:
        if not events and entry.line is None:
            raise
        name = re.sub(rf"^{re.escape(str(entry.trace))}:(\d+): ", r"line \1: ", str(error))
        return events, f"The trace can be read up to event {len(events)}: {name}"
    if events[-1].type != "finished":
        return events, "The trace ends before the episode does: it was interrupted, or is still running."
    broken = links_of(entry.trace).what
    return events, f"The trace is not as it was written: {broken}." if broken else ""
