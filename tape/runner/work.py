"""The batches given to workers, the episodes they return, and the callbacks of a display."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from tape.runner.configurations import Job
from tape.runner.spec import RunSpec
from tape.trace import Event, GeneratedEvent, ObservedEvent

HOW_FAR = (GeneratedEvent, ObservedEvent)
"""Events that show how far an episode is: tokens, and what is left."""

Line = dict[str, Any]
"""A line of ``episodes.jsonl``."""


@dataclass(frozen=True)
class PaidFrom:
    """What each call of a run is paid from, in every process that makes one.

    Attributes:
        file: The run's own ledger; None where it is not within reach.
        shared: Address and scope of a ledger that others pay from too.
        id: Is made anew where the run goes on.
    """

    file: Path | None
    shared: tuple[str, str] | None = field(repr=False)
    id: str = field(default_factory=lambda: uuid.uuid4().hex)


@dataclass(frozen=True)
class Work:
    """One batch: consecutive episodes of one configuration, played side by side.

    Attributes:
        configuration: The configuration's name.
        spec: Its configuration.
        jobs: Its episodes, in order. They never change: the requests in a batch shape the last digits of a model.
        kept: Keys of those that are committed already, or by another configuration. They are played only where the
            others' last digits depend on them.
        unfinished: An existing folder for the traces of running episodes; None: they are kept in memory alone.
        paid_from: What must grant everything before it is spent, where the run has a ledger.
    """

    configuration: str
    spec: RunSpec
    jobs: tuple[Job, ...]
    kept: frozenset[str] = frozenset()
    unfinished: Path | None = None
    paid_from: PaidFrom | None = None


@dataclass(frozen=True)
class Played:
    """One finished episode.

    Attributes:
        line: Its line, without ``schema``.
        trace: Its trace, as text.
    """

    line: Line
    trace: str


Keep: TypeAlias = Callable[[Work, Played], None]
"""Commits an episode that has ended."""


@dataclass
class Watcher:
    """The callbacks of a display; each is called in the thread that plays or receives the episodes.

    Attributes:
        begun: The run begins: the existing records, and the number of all episodes.
        loading: A model is about to be loaded in this process: its name.
        started: A batch begins, in this process or in another.
        event: An event of an episode: key and event. Of episodes in worker processes only what shows how far they are
            (:data:`HOW_FAR`), on a Ray cluster none.
        finished: A newly committed episode, the number of committed ones, the number of all.
        drained: The rest of the run's budget and its caps, in counts by kind; before each ``finished``.
    """

    begun: Callable[[Sequence[Line], int], None] = lambda _held, _total: None
    loading: Callable[[str], None] = lambda _: None
    started: Callable[[Work], None] = lambda _: None
    event: Callable[[str, Event], None] = lambda _key, _event: None
    finished: Callable[[Line, int, int], None] = lambda _line, _done, _total: None
    drained: Callable[[Mapping[str, int], Mapping[str, int]], None] = lambda _left, _caps: None
