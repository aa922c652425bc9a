"""The trace of an episode that has not come to its end, as a resumption needs it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from tape.agents.at_once import PURPOSE as AHEAD
from tape.agents.final_answer import ROLE
from tape.budget import Budget, Ledger, Resources, kind_of
from tape.budget.deadline import KIND as WALL
from tape.engine.replan import AT_LIMIT
from tape.errors import ConfigError, ResumeError
from tape.protocols import AnswerT, Environment
from tape.protocols.result import EpisodeResult
from tape.tools.environment import ToolEnvironment
from tape.tools.tool import Tool
from tape.trace import (
    ApprovalEvent,
    CallBegunEvent,
    CallEndedEvent,
    Event,
    FinishedEvent,
    GeneratedEvent,
    LedgerEvent,
    ObservedEvent,
    ReplannedEvent,
    ResumedEvent,
    StartedEvent,
    read_trace,
)

FINAL = ("success", "failure", "no_plan", "replan_limit", "not_certified", "invalid_output", "unknown_outcome")
"""End states after which nothing is left to do."""

LIMITS = ("infeasible", "budget")
"""End states after which only a higher cap helps."""


def left_of(parent: Ledger | None) -> dict[str, int]:
    """What is left of an enclosing ledger, by kind that it caps."""
    left = {} if parent is None else {kind: parent.remaining(kind) for kind in parent.capped()}
    return {kind: count for kind, count in left.items() if count is not None}


class TraceRecord:
    """A trace.

    Raises:
        ResumeError: The trace does not say how its episode began.
        TraceError: It is no trace.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.events = list(read_trace(path, whole=True))
        first = self.events[0] if self.events else None
        if not isinstance(first, StartedEvent):
            raise ResumeError(f"{path}: no trace that can be resumed: its first event is no beginning")
        self.started = first
        last = self.events[-1]
        self._result = last.result if isinstance(last, FinishedEvent) else {}
        self.ended = str(self._result.get("end_state", ""))
        self.seconds = self._seconds()
        self.unfinished = self._unfinished()
        self.kept = self._kept()

    def result(self, env: Environment[AnswerT], budget: Budget) -> EpisodeResult[AnswerT] | None:
        """The result, where the episode has ended and no higher cap is given with which it could go on."""
        state = self.ended.partition(":")[0]
        if state not in FINAL and (budget or state not in LIMITS):
            return None
        result: EpisodeResult[AnswerT] = EpisodeResult.model_validate(self._result)
        if result.answer is not None:
            result.answer = env.read_answer(result.answer)
        return result

    def environment(
        self, env: Environment[AnswerT] | None, tools: Sequence[Tool] | None, *, steps_again: bool
    ) -> Environment[AnswerT]:
        """The environment in which it goes on.

        Raises:
            ConfigError: There are none, or both an environment and tools.
            ResumeError: Its actions would have to be done again.
        """
        if (env is None) == (tools is None):
            raise ConfigError("resume takes the environment of the episode, made as it was, or its tools=[...]")
        if env is None:
            env = cast("Environment[AnswerT]", ToolEnvironment(self.started.task, tools or ()))
        if not env.records and not steps_again:
            raise ResumeError(
                f"{self.path}: {type(env).__name__} does not record what comes of its actions, so all would be done "
                "again; give steps_again=True where that does no harm, as in a simulator"
            )
        return env

    def require_same(self, described: Mapping[str, Any], env: Environment, parent: Ledger | None) -> None:
        """Refuse another agent, model, switch, environment or enclosing budget than the episode was begun with."""
        now, then = json.loads(json.dumps(described)), self.started.config
        for name in {**then, **now}:
            if now.get(name) != then.get(name):
                raise ResumeError(
                    f"{self.path}: the episode was begun with {name}={then.get(name)!r}, not {now.get(name)!r}; resume "
                    "it with the same agent"
                )
        if (made := env.made_with()) != self.started.environment:
            raise ResumeError(
                f"{self.path}: the environment was made with {self.started.environment}, not with {made}; give it made "
                "as it was"
            )
        if (left := left_of(parent)) != self.started.parent:
            raise ResumeError(
                f"{self.path}: the episode was begun with {self.started.parent or 'nothing'} left of an enclosing "
                f"ledger (in counts), not {left or 'nothing'}; give parent= one with as much, since all is booked anew"
            )

    def _seconds(self) -> float:
        """Real time that was used, as far as the trace says."""
        used, cap = float(self._result.get("wall_seconds", 0.0)), self.caps.get(WALL)
        for event in self.events:
            if isinstance(event, ResumedEvent):
                used, cap = max(used, event.seconds), event.budget.get(WALL)
            elif isinstance(event, ObservedEvent) and cap is not None and WALL in event.remaining:
                used = max(used, float(kind_of(WALL).amount(cap - event.remaining[WALL])))
        return used

    @property
    def caps(self) -> Budget:
        """The caps at the beginning."""
        return Budget(self.started.budget)

    @property
    def last_caps(self) -> Budget:
        """The caps at the end."""
        resumed = [event.budget for event in self.events if isinstance(event, ResumedEvent)]
        return Budget(resumed[-1]) if resumed else self.caps

    def _unfinished(self) -> CallBegunEvent | None:
        """The call that was under way."""
        calls = [event for event in self.events if isinstance(event, CallBegunEvent | CallEndedEvent)]
        return calls[-1] if calls and isinstance(calls[-1], CallBegunEvent) else None

    def _kept(self) -> int:
        """How many events are kept: up to the last that tells of something outside, or of a call under way."""
        # An answer at a limit is asked for again, where the limit holds again.
        last = next((n for n, event in enumerate(self.events) if _is_at_limit(event)), len(self.events))
        for place in range(last, 0, -1):
            match self.events[place - 1]:
                case GeneratedEvent(role=role, texts=texts, weights=weights) if (texts or weights) and role != ROLE:
                    return place
                case CallBegunEvent() | CallEndedEvent() | LedgerEvent(purpose="resumed"):
                    return place
                case ApprovalEvent(decision=decision) if decision != "stopped":
                    return place
        return 1

    def ahead(self, place: int) -> LedgerEvent | None:
        """The event at a place if it tells of an action before its turn: when it comes depends on real time alone."""
        event = self.events[place] if place < len(self.events) else None
        return event if isinstance(event, LedgerEvent) and event.purpose.startswith(AHEAD) else None

    def settled(self, place: int) -> Resources:
        """What the trace books: all model calls, those under way at their worst case; steps before ``place``."""
        total, under_way = Resources(), dict[str, Resources]()
        for number, event in enumerate(self.events):
            if not isinstance(event, LedgerEvent) or event.what == "refused":
                continue
            # What has begun before its turn is set aside under a purpose of its own, which its step releases.
            step, kept_back = event.purpose.startswith("step:"), event.purpose == f"lm:{ROLE}"
            if event.what == "settle" and (number < place or not step):
                total = total + Resources(event.amounts)
            if event.what == "reserve" and not step and not kept_back:
                under_way[event.purpose] = under_way.get(event.purpose, Resources()) + Resources(event.amounts)
            else:
                under_way.pop(event.purpose, None)
        return sum(under_way.values(), total)


def _is_at_limit(event: Event) -> bool:
    return isinstance(event, ReplannedEvent) and event.reason == AT_LIMIT
