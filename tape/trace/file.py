"""Trace files: one JSON object per line, each with ``schema, seq, episode, type``."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tape.errors import TraceError
from tape.trace.events import Event, GeneratedEvent, event_type

logger = logging.getLogger("tape.trace")

SCHEMA = 1

LONG = 120
"""Characters: a longer part of a prompt is written once in a file, and from then on as where it stands first."""

Told = Callable[[str, Event], object]
"""Takes the episode's key and an event."""


class TraceWriter:
    """Collects the events of one episode and writes them to a file, if there is one.

    A listener is for displays: what it raises does not reach the episode, which may have money set aside at that
    moment. It is logged with its traceback, and the listener is not called again.

    Args:
        episode: The episode's key.
        path: A JSON Lines file, replaced if it exists; None keeps events in memory only.
        listener: Called with the key and every event, in order.
    """

    def __init__(self, episode: str, path: Path | None = None, listener: Told | None = None) -> None:
        self.episode = episode
        self._listeners = [] if listener is None else [listener]
        self.events: list[Event] = []
        self._first: dict[str, tuple[int, int]] = {}
        self._file = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("w", encoding="utf-8")

    def listen(self, listener: Told) -> Callable[[], None]:
        """Add a listener; returns what takes it off again."""
        self._listeners.append(listener)
        return lambda: self._drop(listener)

    def write(self, event: Event) -> None:
        """Append an event."""
        if self._file is not None:
            seq = len(self.events)
            head = {"schema": SCHEMA, "seq": seq, "episode": self.episode, "type": event.type}
            record = event.model_dump()
            if isinstance(event, GeneratedEvent):
                record["prompt"] = self._shortened(record["prompt"], seq)
            # ASCII: a model may write lone surrogates or line separators, which would break the file.
            self._file.write(json.dumps({**head, **record}) + "\n")
            self._file.flush()
        self.events.append(event)
        for listener in tuple(self._listeners):
            try:
                listener(self.episode, event)
            except Exception:
                logger.exception("a listener failed at the event %r and is not called any more", event.type)
                self._drop(listener)

    def _shortened(self, parts: tuple[dict[str, str], ...], seq: int) -> list[dict[str, Any]]:
        """The parts of a prompt; of what was written before, the event and the part where it stands first."""
        written: list[dict[str, Any]] = []
        for number, part in enumerate(parts):
            first = self._first.get(part["content"])
            if first is None:
                if len(part["content"]) > LONG:
                    self._first[part["content"]] = (seq, number)
                written.append(part)
            else:
                written.append({"role": part["role"], "as_in": first})
        return written

    def _drop(self, listener: Told) -> None:
        self._listeners = [other for other in self._listeners if other is not listener]

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
    said: dict[tuple[int, int], str] = {}
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
            if event is GeneratedEvent:
                _restore(record["prompt"], head["seq"], said)
            yield event.model_validate(record)
        except (ValueError, KeyError, TypeError, AttributeError, ValidationError) as error:
            if isinstance(error, TraceError):
                raise
            raise TraceError(f"{path}:{number}: not a trace event: {error}") from error


def _restore(parts: list[dict[str, Any]], seq: int, said: dict[tuple[int, int], str]) -> None:
    """Put back what a prompt shares with one before it, and remember the rest."""
    for number, part in enumerate(parts):
        if "as_in" in part:
            event, there = part.pop("as_in")
            part["content"] = said[event, there]
        elif len(part["content"]) > LONG:
            said[seq, number] = part["content"]
