"""Trace files: one JSON object per line, each with ``schema, seq, episode, type``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tape.errors import TraceError
from tape.trace.events import Event, event_type

SCHEMA = 1


class TraceWriter:
    """Collects the events of one episode and writes them to a file, if there is one.

    Args:
        episode: The episode's key.
        path: A JSON Lines file, replaced if it exists; None keeps events in memory only.
        listener: Called with every event, for live displays.
    """

    def __init__(self, episode: str, path: Path | None = None, listener: Any = None) -> None:
        self.episode, self._listener = episode, listener
        self.events: list[Event] = []
        self._file = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("w", encoding="utf-8")

    def write(self, event: Event) -> None:
        """Append an event."""
        if self._file is not None:
            line = {"schema": SCHEMA, "seq": len(self.events), "episode": self.episode, "type": event.type}
            # ASCII: a model may write lone surrogates or line separators, which would break the file.
            self._file.write(json.dumps({**line, **event.model_dump()}) + "\n")
            self._file.flush()
        self.events.append(event)
        if self._listener is not None:
            self._listener(self.episode, event)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def read_trace(path: Path) -> Iterator[Event]:
    """Read a trace, checking every line.

    Raises:
        TraceError: Names the file, the line and what is wrong.
    """
    try:
        lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise TraceError(f"{path}: cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            head = {name: record.pop(name) for name in ("schema", "seq", "episode", "type")}
            if head["schema"] != SCHEMA:
                raise TraceError(
                    f"{path}:{number}: schema {head['schema']} is not {SCHEMA}; use the version that made it"
                )
            event = event_type(head["type"])
            if event is None:
                raise TraceError(f"{path}:{number}: unknown event type {head['type']!r}")
            yield event.model_validate(record)
        except (ValueError, KeyError, TypeError, AttributeError, ValidationError) as error:
            if isinstance(error, TraceError):
                raise
            raise TraceError(f"{path}:{number}: not a trace event: {error}") from error
