"""The batches given to workers, the episodes they return, and the callbacks of a display."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tape.runner.configurations import Job
from tape.runner.spec import RunSpec
from tape.trace import Event

Line = dict[str, Any]
"""A line of ``episodes.jsonl``."""


@dataclass(frozen=True)
class Work:
    """One batch: consecutive episodes of one configuration, played side by side and committed together.

    Attributes:
        configuration: The configuration's name.
        spec: Its configuration.
        jobs: Its episodes, in order. They never change: the requests in a batch shape the last digits of a model.
        metered: The run has a ledger, which must grant everything before it is spent.
    """

    configuration: str
    spec: RunSpec
    jobs: tuple[Job, ...]
    metered: bool = False


@dataclass(frozen=True)
class Played:
    """One finished episode.

    Attributes:
        line: Its line, without ``schema``.
        trace: Its trace, as text.
        whole: False if the run's budget influenced its end.
    """

    line: Line
    trace: str
    whole: bool = True


@dataclass
class Watcher:
    """The callbacks of a display; each is called in the runner's own thread.

    Attributes:
        begun: The run begins: the existing records, and the number of all episodes.
        loading: A model is about to be loaded in this process: its name.
        started: A batch begins, in this process or in another.
        event: An event of an episode: key and event. Only for episodes played in this process.
        finished: A newly committed episode, the number of committed ones, the number of all.
        drained: The rest of the run's budget and its caps, in counts by kind; before each ``finished``.
    """

    begun: Callable[[Sequence[Line], int], None] = lambda _held, _total: None
    loading: Callable[[str], None] = lambda _: None
    started: Callable[[Work], None] = lambda _: None
    event: Callable[[str, Event], None] = lambda _key, _event: None
    finished: Callable[[Line, int, int], None] = lambda _line, _done, _total: None
    drained: Callable[[Mapping[str, int], Mapping[str, int]], None] = lambda _left, _caps: None
