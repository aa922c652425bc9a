"""Trace files: one JSON object per line, each with ``schema, seq, episode, type, prev``.

``prev`` is the hash of the line before: see :mod:`tape.trace.links`.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tape.budget import Broken, in_units
from tape.errors import TraceError
from tape.files import append, why
from tape.reading import is_storable, json_lines, short, storable, wrong
from tape.redaction import redacted
from tape.trace.events import CallBegunEvent, CallEndedEvent, CostAboveBoundEvent, GeneratedEvent, event_type
from tape.trace.links import FIRST, hash_of
from tape.trace.shapes import Event

logger = logging.getLogger("tape.trace")

SCHEMA = 2
_HEAD = ("schema", "seq", "episode", "type")

LONG = 120
"""Characters: a longer part of a prompt is written once in a file, and from then on as where it stands first."""

Listener = Callable[[str, Event], object]
"""Takes the episode's key and an event."""


class TraceWriter:
    """Collects the events of one episode and writes them to a file, if there is one.

    A listener is for displays: what it raises does not reach the episode, which may have money reserved at that
    moment. It is logged with its traceback, and the listener is not called again.

    Args:
        episode: The episode's key.
        path: A JSON Lines file; None keeps events in memory only.
        listener: Called with the key and every event, in order.
        replace: Whether a file with that name may be written over.

    Raises:
        TraceError: The file cannot be made, or there is one already.

    Examples:
        >>> from tape import TraceWriter, read_trace
        >>> from tape.trace import StartedEvent
        >>> seen = []
        >>> writer = TraceWriter("demo", "demo.jsonl", listener=lambda episode, event: seen.append(event.type))
        >>> writer.write(StartedEvent(config={}, budget={"steps": 3}, task="Open the door.", seed=0))
        >>> writer.close()
        >>> seen, len(writer.events)
        (['started'], 1)
    """

    def __init__(
        self,
        episode: str,
        path: Path | str | None = None,
        listener: Listener | None = None,
        *,
        replace: bool = False,
    ) -> None:
        path = None if path is None else Path(path)
        self.episode = episode
        self._listeners = [] if listener is None else [listener]
        self.events: list[Event] = []
        self.turn: Callable[[], Awaitable[object]] = partial(asyncio.sleep, 0)
        """Awaited before something is asked or done: others run, and a reader that keeps pace reads what there is."""
        self._first: dict[str, tuple[int, int]] = {}
        self._last = FIRST
        self._path, self._file = path, None
        if path is not None:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                # Emptied only once it is held: another process may be writing it.
                self._file = path.open("ab", buffering=0)
                require_alone(self._file, path)
                if not replace and self._file.tell():
                    self._file.close()
                    raise TraceError(
                        f"the trace {path} exists; go on with it (agent.resume, `tape resume`), name another file, or "
                        "write over it: trace=TraceWriter(NAME, PATH, replace=True)"
                    )
                self._file.truncate(0)
            except OSError as error:
                raise unwritten(path, error) from error

    @property
    def live(self) -> bool:
        """Whether what is written is new; false while a recorded episode is played again."""
        return True

    @property
    def last_hash(self) -> str:
        """The hash of the last line that was written; empty where there is none, or no file."""
        return self._last

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Add a listener; returns what takes it off again."""
        self._listeners.append(listener)
        return lambda: self._drop(listener)

    def write(self, event: Event) -> None:
        """Append an event."""
        if self._writes():
            line = self._written(event)
            # A call that is not on the disk when the machine stops would be made again.
            self._append(line + "\n", sync=isinstance(event, CallBegunEvent | CallEndedEvent))
            self._last = hash_of(line)
        self._keep(event)

    def _written(self, event: Event) -> str:
        """An event as the next line."""
        seq = len(self.events)
        head = {"schema": SCHEMA, "seq": seq, "episode": self.episode, "type": event.type, "prev": self._last}
        record = redacted(event.model_dump())
        if isinstance(event, GeneratedEvent):
            record["prompt"] = self._shortened(record["prompt"], seq)
        return _line({**head, **record})

    def _keep(self, event: Event) -> None:
        """Hold an event, and show it to the listeners."""
        self.events.append(event)
        for listener in tuple(self._listeners):
            try:
                listener(self.episode, event)
            except Exception:
                logger.exception("a listener failed at the event %r and is not called any more", event.type)
                self._drop(listener)

    def _writes(self) -> bool:
        return self._file is not None

    def _append(self, text: str, *, sync: bool = False) -> None:
        assert self._file is not None
        assert self._path is not None
        try:
            append(self._file.fileno(), text.encode("ascii"), sync=sync)
        except OSError as error:
            raise unwritten(self._path, error) from error

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

    def _drop(self, listener: Listener) -> None:
        self._listeners = [other for other in self._listeners if other is not listener]

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def require_alone(file: FileIO, path: Path) -> None:
    """Hold a trace for as long as its file is open."""
    try:
        import fcntl
    except ImportError:  # a system without such locks
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise TraceError(f"the episode of the trace {path} is being played; wait for its end") from None


def unwritten(path: Path, error: OSError) -> TraceError:
    """What is raised where the disk does not take a trace."""
    return TraceError(f"the trace {path} cannot be written ({why(error)}); free some disk space or name another file")


def _line(record: dict[str, Any]) -> str:
    """A record as JSON that can be read again."""
    try:
        # ASCII: a model may write lone surrogates or line separators, which would break the file.
        text = json.dumps(record)
        if is_storable(text):
            return text
    except (ValueError, RecursionError):
        pass  # a number of too many digits, or what is nested too deep
    return json.dumps(storable(record))


def read_trace(path: Path | str, *, whole: bool = False) -> Iterator[Event]:
    """Read a trace, checking every line.

    Args:
        path: The file.
        whole: Skip a last line without an end, which a kill leaves.

    Yields:
        The events, in their order.

    Raises:
        TraceError: Names the file, the line and what is wrong.

    Examples:
        >>> from pathlib import Path
        >>> from tape import ReactAgent, ToolEnvironment, read_trace, tool
        >>> from tape.lm.scripted import ScriptedLM
        >>> @tool(usd=0)
        ... def unlock(door: str) -> str:
        ...     "Unlock a door."
        ...     return f"{door} is open"
        >>> replies = ['answer("open")']
        >>> env = ToolEnvironment("Is the door open?", [unlock], budget="2 steps")
        >>> _ = ReactAgent(ScriptedLM(replies)).run(env, trace="demo.jsonl")
        >>> first, *_, last = read_trace(Path("demo.jsonl"))
        >>> first.type, last.type, last.result["end_state"]
        ('started', 'finished', 'success')
    """
    seen: dict[tuple[int, int], str] = {}
    number = 0
    # A model may have written halves of surrogate pairs, and texts stand in traces as they were written.
    for number, record in json_lines(Path(path), whole=whole, surrogates=True, error=_not_a_trace):
        yield _event(record, f"{path}:{number}", seen)
    if not number:
        raise TraceError(f"{path}: not a trace: it is empty; play the episode again")


def _not_a_trace(problem: str) -> TraceError:
    return TraceError(f"{problem}; so it is not a trace event: traces are read as they were written, line by line")


def _event(record: Any, where: str, seen: dict[tuple[int, int], str]) -> Event:
    if not isinstance(record, dict):
        raise TraceError(f"{where}: not a trace event: expected an object, got {short(record)}")
    missing = [name for name in _HEAD if name not in record]
    if missing:
        raise TraceError(f"{where}: not a trace event: field {missing[0]} is missing")
    schema, seq, episode, kind = (record.pop(name) for name in _HEAD)
    if not isinstance(seq, int) or not isinstance(episode, str):
        raise TraceError(f"{where}: not a trace event: seq must be a whole number and episode a text")
    if schema != SCHEMA:
        raise TraceError(f"{where}: schema {short(schema)} is not {SCHEMA}; use the version that made it")
    if not isinstance(record.pop("prev", None), str):
        raise TraceError(f"{where}: not a trace event: prev must be the hash of the line before, a text")
    event = event_type(kind) if isinstance(kind, str) else None
    if event is None:
        raise TraceError(f"{where}: unknown event type {short(kind)}; use the version that made it")
    try:
        if event is GeneratedEvent:
            _restore(record.get("prompt"), seq, seen)
        return event.model_validate(record)
    except ValidationError as error:
        raise TraceError(f"{where}: not a trace event of type {kind}: {wrong(error)}") from error


def _restore(parts: Any, seq: int, seen: dict[tuple[int, int], str]) -> None:
    """Put back what a prompt shares with one before it, and remember the rest; what is malformed stays as it is."""
    for number, part in enumerate(parts if isinstance(parts, list) else ()):
        if not isinstance(part, dict):
            continue
        match part.get("as_in"), part.get("content"):
            case [int(event), int(there)], None if (event, there) in seen:
                del part["as_in"]
                part["content"] = seen[event, there]
            case None, str(content) if len(content) > LONG:
                seen[seq, number] = content


def report_costs_above_bound(trace: TraceWriter | None, purpose: str, broken: Sequence[Broken]) -> None:
    """Report a cost above its declared bound at once, in the log and in the trace."""
    for result in broken:
        logging.getLogger("tape.budget").warning(
            "%s used %s where at most %s was declared; correct the declared worst case, else hard caps cannot be kept",
            purpose,
            in_units(result.kind, result.used),
            in_units(result.kind, result.declared),
        )
        if trace is not None:
            event = CostAboveBoundEvent(purpose=purpose, kind=result.kind, declared=result.declared, used=result.used)
            trace.write(event)
