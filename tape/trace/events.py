"""The types of events. Other packages add their own with :func:`register_event`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from tape.budget import in_units
from tape.errors import TraceError
from tape.plugins import METHODS, load, names
from tape.trace.shapes import Config, Count, DescribedEvent, Event, Explanation, Graph, Problem, Result

SEARCH_SOLVER = "search solver"
"""The selector of searches, which plans with what its calls are expected to take and reserves the worst of each."""


class StartedEvent(Event):
    """The episode begins.

    Attributes:
        config: The agent's name, its model and its switches.
        budget: The caps.
        task: The task in words, where the domain has words for it.
        seed: As it was given.
        environment: What of the environment is not in the task (:meth:`tape.protocols.Environment.made_with`).
        parent: What was left of an enclosing ledger.
        run: The run's own name, in files only where what it does for good has keys.
        caller: The call of another agent that it is made for: its run and number; in files only where there is one.
    """

    type: ClassVar[str] = "started"
    config: Config
    budget: dict[str, Count]
    task: str = ""
    seed: int
    environment: dict[str, Any] = Field(default_factory=dict)
    parent: dict[str, Count] = Field(default_factory=dict)
    run: str = ""
    caller: str = ""

    @model_serializer(mode="wrap")
    def _without_rare_fields(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        return {name: value for name, value in written.items() if value or name not in ("run", "caller")}


class ObservedEvent(Event):
    """An observation and the abstract state it projects to."""

    type: ClassVar[str] = "observed"
    step: int
    key: str
    picture: str
    remaining: dict[str, Count]


class PlansSampledEvent(Event):
    """The proposer's samples."""

    type: ClassVar[str] = "plans_sampled"
    start: str
    plans: list[list[str]]
    valid: list[bool]

    @model_validator(mode="after")
    def _each_is_judged(self) -> PlansSampledEvent:
        if len(self.plans) != len(self.valid):
            raise ValueError(f"{len(self.plans)} plans and {len(self.valid)} verdicts on them")
        return self


class GraphFoldedEvent(Event):
    """The plan graph, annotated, in node-link form."""

    type: ClassVar[str] = "graph_folded"
    graph: Graph


class PathSelectedEvent(Event):
    """What the selector chose and the solver's report; ``note`` names what is done first, if anything is."""

    type: ClassVar[str] = "walk_selected"
    selector: str
    status: str
    partial: bool
    actions: list[str]
    nodes: list[str]
    objective: float | None
    bound: float | None
    consumption: dict[str, Count]
    problem: Problem
    seconds: float
    note: str = ""

    @property
    def expected(self) -> bool:
        """Whether ``consumption`` is expected instead of the worst case."""
        return self.selector == SEARCH_SOLVER or bool(self.problem.get("expected"))

    @property
    def reasons(self) -> str:
        """Why it was selected, in a sentence; ``EpisodeResult.why`` compares it with the best others."""
        budget = self.problem.get("budget") or {}
        needs = [
            f"{in_units(kind, n)} of {in_units(kind, budget.get(kind, n))}" for kind, n in self.consumption.items()
        ]
        value = "" if self.objective is None else f" with the objective {self.objective:.3f}"
        taken = "expected to take" if self.expected else "which takes at most"
        path = "no path" if not self.actions else "a partial path" if self.partial else "a path"
        return f"{self.selector} ({self.status}) selected {path}{value}, {taken} {', '.join(needs) or 'nothing'}"


class ActionsSampledEvent(Event):
    """Candidates for one step, with the score of what each is predicted to lead to; None: predicted to be invalid."""

    type: ClassVar[str] = "actions_sampled"
    actions: list[str]
    scores: dict[str, float | None]
    chosen: str


