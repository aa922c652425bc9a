"""What is handed to a worker and what comes back, and what a display is told."""

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
        jobs: Its episodes, in order. Which they are is fixed: what a model is asked at once shapes its last digits.
        metered: There is a run's ledger, which must be asked before anything is spent.
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
        whole: False where the run's budget had a part in how it ended.
    """

    line: Line
    trace: str
    whole: bool = True


@dataclass
class Watcher:
    """What a display is told; each is called in the runner's own thread.

    Attributes:
        begun: The run begins: the records that are there already, and how many episodes there are in all.
        loading: A model is about to be loaded in this process: its name.
        started: A batch begins, in this process or in another.
        event: An event of an episode: key and event. Only where episodes are played in this process.
        finished: A committed episode, how many are done, how many there are; not for what was there already.
        drained: What is left of the run's budget and its caps, in counts by kind; before each ``finished``.
    """

    begun: Callable[[Sequence[Line], int], None] = lambda _held, _total: None
    loading: Callable[[str], None] = lambda _: None
    started: Callable[[Work], None] = lambda _: None
    event: Callable[[str, Event], None] = lambda _key, _event: None
    finished: Callable[[Line, int, int], None] = lambda _line, _done, _total: None
    drained: Callable[[Mapping[str, int], Mapping[str, int]], None] = lambda _left, _caps: None
