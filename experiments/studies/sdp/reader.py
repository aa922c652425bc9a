"""Reads the parts of a certified trajectory from the events of a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from experiments.studies.sdp.records import ChainRecord, EpisodeEnding, Judged, Move, Origin, RecordedState
from tape.errors import TraceError
from tape.methods.sdp.events import ChainEvent, ConcludedEvent, ValidatedEvent
from tape.reading import json_lines, wrong
from tape.trace import Event, FinishedEvent, StartedEvent


class NotSdpError(TraceError):
    """The trace is complete, but its episode has no chain."""


class TrajectoryParts(NamedTuple):
    """The parts of a trajectory."""

    origin: Origin
    plans: list[ChainRecord]
    moves: list[Move]
    ending: EpisodeEnding


class TraceReader:
    """Collects the relevant events.

    Args:
        path: The trace, for messages.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._started: StartedEvent | None = None
        self._concluded: ConcludedEvent | None = None
        self._finished: FinishedEvent | None = None
        self._plans: list[ChainRecord] = []
        self._moves: list[Move] = []
        self._certified: list[str] = []

    def read(self, event: Event) -> None:
        """Take the next event.

        Raises:
            TraceError: The event contradicts those before it.
        """
        try:
            self._take(event)
        except ValidationError as error:
            raise TraceError(f"{self._path}: an event of type {event.type} is malformed: {wrong(error)}") from error

    def _take(self, event: Event) -> None:
        match event:
            case StartedEvent():
                self._started = event
            case ChainEvent():
                self._require(event.certified, "chain")
                self._plans.append(ChainRecord(after=len(self._moves), **event.model_dump()))
            case ValidatedEvent():
                self._require(event.certified, "verdict")
                self._moves.append(self._move(event))
            case ConcludedEvent():
                self._concluded = event
            case FinishedEvent():
                self._finished = event
            case _:
                pass

    def _require(self, certified: int, what: str) -> None:
        if certified != len(self._certified):
            raise TraceError(
                f"{self._path}: a {what} after {len(self._moves)} attempts names {certified} certified predicates, "
                f"but {len(self._certified)} were certified before it"
            )

    def _move(self, event: ValidatedEvent) -> Move:
        if not self._plans:
            raise TraceError(f"{self._path}: a verdict without a chain before it")
        plan = self._plans[-1]
        tail = plan.targets[len(self._certified) - plan.certified :]
        if len(event.checks) > len(tail) or not 0 <= event.k <= len(event.checks):
            raise TraceError(
                f"{self._path}: attempt {len(self._moves) + 1} has k = {event.k} and {len(event.checks)} verdicts on a "
                f"chain of {len(tail)} predicates"
            )
        before = RecordedState(certified=list(self._certified), fields=event.before, node=event.nodes[0])
        self._certified += [target.text for target in tail[: event.k]]
        own = ("step", "failed", "action", "text", "k", "reason", "counts", "completed")
        return Move(
            **{name: getattr(event, name) for name in own},
            before=before,
            judged=[Judged(target=t, check=check) for t, check in zip(tail, event.checks, strict=False)],
            after=RecordedState(certified=list(self._certified), fields=event.after, node=event.nodes[1]),
        )

    def parts(self, where: dict[str, Any]) -> TrajectoryParts:
        """The collected parts.

        Args:
            where: More fields of the origin, for instance the task.

        Raises:
            NotSdpError: The episode has no chain.
            TraceError: The trace is incomplete or contradicts itself.
        """
        if self._started is None or self._finished is None:
            raise TraceError(f"{self._path}: the episode's beginning or end is missing; play it again")
        if not self._plans and self._concluded is None:
            agent = self._started.config.get("agent", "?")
            raise NotSdpError(f"{self._path}: no SDP episode (agent {agent!r}): it has no chain; play the agent 'sdp'")
        if self._concluded is None:
            raise TraceError(f"{self._path}: the end of SDP's loop is missing; play the episode again")
        config, result, end = dict(self._started.config), self._finished.result, self._concluded
        origin = {
            "episode": _episode(self._path),
            "agent": config.pop("agent", ""),
            "model": config.pop("model", ""),
            "config": config,
            "budget": self._started.budget,
        }
        try:
            ending = EpisodeEnding(
                **end.model_dump(exclude={"state"}),
                **{name: result[name] for name in ("end_state", "success", "actions", "measures")},
                forced=result["final_answer"] is not None,
            )
            return TrajectoryParts(Origin.model_validate(origin | where), self._plans, self._moves, ending)
        except (KeyError, ValidationError) as error:
            problem = wrong(error) if isinstance(error, ValidationError) else f"there is no {error}"
            raise TraceError(f"{self._path}: the episode's beginning or result is malformed: {problem}") from error


def _episode(path: Path) -> str:
    """The episode's key, from the first line of its trace."""
    _, record = next(json_lines(path, surrogates=True, error=TraceError))
    return str(record["episode"])
