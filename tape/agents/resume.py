"""An episode that goes on from its trace (docs/agents.md, "Resuming").

The episode is played again from its beginning, in the same order, and what came from outside is taken from the trace:
the model's answers, what came of calls, decisions about approvals. So its plans, its ledger and its state are those
that it had. Where the trace ends it goes on by itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from tape.agents.recorded import Decisions, RecordedLM
from tape.approval import ApprovalRequest, Approve, Verdict, When, verdict_of
from tape.budget import Budget, Reservation, Resources, in_units, kind_of, unknown
from tape.budget.deadline import KIND as WALL
from tape.budget.deadline import Deadline
from tape.engine.episode import Episode
from tape.engine.result import EpisodeResult
from tape.errors import BudgetExceededError, ConfigError, ResumeError, UnfinishedCallError
from tape.lm.base import Completion, LanguageModel, Request, Usage
from tape.protocols import Action, Environment
from tape.tools.environment import ToolEnvironment
from tape.tools.tool import Tool
from tape.trace import (
    ApprovalEvent,
    CallBegunEvent,
    CallEndedEvent,
    ContinuedTrace,
    FinishedEvent,
    GeneratedEvent,
    LedgerEvent,
    ObservedEvent,
    ResumedEvent,
    StartedEvent,
    read_trace,
)

OnUnfinished = Literal["ask", "assume_done", "retry"]
"""What becomes of a call that was under way and may have changed something: refuse to go on, or take it for done, or
make it again."""

LOST: Mapping[str, Any] = {"lost": True}
"""The outcome of a call that is taken for done."""

PURPOSE = "resumed"
"""Of what is booked for what was under way."""

FINAL = ("success", "failure", "no_plan", "replan_limit", "not_certified", "invalid_output")
"""End states after which nothing is left to do."""


class Record:
    """The trace of an episode that has not come to its end.

    Args:
        path: The file.

    Raises:
        ResumeError: Its episode has ended for good, or the trace does not say how it began.
        TraceError: It is no trace.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.events = list(read_trace(path, whole=True))
        first = self.events[0] if self.events else None
        if not isinstance(first, StartedEvent) or first.seed is None:
            raise ResumeError(f"{path}: no trace that can be resumed: its first event is no beginning with a seed")
        self.started = first
        last = self.events[-1]
        result = last.result if isinstance(last, FinishedEvent) else {}
        self.ended = str(result.get("end_state", ""))
        if self.ended in FINAL:
            raise ResumeError(f"{path}: the episode has ended ({self.ended}), and there is nothing to resume")
        self.seconds = self._seconds(result)
        self.unfinished = self._unfinished()
        self.kept = self._kept()

    def environment(self, env: Environment | None, tools: Sequence[Tool] | None, *, steps_again: bool) -> Environment:
        """The environment in which it goes on.

        Raises:
            ConfigError: There are none, or both an environment and tools.
            ResumeError: Its actions would have to be done again.
        """
        if (env is None) == (tools is None):
            raise ConfigError("resume takes the environment of the episode, made as it was, or its tools=[...]")
        if env is None:
            env = ToolEnvironment(self.started.task, tools or ())
        if not env.records and not steps_again:
            raise ResumeError(
                f"{self.path}: {type(env).__name__} does not record what comes of its actions, so all would be done "
                "again; give steps_again=True where that does no harm, as in a simulator"
            )
        return env

    def require_agent(self, described: Mapping[str, Any]) -> None:
        """Refuse another agent, model or switch than the episode was begun with.

        Raises:
            ResumeError: Names the first that differs.
        """
        now, then = json.loads(json.dumps(described)), self.started.config
        for name in {**then, **now}:
            if now.get(name) != then.get(name):
                raise ResumeError(
                    f"{self.path}: the episode was begun with {name}={then.get(name)!r}, not {now.get(name)!r}; resume "
                    "it with the same agent"
                )

    def _seconds(self, result: Mapping[str, Any]) -> float:
        """Real time that was used, as far as the trace says."""
        if "wall_seconds" in result:
            return float(result["wall_seconds"])
        cap = self.caps.get(WALL)
        seen = [event.remaining[WALL] for event in self.events if isinstance(event, ObservedEvent) and cap is not None]
        return float(kind_of(WALL).amount((cap or 0) - seen[-1])) if seen else 0.0

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
        for place in range(len(self.events), 0, -1):
            match self.events[place - 1]:
                case GeneratedEvent(texts=texts, weights=weights) if texts or weights:
                    return place
                case CallBegunEvent() | CallEndedEvent() | LedgerEvent(purpose="resumed"):
                    return place
                case ApprovalEvent(decision=decision) if decision != "stopped":
                    return place
        return 1

    def settled(self, place: int) -> Resources:
        """What the trace books: of model calls all, those under way at their worst case; of steps what is kept.

        Args:
            place: How many events are kept.
        """
        total, under_way = Resources(), dict[str, Resources]()
        for number, event in enumerate(self.events):
            if not isinstance(event, LedgerEvent) or event.what == "refused":
                continue
            step, kept_back = event.purpose.startswith("step:"), event.purpose == "lm:answer"
            if event.what == "settle" and (number < place or not step):
                total = total + Resources(event.amounts)
            if event.what == "reserve" and not step and not kept_back:
                under_way[event.purpose] = under_way.get(event.purpose, Resources()) + Resources(event.amounts)
            else:
                under_way.pop(event.purpose, None)
        return sum(under_way.values(), total)