class PromptPart(BaseModel):
    """One chat message of a prompt; a plain prompt is one part whose ``role`` is empty."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    role: str
    content: str


class GeneratedEvent(Event):
    """A request and the model's answer.

    Attributes:
        role: Who asked: ``plan``, ``predict``, ``score``, ``act``, ...
        prompt: What was asked.
        texts: The samples; of scored options the options; none where a hosted model did not answer.
        weights, finish: Of scored options the probability of each; how each sample ended. None elsewhere.
        logprobs: The logarithm of each sample's probability; None where one is not finite, and elsewhere.
        prompt_tokens, completion_tokens: Tokens of the prompt, and of all samples together.
        prompt_split: Of the prompt the fields of :class:`tape.lm.price.Split`, where they are reported.
        answered, writes: Who gave it, as it says; for how long the worst case covered unasked writes to a cache.
    """

    type: ClassVar[str] = "generated"
    role: str
    prompt: tuple[PromptPart, ...]
    texts: tuple[str, ...]
    weights: tuple[float, ...] | None = None
    finish: tuple[str, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    prompt_tokens: int
    completion_tokens: int
    prompt_split: tuple[Count, Count, Count, Count] | None = None
    answered: tuple[str, ...] = ()
    writes: Literal["", "5m", "1h"] = ""

    @model_serializer(mode="wrap")
    def _without_rare_fields(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        rare = ("prompt_split", "answered", "writes")  # are in files only where there is something
        return {name: value for name, value in dump(self).items() if value or name not in rare}

    @property
    def asked(self) -> str:
        """The prompt as one text."""
        parts = [f"{part.role}: {part.content}" if part.role else part.content for part in self.prompt]
        return "\n\n".join(parts)


Decision = Literal["allowed", "refused", "stopped"]


class ApprovalEvent(Event):
    """The approving function was asked about an action before it was executed.

    Attributes:
        step: Steps taken before it.
        action: The action.
        decision: What was decided.
        reason: Why it was asked: ``destructive`` or ``selected``; or why it was refused without asking.
    """

    type: ClassVar[str] = "approval"
    step: int
    action: str
    decision: Decision
    reason: str


class CallBegunEvent(Event):
    """An action on the world outside begins; it may be done, whatever becomes of the program from here on.

    Attributes:
        step: Steps taken before it.
        action: The action.
        pure: It changes nothing, so it may be done twice.
        key: Of the effect that was claimed for it; empty where none was.
    """

    type: ClassVar[str] = "call_begun"
    step: int
    action: str
    pure: bool
    key: str = ""


class CallEndedEvent(Event):
    """What came of that action, as its environment takes it again when the episode is resumed."""

    type: ClassVar[str] = "call_ended"
    step: int
    action: str
    outcome: dict[str, Any]


class ResumedEvent(DescribedEvent):
    """The episode goes on from its trace.

    Attributes:
        ended: How it had ended: its end state; empty where it was killed.
        dropped: How many events were played again, or had been the end.
        booked: What was booked for what was under way when it was cut off, at the worst case.
        budget: The caps from here on.
        seconds: Real time that was used before.
        unfinished: The action that was under way; empty where none was.
        decision: What becomes of that.
    """

    type: ClassVar[str] = "resumed"
    ended: str
    dropped: int
    booked: dict[str, Count | None]
    budget: dict[str, Count]
    seconds: float = 0.0
    unfinished: str = ""
    decision: Literal["", "retry", "assume_done"] = ""

    def description(self) -> str:
        """One line."""
        how = f"it had ended as {self.ended}" if self.ended else "it had been cut off"
        call = f"; under way was {self.unfinished} ({self.decision})" if self.unfinished else ""
        return f"resumed: {how}{call}"


def caps_of(events: Sequence[Event]) -> Mapping[str, int]:
    """The caps that held at the end of an episode; empty where its trace has no beginning."""
    capped = [event.budget for event in events if isinstance(event, StartedEvent | ResumedEvent)]
    return capped[-1] if capped else {}


class ActedEvent(Event):
    """An action was executed."""

    type: ClassVar[str] = "acted"
    step: int
    action: str
    text: str
    planned: str | None
    cost: dict[str, Count | None]


class TrialEvent(Event):
    """A trial has failed, and the environment is reset for the next one.

    Attributes:
        step: Steps of all trials so far.
        number: Of the trial that begins, from 2.
        seed: Of the reset.
        reflection: What the model has written about the failure, or the name of the rule in its place.
    """

    type: ClassVar[str] = "trial"
    step: int
    number: int
    seed: int
    reflection: str


class MismatchEvent(Event):
    """The observed state is not the predicted one."""

    type: ClassVar[str] = "mismatch"
    step: int
    predicted: str
    observed: str


class DifferedEvent(Event):
    """The observed state is not the predicted one, but nothing differs that the rest of the path rests on."""

    type: ClassVar[str] = "differed"
    step: int
    predicted: str
    observed: str


class ReplannedEvent(Event):
    """Planning starts again."""

    type: ClassVar[str] = "replanned"
    reason: str
    count: int


def refused_actions(events: Sequence[Event], at: int) -> frozenset[str]:
    """The actions that were refused when they were to be approved, up to the end of the planning round of an event."""
    end = next((i for i in range(at + 1, len(events)) if isinstance(events[i], ReplannedEvent)), len(events))
    asked = (event for event in events[:end] if isinstance(event, ApprovalEvent))
    return frozenset(event.action for event in asked if event.decision == "refused")


class MalformedEvent(Event):
    """A completion that could not be read; it was counted and survived."""

    type: ClassVar[str] = "malformed"
    role: str
    text: str


LedgerAction = Literal["reserve", "settle", "release", "refused"]


class LedgerEvent(Event):
    """Budget reserved, settled, released or refused."""

    type: ClassVar[str] = "ledger"
    what: LedgerAction
    purpose: str
    amounts: dict[str, Count | None]


class CostAboveBoundEvent(Event):
    """More was used than had been declared as the worst case."""

    type: ClassVar[str] = "broken_declaration"
    purpose: str
    kind: str
    declared: Count
    used: Count


class AnsweredEvent(Event):
    """A final answer was given when a limit had ended the episode."""

    type: ClassVar[str] = "answered"
    text: str
    success: bool


class InfeasibleEvent(DescribedEvent):
    """Planning ended for want of a path: why, in words and as ``EpisodeResult.explanation``, with proofs of it.

    Attributes:
        proofs: A ``problem`` and its ``proof`` for each plan graph of which nothing fits, as files have them.
    """

    type: ClassVar[str] = "infeasible"
    text: str
    explanation: Explanation
    proofs: tuple[dict[str, str], ...] = ()

    def description(self) -> str:
        """The words."""
        return self.text


class FinishedEvent(Event):
    """The episode's result."""

    type: ClassVar[str] = "finished"
    result: Result


_TYPES: dict[str, type[Event]] = {}


def register_event(event: type[Event]) -> type[Event]:
    """Make an event type known to :func:`read_trace`; usable as a decorator.

    Raises:
        TraceError: The type's name is empty or taken.
    """
    if not event.type or _TYPES.get(event.type, event) is not event:
        raise TraceError(f"event type {event.type!r} of {event.__name__} is empty or already taken")
    _TYPES[event.type] = event
    return event


for _event in (*Event.__subclasses__(), *DescribedEvent.__subclasses__()):
    if _event.type:
        register_event(_event)


def event_type(name: str) -> type[Event] | None:
    """The class of an event type, None if unknown; methods that are installed are asked only where it is not ours."""
    if name not in _TYPES:
        for method in names(METHODS):
            load(METHODS, method)  # its module registers its events
    return _TYPES.get(name)
