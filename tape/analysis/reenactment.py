"""The recorded actions of an episode, played again in a fresh environment, and all that was recorded held against it.

It takes an environment that is deterministic and reaches out to nothing (its plugin says ``replayable``): then what it
shows, charges and reports follows from the actions, and a record that says otherwise is no record of it. What a model
has written, and what a planner made of it, no environment can confirm; where a model has read the result of an action,
its recorded answer is taken, and that it was shown that result is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tape.agents.final_answer import ROLE as ANSWER
from tape.analysis.revalidation import Finding
from tape.analysis.searches import Searches
from tape.analysis.verdicts import Difference, Verdicts
from tape.budget import Budget, Resources
from tape.cgdp.events import BeliefEvent, RetrievedEvent, StoppedEvent
from tape.engine.episode import UNJUDGED
from tape.engine.projector import ROLE as READING
from tape.engine.result import json_or_text
from tape.errors import InvalidOutputError
from tape.lm.base import Message
from tape.protocols import (
    Action,
    Answers,
    AsyncEnvironment,
    Concludes,
    DeclaresCosts,
    Ends,
    Environment,
    Measures,
    Observation,
    State,
    TakesAnswers,
    TakesProjections,
    TakesRefusals,
    TellsTask,
)
from tape.protocols.prompt_format import ProjectingFormat
from tape.sdp.events import ChainEvent, ValidatedEvent
from tape.seeds import derive
from tape.trace import (
    ActedEvent,
    AnsweredEvent,
    ApprovalEvent,
    DifferedEvent,
    Event,
    FinishedEvent,
    GeneratedEvent,
    LedgerEvent,
    MismatchEvent,
    ObservedEvent,
    StartedEvent,
)
from tape.waiting import run_sync

RULE = "replay"
MOST = 12
"""Findings of one episode: after the first wrong state most of what follows is wrong too."""


@dataclass
class Reenacted:
    """What came out.

    Attributes:
        findings: What the environment contradicts.
        actions: How many actions were played.
        verdicts: How many verdicts the environment's validator has repeated.
        unrepeated: How many it could not repeat, by why.
    """

    findings: list[Finding] = field(default_factory=list)
    actions: int = 0
    verdicts: int = 0
    unrepeated: dict[str, int] = field(default_factory=dict)


class _StopError(Exception):
    """It cannot go on: the environment does not do what was recorded."""


def reenact(env: Environment, events: Sequence[Event], seed: int, caps: Budget | None = None) -> Reenacted:
    """Play the actions of a trace again.

    Args:
        env: A fresh environment of the same task.
        events: The trace.
        seed: The episode's seed, as it was given to ``Agent.run``.
        caps: The caps it was played under, without the environment's own; None: they are not held against the trace.
    """
    again = _Again(env, derive(seed, "environment"), events)
    try:
        if caps is not None:
            again.budget(caps)
        for event in events:
            again.take(event)
            if len(again.found.findings) >= MOST:
                break
        again.end()
    except _StopError:
        pass
    except Exception as error:  # a record may hold anything, for instance a verdict before there is a state
        again.say(f"it cannot be followed any more: {type(error).__name__}: {str(error)[:200]}")
    again.found.verdicts, again.found.unrepeated = again.verdicts.repeated, dict(again.verdicts.unrepeated)
    return again.found


class _Again:
    """One episode, event by event."""

    def __init__(self, env: Environment, seed: int, events: Sequence[Event]) -> None:
        self.found = Reenacted()
        self._env, self._seed, self._events = env, seed, events
        self._attempts = 0
        self._pending: Observation | None = None
        self._state: State = None
        self._begun = self._over = self._finished = self._unread = False
        self._acted: ActedEvent | None = None
        self._reading: GeneratedEvent | None = None
        self._actions: list[str] = []
        self._ledger: dict[str, Mapping[str, Any]] = {}
        self._spent: dict[str, int] = {}
        of_models = (event for event in events if isinstance(event, LedgerEvent) and event.purpose.startswith("lm:"))
        mixed = {kind for event in of_models for kind in event.amounts}
        acted = [event.cost for event in events if isinstance(event, ActedEvent)]
        self._own = {kind for cost in acted for kind, count in cost.items() if count} - mixed
        """The kinds of resources that this environment's actions use, and no model."""
        self._seen: Observation | None = None
        self._searches = Searches(env)
        self._started = next((event for event in events if isinstance(event, StartedEvent)), None)
        config = {} if self._started is None else self._started.config
        self._merged = config.get("projector") == "lm"  # then a model says which states are one
        self.verdicts = Verdicts(env, config)

    def say(self, what: str) -> None:
        """A finding."""
        self.found.findings.append(Finding(RULE, self._attempts or None, what))

    def _same(self, what: str, recorded: Any, real: Any) -> bool:
        if recorded != real:
            self.say(f"{what} is recorded as {_short(recorded)}, the environment says {_short(real)}")
        return bool(recorded == real)

    def _all_same(self, differences: Iterable[Difference]) -> None:
        for what, recorded, real in differences:
            self._same(what, recorded, real)

    def _done(self) -> str:
        return self._actions[-1] if self._actions else ""

    def _do(self, what: str, call: Callable[[], Any]) -> Any:
        """Let the environment do something.

        Raises:
            _StopError: It cannot.
        """
        try:
            return call()
        except Exception as error:
            self.say(f"{what}: the environment does not do that ({type(error).__name__}: {str(error)[:200]})")
            raise _StopError from error

    # --- beginning --------------------------------------------------------------------------

    def budget(self, caps: Budget) -> None:
        """Hold the caps against those that the run was played under."""
        own = getattr(self._env, "budget", None)
        if self._started is not None:
            self._same("the budget", self._started.budget, dict(caps | own if isinstance(own, Budget) else caps))

    def take(self, event: Event) -> None:
        """The next event.

        Raises:
            _StopError: The environment cannot follow.
        """
        if self._finished:
            self.say(f"an event of type {event.type} after the end")
        match event:
            case StartedEvent():
                self._searches.started(event, self._state)
                domain = self._env.domain
                task = str(domain.task_text()) if isinstance(domain, TellsTask) else ""
                if event.task:  # older traces have none
                    self._same("the task", event.task, task)
            case ObservedEvent():
                self._observed(event)
            case LedgerEvent():
                self._ledgered(event)
            case ActedEvent():
                self._act(event)
            case ApprovalEvent() if event.decision == "refused" and event.reason != "refused before":
                if isinstance(self._env, TakesRefusals):
                    env, action = self._env, event.action
                    self._pending = self._do(f"refusing {action!r}", lambda: env.refuse(action))
            case MismatchEvent() | DifferedEvent():
                if not self._merged:
                    self._same("the state that was observed", event.observed, self._key(self._state))
                self._same("the step of a mismatch", event.step, len(self._actions))
            case ChainEvent():
                self._same("the step of a chain", event.step, len(self._actions))
                self.verdicts.chain(event)
            case ValidatedEvent():
                self._validated(event)
            case RetrievedEvent():
                self._all_same(self._searches.retrieved(event, self._seen, self._done()))
            case BeliefEvent():
                self._searches.believed(event)
            case StoppedEvent():
                self._all_same(self._searches.stopped(event, self._done(), right=self._success()))
            case AnsweredEvent():
                self._answered(event)
            case FinishedEvent():
                self._finish(event)
            case GeneratedEvent() if event.role == READING:
                self._reading = event
            case _:
                self.verdicts.hear(event)

    def _key(self, state: State) -> str:
        return str(self._env.domain.key(state))

    # --- steps ------------------------------------------------------------------------------

    def _observed(self, event: ObservedEvent) -> None:
        if not self._begun:
            self._pending, self._begun = self._do("reset", lambda: self._env.reset(self._seed)), True
        if self._pending is None:
            self.say(f"an observation at step {event.step} that no action led to")
            return
        observation, self._pending = self._pending, None
        domain = self._env.domain
        projected = self._do("the state", lambda: domain.project(observation))
        before, self._state = self._state, self._do("the state as it was read", lambda: self._read(projected))
        self.verdicts.observed(before, observation, self._state)
        self._same("the step of an observation", event.step, len(self._actions))
        self._same("the picture", event.picture, domain.render(self._state))
        self._seen = observation
        kept = self._searches.kept if self._actions and not self._over else (lambda _: 0)
        spent = {kind: self._spent.get(kind, 0) + kept(kind) for kind in self._own}
        left = {kind: cap - spent[kind] for kind, cap in self._caps().items() if kind in self._own}
        self._same("what is left", {kind: event.remaining.get(kind) for kind in left}, left)
        if not self._same("the state", event.key, self._key(self._state)):
            raise _StopError  # from here on nothing is as recorded

    def _read(self, state: State) -> State:
        """The state with what the model has read in it then; that it was shown this very observation is checked."""
        env, (recorded, self._reading) = self._env, (self._reading, None)
        if not isinstance(env, TakesProjections):
            return state
        form = env.prompt_format(_format([e for e in self._events if isinstance(e, GeneratedEvent)]))
        request = form.project_request(state) if isinstance(form, ProjectingFormat) else None
        self._unread = request is not None and (recorded is None or not recorded.texts)
        if recorded is None or self._unread:
            return state
        said = () if request is None else request.prompt
        asked = (Message("", said),) if isinstance(said, str) else said
        self._same(
            "what was read", [(e.role, e.content) for e in recorded.prompt], [(m.role, m.content) for m in asked]
        )
        if request is None:
            raise _StopError
        assert isinstance(form, ProjectingFormat)
        try:
            read = form.read_project(state, recorded.texts[0])
        except InvalidOutputError:
            read = form.unread(state)
        env.projected(read)
        return read

    def _caps(self) -> Mapping[str, int]:
        return {} if self._started is None else self._started.budget

    def _ledgered(self, event: LedgerEvent) -> None:
        if not event.purpose.startswith("step:"):
            self.verdicts.hear(event)
        elif event.what == "reserve":
            action = event.purpose.removeprefix("step:")
            worst = self._do(f"the cost of {action!r}", lambda: dict(self._env.domain.cost(self._state, action)))
            self._same(f"the worst case of {action!r}", event.amounts, worst)
        elif event.what == "settle":
            self._ledger[event.purpose] = event.amounts

    def _act(self, event: ActedEvent) -> None:
        if self._over:
            self.say(f"{event.action!r} was done after the end of the task")
        if not self._begun or self._pending is not None:
            self.say(f"{event.action!r} was done with nothing observed before it")
            raise _StopError
        if self._unread:
            self.say(f"{event.action!r} was done before the result of the last action was read")
            raise _StopError
        self._pending, cost = self._do(repr(event.action), lambda: _step(self._env, event.action))
        self.found.actions += 1
        self._actions.append(event.action)
        self._acted = event
        self._same("the number of a step", event.step, len(self._actions))
        self._same(f"the cost of {event.action!r}", event.cost, dict(cost))
        self._same(f"what {event.action!r} was booked with", self._ledger.pop(f"step:{event.action}", {}), dict(cost))
        for kind, used in cost.items():
            self._spent[kind] = self._spent.get(kind, 0) + (used or 0)
        self._over = self._success() or (isinstance(self._env, Ends) and self._env.ended())
        self.verdicts.acted(event)

    def _success(self) -> bool:
        return bool(self._do("the goal check", self._env.success))

    def _validated(self, event: ValidatedEvent) -> None:
        ended = self._over and not self._success()
        done = self._over and not ended and event.action is not None
        self._same("the step of a verdict", event.step, len(self._actions))
        self._same("whether the task is done", event.completed, done)
        acted = self._acted if event.action is not None else None
        if event.action is not None and acted is None:
            self.say(f"a verdict on {event.action!r}, which was not done")
            return
        if acted is not None:
            self._same("the action of a verdict", event.action, acted.action)
            self._same("the words of a verdict", event.text, acted.text)
        self._acted = None
        self._all_same(self.verdicts.differences(event, self._state, ended=ended))
        self._attempts += 1

    # --- the end ----------------------------------------------------------------------------

    def _answered(self, event: AnsweredEvent) -> None:
        """Hand in the final answer, asked for as the model was: in messages, or in a plain prompt."""
        env = self._env
        if not isinstance(env, TakesAnswers):
            self.say("a final answer, which this environment does not take")
            return
        asked = [one for one in self._events if isinstance(one, GeneratedEvent) and one.role == ANSWER]
        form = _format(asked[-1:])
        self._do("asking for the final answer", lambda: env.answer_request(self._state, form))
        self._do("the final answer", lambda: env.answer(event.text))
        self._same("whether the final answer was right", event.success, self._success())

    def _finish(self, event: FinishedEvent) -> None:
        self._finished, result = True, event.result
        if self._begun and isinstance(self._env, Concludes) and result.get("end_state") not in UNJUDGED:
            self._do("concluding", self._env.conclude)
        told = result.get
        self._same("success", told("success"), self._begun and self._success())
        self._same("the actions", told("actions"), self._actions)
        self._same("the number of steps", told("steps"), len(self._actions))
        if isinstance(self._env, Measures):
            self._same(*self._searches.measured(told("measures"), self._do("measuring", self._env.measures)))
        if isinstance(self._env, Answers):
            answer = json_or_text(self._do("the answer", self._env.answered_value))
            self._same("the answer", told("answer"), answer)
        self._exhausted(str(told("end_state")))
        self._same("the caps", told("budget"), dict(self._caps()))
        used = result["used"] if isinstance(result.get("used"), Mapping) else {}
        own = {kind: self._spent.get(kind, 0) for kind in sorted(self._own)}
        self._same("what was used", {kind: used.get(kind, 0) for kind in own}, own)
        over = sorted(kind for kind, count in own.items() if count > self._caps().get(kind, count))
        violations = told("budget_violations")
        listed = sorted(kind for kind in violations if kind in own) if isinstance(violations, list) else violations
        self._same("the budgets that were exceeded", listed, over)

    def _exhausted(self, end_state: str) -> None:
        """What ended for want of a resource that only actions use has not enough of it for any action."""
        kind = end_state.partition(":")[2]
        if not self._begun or kind not in self._own or kind not in self._caps():
            return
        domain = self._env.domain
        left = self._caps()[kind] - self._spent.get(kind, 0)
        actions = () if isinstance(domain, DeclaresCosts) else domain.admissible(self._state) or ()
        needed = [domain.cost(self._state, action)[kind] for action in actions]
        if needed and all(count is not None and count <= left for count in needed):
            self.say(f"it ended for want of {kind}, of which {left} were left and any action takes less")

    def end(self) -> None:
        """After the last event: nothing may be open."""
        if not self._finished:
            self.say("the end of the episode is missing")
        elif self._pending is not None:
            self.say("the last action has no observation")


def _format(asked: Sequence[GeneratedEvent]) -> str:
    """The prompt format of some requests: messages, or a plain prompt."""
    return "tools" if asked and not asked[0].prompt[0].role else "chat"


def _step(env: Environment, action: Action) -> tuple[Observation, Resources]:
    if isinstance(env, AsyncEnvironment):
        return run_sync(env.astep(action))
    return env.step(action)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 160 else f"{text[:160]} ..."
