"""The verdicts of a certified trajectory, given again by the environment's own validator on a replay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from tape.engine.context import RoleContext
from tape.engine.settings import TapeConfig
from tape.lm.base import Request
from tape.protocols import Environment, Observation, State
from tape.sdp.adapter import Adapter, KnowsTruth, Tools
from tape.sdp.adapters import adapter_of
from tape.sdp.always import AlwaysPass
from tape.sdp.events import ChainEvent, CheckRecord, TargetRecord, ValidatedEvent, as_in_json
from tape.sdp.operators import Check, Outcome, Verdict
from tape.sdp.target import Chain
from tape.trace import ActedEvent, Event, GeneratedEvent, TraceWriter
from tape.waiting import run_sync

Difference = tuple[str, Any, Any]
"""What differs, as it was recorded, as it is."""


class _NotRecordedError(Exception):
    """The validator asks its model for something that it was not asked for then."""


@dataclass(frozen=True)
class _RecordedAnswers(Tools):
    """What a model has said since the last action, in the place of the model."""

    said: list[GeneratedEvent] = field(default_factory=list)

    async def ask(self, request: Request, sample: int = 0, temperature: float | None = None) -> str:
        """The recorded answer to a request of this role."""
        del sample, temperature
        while self.said:
            event = self.said.pop(0)
            if event.role == request.role and event.texts:
                return event.texts[0]
        raise _NotRecordedError(f"no answer to {request.role!r} is recorded")


class _NoModel:
    """Stands where an operator looks for the model itself."""

    def __getattr__(self, name: str) -> Any:
        raise _NotRecordedError("they ask the model by themselves")


class Verdicts:
    """Follows an episode that is played again.

    Args:
        env: The environment that is played.
        config: The agent's switches, as the trace has them.
    """

    def __init__(self, env: Environment, config: Mapping[str, Any]) -> None:
        self._env = env
        self._adapter: Adapter | None = adapter_of(env)
        given = config.get("sdp")
        self._sdp: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
        self._tail: list[TargetRecord] = []
        self._last: tuple[State, Observation] | None = None
        self._by: str | None = None
        self._said: list[GeneratedEvent] = []
        self.repeated = 0
        self.unrepeated: Counter[str] = Counter()

    def chain(self, event: ChainEvent) -> None:
        """A new tail."""
        self._tail = [*event.targets]

    def hear(self, event: Event) -> None:
        """What a model has said."""
        if isinstance(event, GeneratedEvent):
            self._said.append(event)

    def acted(self, event: ActedEvent) -> None:
        """An action was played; what the model says from here on is about its outcome."""
        self._said.clear()
        self._by = event.planned

    def observed(self, before: State, observation: Observation, after: State) -> None:
        """What it led to."""
        del after
        self._last = (before, observation)

    def differences(self, event: ValidatedEvent, state: State, *, ended: bool) -> Iterator[Difference]:
        """Everything about a recorded verdict that is otherwise.

        Args:
            event: The verdict.
            state: Where the environment is now.
            ended: The environment has ended the episode without success.
        """
        if self._adapter is None:
            return
        done, key = event.action is not None, self._env.domain.key
        before = self._last[0] if done and self._last is not None else state
        fields = (as_in_json(dict(self._adapter.fields(one))) for one in (before, state))
        yield "the nodes of a verdict", event.nodes, (key(before), key(state))
        yield from zip(("the fields before", "the fields after"), (event.before, event.after), fields, strict=True)
        planned = self._tail[0].by if self._tail else None
        if done:
            yield "the action that was planned", self._by, planned
        outcome = Outcome(before, event.action or "", self._last[1], state, event.completed) if self._last else None
        verdict = (
            self._again(event, outcome, ended=ended) if done and outcome is not None else Verdict((), event.reason)
        )
        truths = self._truths(event)
        yield "what is really true", [check.truth for check in event.checks], truths
        if verdict is not None:
            counts = verdict.counts if done else event.counts
            real = [CheckRecord.of(check, truth) for check, truth in zip(verdict.checks, truths, strict=False)]
            yield "what a verdict rests on", event.checks, [*real, *verdict.checks[len(real) :]]
            yield "what a verdict says", (event.k, event.reason, event.counts), (verdict.k, verdict.reason, counts)
            self.repeated += 1
        self._tail = self._tail[max(0, event.k) :]

    def _truths(self, event: ValidatedEvent) -> list[bool | None]:
        if not isinstance(self._env, KnowsTruth):
            return [None] * len(event.checks)
        return [self._env.truth(record.target()) for record in self._tail[: len(event.checks)]]

    def _again(self, event: ValidatedEvent, outcome: Outcome, *, ended: bool) -> Verdict | None:
        """The validator's verdict; None where it cannot be had."""
        assert self._adapter is not None
        if ended:
            return Verdict((), event.reason, counts=False)
        if event.completed:
            sure = Check(True, "completion", "the environment reports the task as done")
            return Verdict(tuple(sure for _ in self._tail))
        tail: Chain = tuple(record.target() for record in self._tail)
        roles = RoleContext(cast(Any, _NoModel()), cast(Any, _NoModel()), self._env.domain, TraceWriter("again"))
        answers = _RecordedAnswers(roles, TapeConfig(), lambda *_: 0, [*self._said])
        try:
            always = self._sdp.get("validation") == "always"
            validator = AlwaysPass(self._adapter) if always else self._adapter.validator(answers)
            verdict = run_sync(validator.validate(tail, outcome))
        except Exception as error:  # whatever an environment's validator needs that is not there
            known = isinstance(error, _NotRecordedError)
            self.unrepeated[str(error) if known else f"{type(error).__name__}: {str(error)[:100]}"] += 1
            return None
        if verdict.k > 1 and not self._sdp.get("cascade", True):
            return Verdict(verdict.checks[:1])
        return verdict