class Resumption:
    """Plays a record again, and then lets the episode go on.

    Args:
        record: The record.
        budget: New caps of some resources; the others stay.
        on_unfinished: What becomes of a call that was under way.

    Raises:
        ResumeError: A cap is lower than it was, or the episode would end for want of budget as before.
        UnfinishedCallError: A call was under way that may have changed something.
    """

    def __init__(self, record: Record, budget: Budget, on_unfinished: OnUnfinished) -> None:
        self.record = record
        self.caps = Budget({**record.last_caps, **budget})
        self._require_raised(budget)
        self._decision = _decided(record.unfinished, on_unfinished)
        events = record.events[: record.kept]
        self._outcomes = [event for event in events if isinstance(event, CallEndedEvent)]
        self._episode: Episode | None = None
        self.trace = ContinuedTrace(record.path, record.events, self._reached)

    def _require_raised(self, budget: Budget) -> None:
        path, before, ended = self.record.path, self.record.last_caps, self.record.ended
        for kind in budget:
            if kind not in before:
                raise ResumeError(f"{path}: {kind} was not capped, and no cap is added amid an episode; leave it out")
            if budget[kind] < before[kind]:
                raise ResumeError(
                    f"{path}: a cap can be raised, not lowered: {kind} was capped at {in_units(kind, before[kind])}"
                )
        state, _, kind = ended.partition(":")
        short = [kind] if state == "budget" else [*before] if state == "infeasible" else []
        if short and all(self.caps.get(one) == before.get(one) for one in short):
            caps = ", ".join(in_units(one, before[one]) for one in short if one in before)
            raise ResumeError(f"{path}: the episode ended as {ended} and would again; give a budget= above {caps}")

    def deadline(self) -> Deadline:
        """The limit on real time, of which a part is used."""
        return Deadline(self.caps.get(WALL), used=self.record.seconds)

    def require_caught_up(self, result: EpisodeResult) -> None:
        """Refuse a replay that has ended before its record did; a budget may have ended it.

        Raises:
            ResumeError: It has.
        """
        if not self.trace.live and not result.end_state.startswith("budget"):
            raise ResumeError(
                f"{self.record.path}: played again the episode ends sooner than it was recorded, as {result.end_state} "
                f"({result.detail}); nothing was called"
            )

    def begin(self, episode: Episode) -> None:
        """Take the episode that is played."""
        self._episode, episode.known_outcome = episode, self.outcome

    def _reached(self) -> None:
        """Apply what was decided at an earlier resumption here; go on where the record ends."""
        events, place = self.record.events, len(self.trace.events)
        following = events[place] if place < self.record.kept else None
        if isinstance(following, ResumedEvent):
            self._capped(following).settle(unknown(Resources(following.booked)))
            self.trace.hold(following)
            self.trace.hold(events[place + 1])
            place += 2
        if place == self.record.kept and self._episode is not None:
            self.go_on()

    def go_on(self) -> None:
        """Leave the record: book what was under way, set the caps, and write.

        Raises:
            BudgetExceededError: What was under way does not fit.
        """
        if self.trace.live:
            return
        episode, place = self._episode, len(self.trace.events)
        assert episode is not None, "an episode begins before it is played"
        total, used = self.record.settled(place), episode.ledger.used
        under_way = {kind: max(0, (total[kind] or 0) - (used[kind] or 0)) for kind in total}
        booked = Resources({kind: count for kind, count in under_way.items() if count})
        call = self.record.unfinished if place == self.record.kept else None
        if call is not None and self._decision == "retry":
            booked = booked + episode.env.domain.cost(episode.state, call.action)
        event = ResumedEvent(
            ended=self.record.ended,
            dropped=len(self.record.events) - place,
            booked=dict(booked),
            budget=dict(self.caps),
            unfinished="" if call is None else call.action,
            decision="" if call is None else self._decision,
        )
        reservation = self._capped(event)
        self.trace.go_on([event, LedgerEvent(what="settle", purpose=PURPOSE, amounts=dict(booked))])
        reservation.settle(unknown(booked))

    def _capped(self, event: ResumedEvent) -> Reservation:
        """Set the caps of a resumption, and reserve what it books."""
        assert self._episode is not None
        caps = Budget(event.budget)
        self._episode.ledger.recap(caps.without(WALL))
        self._episode.result.budget = dict(caps)
        try:
            return self._episode.ledger.reserve(Resources(event.booked))
        except BudgetExceededError as error:
            error.wanted_for("what was under way when the episode was cut off, which is booked at its worst case")
            raise

    def outcome(self, action: Action) -> Mapping[str, Any] | None:
        """What came of an action that is not to be done again; None where it is to be done.

        Raises:
            ResumeError: Another action was recorded.
        """
        if self._outcomes:
            event = self._outcomes.pop(0)
            self.require_same(event.action, action)
            return event.outcome
        call, self.record.unfinished = self.record.unfinished, None
        if call is None:
            return None
        self.require_same(call.action, action)
        return LOST if self._decision == "assume_done" else None

    def require_same(self, recorded: Action, action: Action) -> None:
        """Refuse an action that is not the recorded one.

        Raises:
            ResumeError: It is not.
        """
        if recorded != action:
            raise ResumeError(
                f"{self.record.path}: {recorded} was called, and {action} comes out now: the tools, the settings or "
                "the version of tape are not those of the trace"
            )

    def model(self, model: LanguageModel) -> LanguageModel:
        """A model that gives the recorded answers before it is asked."""
        return _ResumedLM(model, self)

    def approval(self, approve: Approve | None, when: When | None) -> tuple[Approve | None, When | None]:
        """Functions that give the recorded decisions before they ask.

        Raises:
            ResumeError: There are decisions in the record, and now nobody to ask.
        """
        recorded = Decisions(self.record.events[: self.record.kept])
        if approve is None and recorded.any:
            raise ResumeError(f"{self.record.path}: calls were approved in this episode; give approve=")
        if approve is None or not recorded.any:
            return approve, when

        async def ask(request: ApprovalRequest) -> Verdict:
            return recorded.ask(request) if recorded.selects(request) else await verdict_of(approve, request)

        def selects(request: ApprovalRequest) -> bool:
            return recorded.selects(request) or (when is not None and when(request))

        return ask, selects


