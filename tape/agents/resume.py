"""An episode that goes on from its trace (docs/reference/agents.md, "Resuming").

The episode is played again from its beginning, in the same order, and what came from outside is taken from the trace:
the model's answers, what came of calls, decisions about approvals. So its plans, its ledger and its state are those
that it had. Where the trace ends it goes on by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import FileIO
from typing import Any, Literal, get_args

from tape.agents.at_once import PURPOSE as AHEAD
from tape.agents.paid_before import PaidBefore
from tape.agents.record import TraceRecord
from tape.agents.recorded import ContinuedLM, Decisions, NotRecordedError
from tape.approval import ApprovalRequest, Approve, Approver, Verdict, When, verdict_of
from tape.budget import Budget, Payer, Reservation, Resources, StorePayer, in_units, unknown
from tape.budget.deadline import KIND as WALL
from tape.budget.deadline import Deadline
from tape.engine.episode import Episode
from tape.errors import BudgetExceededError, ConfigError, ResumeError, UnfinishedCallError
from tape.lm.base import LanguageModel, Request
from tape.protocols import Action
from tape.protocols.result import EpisodeResult
from tape.tools.errors import ToolFailedError
from tape.tools.results import as_json
from tape.trace import (
    CallBegunEvent,
    CallEndedEvent,
    ContinuedTrace,
    GeneratedEvent,
    LedgerEvent,
    ResumedEvent,
)

Choice = Literal["ask", "assume_done", "retry"]

OnUnfinished = Choice | Mapping[str, Any]
"""What becomes of a call that was under way and may have changed something: refuse to go on, or take it for done, or
make it again. A mapping has the results that were found out, by call: those are done, and others are refused."""

LOST: Mapping[str, Any] = {"lost": True}
"""The outcome of a call that is taken for done; a result that was found out stands beside it."""

PURPOSE = "resumed"
"""Of what is booked for what was under way."""


class Resumption:
    """Plays a record again, and then lets the episode go on; caps without a new ``budget`` stay.

    Raises:
        ResumeError: A cap is lower than it was, or it is not the one for want of which the episode ended.
        UnfinishedCallError: A call was under way that may have changed something.
    """

    def __init__(self, record: TraceRecord, held: FileIO, budget: Budget, on_unfinished: OnUnfinished) -> None:
        self.record = record
        self.caps = Budget({**record.last_caps, **budget})
        self._require_raised(budget)
        self._on_unfinished = on_unfinished
        self._decision = _decided(record.unfinished, on_unfinished)
        self._lost = _lost(record.unfinished, on_unfinished)
        events = record.events[: record.kept]
        self._outcomes = [event for event in events if isinstance(event, CallEndedEvent)]
        self._decisions = Decisions(events)
        # One that was stopped is none of the kept events: it is asked again.
        self._asked = Decisions(record.events).any
        self._approver: Approver | None = None
        self._episode: Episode | None = None
        self._paid: PaidBefore | None = None
        self.trace = ContinuedTrace(held, record.path, record.events, self._reached)

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
        if short and all(self.caps.get(name) == before.get(name) for name in short):
            caps = ", ".join(in_units(name, before[name]) for name in short if name in before)
            raise ResumeError(f"{path}: the episode ended as {ended} and would again; give a budget= above {caps}")

    def deadline(self) -> Deadline:
        """The limit on real time, of which a part is used."""
        return Deadline(self.caps.get(WALL), used=self.record.seconds)

    def require_caught_up(self, result: EpisodeResult) -> None:
        """Refuse a replay that has ended before its record did; a budget may have ended it."""
        if not self.trace.live and not result.end_state.startswith("budget"):
            raise ResumeError(
                f"{self.record.path}: played again the episode ends sooner than it was recorded, as {result.end_state} "
                f"({result.detail}); nothing was called"
            )

    def begin(self, episode: Episode) -> None:
        """Take the episode that is played."""
        self._episode, episode.known_outcome = episode, self.outcome

    def asks(self, approver: Approver | None) -> Approver | None:
        """The approver of the recorded part: none where nobody was asked then; from there on it is ``approver``."""
        self._approver = approver
        return approver if self._decisions.any else None

    def _reached(self) -> None:
        """Apply what was decided at an earlier resumption here; go on where the record ends."""
        events, place = self.record.events, len(self.trace.events)
        while place < self.record.kept and isinstance(following := events[place], ResumedEvent):
            self._capped(following).settle(unknown(Resources(following.booked)))
            self.trace.hold(following)
            self.trace.hold(events[place + 1])
            place += 2
        at_once = None if self._episode is None else self._episode.at_once
        while place < self.record.kept and (ahead := self.record.ahead(place)) is not None:
            if at_once is not None and ahead.what == "reserve":
                at_once.note(ahead.purpose.removeprefix(AHEAD))
            self.trace.hold(ahead)
            place += 1
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
        if call is not None and self._decision == "retry" and not call.key:
            booked = booked + episode.env.domain.cost(episode.state, call.action)
        event = ResumedEvent(
            ended=self.record.ended,
            dropped=len(self.record.events) - place,
            booked=dict(booked),
            budget=dict(self.caps),
            seconds=episode.deadline.elapsed(),
            unfinished="" if call is None else call.action,
            decision="" if call is None else self._decision,
        )
        if self._paid is not None:
            self._paid.pay_open()
        reservation = self._capped(event)
        self.trace.go_on([event, LedgerEvent(what="settle", purpose=PURPOSE, amounts=dict(booked))])
        reservation.settle(unknown(booked))
        if self._paid is not None:
            self._paid.is_new = True
        episode.approver = self._approver

    def _capped(self, event: ResumedEvent) -> Reservation:
        """Set the caps of a resumption, and reserve what it books."""
        assert self._episode is not None
        caps = Budget(event.budget)
        self._episode.ledger.budget = caps.without(WALL)
        self._episode.result.budget = dict(caps)
        try:
            return self._episode.ledger.reserve(Resources(event.booked))
        except BudgetExceededError as error:
            error.wanted_for("what was under way when the episode was cut off, which is booked at its worst case")
            raise

    def outcome(self, action: Action, claimed: bool) -> Mapping[str, Any] | None:
        """What came of an action that is not to be done again; None where it is to be done.

        Args:
            action: The action.
            claimed: A store knows whether it was done.

        Raises:
            ResumeError: Another action was recorded.
            UnfinishedCallError: It was under way, was claimed in a store, and no store pays any more.
        """
        if self._outcomes:
            event = self._outcomes.pop(0)
            self.require_same(event.action, action)
            return event.outcome
        call, self.record.unfinished = self.record.unfinished, None
        if call is None:
            return None
        self.require_same(call.action, action)
        self._decision = _decided(call, self._on_unfinished, claimed)
        return self._lost if self._decision == "assume_done" else None

    def require_same(self, recorded: Action, action: Action) -> None:
        """Refuse an action that is not the recorded one."""
        if recorded != action:
            raise ResumeError(
                f"{self.record.path}: {recorded} was called, and {action} comes out now: the tools, the settings or "
                "the version of tape are not those of the trace"
            )

    def payer(self, payer: Payer | None) -> Payer | None:
        """The payer, which is not asked anew for what is played again where it remembers."""
        if isinstance(payer, StorePayer):
            self._paid = PaidBefore(payer)
            return self._paid
        return payer

    def model(self, model: LanguageModel) -> LanguageModel:
        """A model that gives the recorded answers before it is asked."""
        return _ResumedLM(model, self)

    def approval(self, approve: Approve | None, when: When | None) -> tuple[Approve | None, When | None]:
        """Functions that give the recorded decisions before they ask.

        Raises:
            ResumeError: There are decisions in the record, and now nobody to ask.
        """
        recorded = self._decisions
        if approve is None and self._asked:
            raise ResumeError(
                f"{self.record.path}: approval was asked for in this episode; give approve= to agent.resume in Python"
            )
        if approve is None or not recorded.any:
            return approve, when

        async def ask(request: ApprovalRequest) -> Verdict:
            return recorded.ask(request) if recorded.selects(request) else await verdict_of(approve, request)

        def selects(request: ApprovalRequest) -> bool:
            return recorded.selects(request) or (self.trace.live and when is not None and when(request))

        return ask, selects


def _decided(
    call: CallBegunEvent | None, on_unfinished: OnUnfinished, claimed: bool = True
) -> Literal["", "retry", "assume_done"]:
    """What becomes of the call that was under way, whose key a store has claimed."""
    if not isinstance(on_unfinished, Mapping) and on_unfinished not in get_args(Choice):
        raise ConfigError(
            f"on_unfinished is one of {', '.join(get_args(Choice))}, or the result by call, not {on_unfinished!r}"
        )
    if call is None:
        return ""
    if isinstance(on_unfinished, Mapping) and call.action in on_unfinished:
        return "assume_done"
    if call.pure or (call.key and claimed):  # of what is claimed the store knows whether it was done
        return "retry"
    if on_unfinished == "ask" or isinstance(on_unfinished, Mapping):
        raise UnfinishedCallError(
            f"{call.action} had begun when the episode was cut off, and may be done; find out, and resume with "
            f"on_unfinished='retry' if it is not, else with its result, on_unfinished={{{call.action!r}: RESULT}}, or "
            "with on_unfinished='assume_done' where nothing needs that",
            call.action,
        )
    return on_unfinished


def _lost(call: CallBegunEvent | None, on_unfinished: OnUnfinished) -> Mapping[str, Any]:
    """The outcome of the call that was under way, where it is done."""
    if call is None or not isinstance(on_unfinished, Mapping) or call.action not in on_unfinished:
        return LOST
    try:
        return {**LOST, "result": as_json(on_unfinished[call.action])[1], "failure": None}
    except ToolFailedError as error:
        raise ConfigError(f"on_unfinished has a result of {call.action} that cannot be kept: {error}") from error


class _ResumedLM(ContinuedLM):
    """Leaves the record when the model is asked."""

    def __init__(self, model: LanguageModel, resumption: Resumption) -> None:
        super().__init__(model, resumption.record.events[: resumption.record.kept])
        self._resumption = resumption

    def ended(self) -> None:
        self._resumption.go_on()

    def _next(self, request: Request) -> GeneratedEvent:
        try:
            return super()._next(request)
        except NotRecordedError as error:
            raise ResumeError(
                f"{self._resumption.record.path}: {error}: the task, the tools, the model or the version of tape "
                "are not those of the trace; nothing was called"
            ) from error
