"""The event log of an episode: written once, replayed, drawn and tabulated from the file alone.

One JSON object per line, each with ``schema, seq, episode, type``. Other packages add their own event
types with :func:`register_event`.
"""

from __future__ import annotations

import importlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from tape.errors import TraceError

SCHEMA = 1


class Event(BaseModel):
    """Base of all events; a subclass declares its ``type``."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    type: ClassVar[str] = ""


class ToldEvent(Event, ABC):
    """Base of events that say themselves how a replay tells them."""

    @abstractmethod
    def told(self) -> str:
        """One or more plain lines."""


class StartedEvent(Event):
    """The episode begins."""

    type: ClassVar[str] = "started"
    config: dict[str, Any]
    budget: dict[str, int]


class ObservedEvent(Event):
    """An observation and the abstract state it projects to."""

    type: ClassVar[str] = "observed"
    step: int
    key: str
    picture: str
    remaining: dict[str, int]


class PlansSampledEvent(Event):
    """The proposer's samples."""

    type: ClassVar[str] = "plans_sampled"
    start: str
    plans: list[list[str]]
    valid: list[bool]


class GraphFoldedEvent(Event):
    """The plan graph, annotated, in node-link form."""

    type: ClassVar[str] = "graph_folded"
    graph: dict[str, Any]


class WalkSelectedEvent(Event):
    """What the selector chose and the solver's report."""

    type: ClassVar[str] = "walk_selected"
    selector: str
    status: str
    partial: bool
    actions: list[str]
    nodes: list[str]
    objective: float | None
    bound: float | None
    consumption: dict[str, int]
    problem: dict[str, Any]
    seconds: float


class ActionsSampledEvent(Event):
    """Candidates for one step, with the score of what each is predicted to lead to; None: predicted to be invalid."""

    type: ClassVar[str] = "actions_sampled"
    actions: list[str]
    scores: dict[str, float | None]
    chosen: str


class ActedEvent(Event):
    """An action was executed."""

    type: ClassVar[str] = "acted"
    step: int
    action: str
    text: str
    planned: str | None
    cost: dict[str, int | None]


class MismatchEvent(Event):
    """The observed state is not the predicted one."""

    type: ClassVar[str] = "mismatch"
    step: int
    predicted: str
    observed: str


class ReplannedEvent(Event):
    """Planning starts again."""

    type: ClassVar[str] = "replanned"
    reason: str
    count: int


class MalformedEvent(Event):
    """A completion that could not be read; it was counted and survived."""

    type: ClassVar[str] = "malformed"
    role: str
    text: str


LedgerAction = Literal["reserve", "settle", "release", "refused"]


class LedgerEvent(Event):
    """Budget set aside, booked, given back or refused."""

    type: ClassVar[str] = "ledger"
    what: LedgerAction
    purpose: str
    amounts: dict[str, int | None]


class BrokenDeclarationEvent(Event):
    """More was used than had been declared as the worst case."""

    type: ClassVar[str] = "broken_declaration"
    purpose: str
    kind: str
    declared: int
    used: int


class AnsweredEvent(Event):
    """A final answer was given when a limit had ended the episode."""

    type: ClassVar[str] = "answered"
    text: str
    success: bool


class FinishedEvent(Event):
    """The episode's result."""

    type: ClassVar[str] = "finished"
    result: dict[str, Any]


_TYPES: dict[str, type[Event]] = {}
_REGISTRARS = ("tape.aec.events", "tape.sdp.events")
"""Modules of this package that register events of their own; imported where a trace is read."""


def register_event(event: type[Event]) -> type[Event]:
    """Make an event type known to :func:`read_trace`; usable as a decorator.

    Raises:
        TraceError: The type's name is empty or taken.
    """
    if not event.type or _TYPES.get(event.type, event) is not event:
        raise TraceError(f"event type {event.type!r} of {event.__name__} is empty or already taken")
    _TYPES[event.type] = event
    return event


for _event in (
    StartedEvent,
    ObservedEvent,
    PlansSampledEvent,
    GraphFoldedEvent,
    WalkSelectedEvent,
    ActionsSampledEvent,
    ActedEvent,
    MismatchEvent,
    ReplannedEvent,
    MalformedEvent,
    LedgerEvent,
    BrokenDeclarationEvent,
    AnsweredEvent,
    FinishedEvent,
):
    register_event(_event)


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
    for module in _REGISTRARS:
        importlib.import_module(module)
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            head = {name: record.pop(name) for name in ("schema", "seq", "episode", "type")}
            if head["schema"] != SCHEMA:
                raise TraceError(
                    f"{path}:{number}: schema {head['schema']} is not {SCHEMA}; use the version that made it"
                )
            if head["type"] not in _TYPES:
                raise TraceError(f"{path}:{number}: unknown event type {head['type']!r}")
            yield _TYPES[head["type"]].model_validate(record)
        except (ValueError, KeyError, TypeError, AttributeError, ValidationError) as error:
            if isinstance(error, TraceError):
                raise
            raise TraceError(f"{path}:{number}: not a trace event: {error}") from error