def _decided(call: CallBegunEvent | None, on_unfinished: OnUnfinished) -> Literal["", "retry", "assume_done"]:
    """What becomes of the call that was under way.

    Raises:
        ConfigError: There is no such choice.
        UnfinishedCallError: It is to be asked about.
    """
    if on_unfinished not in get_args(OnUnfinished):
        raise ConfigError(f"on_unfinished is one of {', '.join(get_args(OnUnfinished))}, not {on_unfinished!r}")
    if call is None:
        return ""
    if call.pure:
        return "retry"
    if on_unfinished == "ask":
        raise UnfinishedCallError(
            f"{call.action} had begun when the episode was cut off, and may be done; find out, and resume with "
            "on_unfinished='assume_done' if it is, else with on_unfinished='retry'",
            call.action,
        )
    return on_unfinished


class _ResumedLM(RecordedLM):
    """Gives the recorded answers, and then the model's."""

    def __init__(self, model: LanguageModel, resumption: Resumption) -> None:
        record = resumption.record
        answered = [e for e in record.events if not isinstance(e, GeneratedEvent) or e.texts or e.weights]
        super().__init__(model, answered, exact=True)
        self._resumption = resumption

    def _from_model(self, count: int) -> bool:
        """Whether the model is asked: of a batch that was cut off no answer is taken."""
        if self.left < count:
            self._answers.clear()
            self._resumption.go_on()
        return self._resumption.trace.live and not self.left

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        if self._from_model(len(requests)):
            return await self._model.generate(requests)
        return await super().generate(requests)

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        if self._from_model(len(requests)):
            return await self._model.score_options(requests)
        return await super().score_options(requests)
