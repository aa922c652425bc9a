"""Events of SDP in the trace, from which trajectories are built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from tape.methods.sdp.operators import Check, How
from tape.methods.sdp.target import Target, predicate_of
from tape.trace import ClosingEvent, DescribedEvent, PlanningEvent, register_event


class TargetRecord(BaseModel):
    """A :class:`tape.methods.sdp.target.Target` in a trace; ``requires`` as (predicate in words, value)."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    text: str
    kind: str
    requires: list[tuple[str, bool]] = []
    fields: dict[str, str] = {}
    goal: bool = False
    node: str = ""
    by: str | None = None

    @classmethod
    def of(cls, target: Target) -> TargetRecord:
        """The record of a target."""
        return cls(
            text=target.text,
            kind=target.kind,
            requires=[(str(predicate), value) for predicate, value in target.requires],
            fields=dict(target.fields),
            goal=target.goal,
            node=target.node,
            by=target.by,
        )

    def target(self) -> Target:
        """The recorded target.

        Raises:
            ValueError: Something in ``requires`` is not a predicate.
        """
        return Target(
            self.text,
            self.kind,
            tuple((predicate_of(text), value) for text, value in self.requires),
            tuple(self.fields.items()),
            self.goal,
            self.node,
            self.by,
        )


class CheckRecord(BaseModel):
    """A :class:`tape.methods.sdp.operators.Check` in a trace.

    Attributes:
        truth: The true value, which is hidden from agents; None: unknown.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    holds: bool
    how: How
    evidence: str = ""
    facts: list[tuple[str, bool]] = []
    truth: bool | None = None

    @classmethod
    def of(cls, check: Check, truth: bool | None) -> CheckRecord:
        """The record of a check."""
        return cls(holds=check.holds, how=check.how, evidence=check.evidence, facts=list(check.facts), truth=truth)


def as_in_json(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields as in a file: tuples are lists."""
    return {name: _listed(value) for name, value in fields.items()}


def _listed(value: Any) -> Any:
    return [_listed(part) for part in value] if isinstance(value, (tuple, list)) else value


JsonFields = Annotated[
    dict[str, Any], BeforeValidator(lambda fields: as_in_json(fields) if isinstance(fields, Mapping) else fields)
]
"""The projector's fields; tuples become lists, as in a file, so that a read event equals the written one."""


@register_event
class ChainEvent(PlanningEvent):
    """A chain: proposed at the start, or a new tail.

    Attributes:
        step: Environment steps taken so far.
        certified: Predicates certified so far: the new tail comes after them.
        reason: ``proposed``, or why the tail was replaced.
        targets: The tail, the goal last; empty if there is none.
    """

    type: ClassVar[str] = "sdp_chain"
    step: int
    certified: int
    reason: str
    targets: list[TargetRecord]

    def description(self) -> str:
        """The chain in words."""
        steps = " -> ".join(target.text for target in self.targets) or "none"
        return f"chain ({self.reason}): {steps}"

    def planned(self) -> list[str]:
        """The actions of its targets."""
        return [target.by for target in self.targets if target.by is not None]


@register_event
class ValidatedEvent(DescribedEvent):
    """One attempt at the current target and its verdict.

    Attributes:
        step: Environment steps taken, this one included.
        certified: Predicates certified before it.
        failed: Failed attempts at the target before it.
        action: The action; None if none could be written.
        text: The words around it.
        k: Number of consecutive predicates that it certified.
        checks: The verdicts, in the order of the tail: the certified ones, then the first that does not hold.
        reason: Why the last one was rejected.
        counts: Whether k = 0 counts as a failed attempt.
        completed: Whether the environment reported the task as done.
        before: The projector's fields before the action.
        after: The projector's fields after it.
        nodes: Keys of the abstract states before and after it.
    """

    type: ClassVar[str] = "sdp_validated"
    step: int
    certified: int
    failed: int
    action: str | None
    text: str
    k: int
    checks: list[CheckRecord]
    reason: str
    counts: bool
    completed: bool
    before: JsonFields
    after: JsonFields
    nodes: tuple[str, str]

    def description(self) -> str:
        """The verdict in words."""
        if self.k:
            how = sorted({check.how for check in self.checks if check.holds})
            return f"certified {self.k} ({', '.join(how)})"
        return f"not certified: {self.reason}" if self.counts else f"prepared: {self.reason}"


Conclusion = Literal["goal", "environment", "replan_cap", "no_chain", "step_cap", "limit"]
"""Why the loop ended: the goal predicate was certified; an end or a fault of the environment; the cap on replans of a
target; REPLAN or PROPOSE gave no chain; the global step cap; a budget or another limit of the engine."""


class CapsRecord(BaseModel):
    """The caps of the loop; ``attempts`` is b, or b + 1 under ``strict_algorithm1``."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    attempts: int
    replans: int
    steps: int


@register_event
class ConcludedEvent(ClosingEvent):
    """How the loop ended.

    Attributes:
        why: See :data:`Conclusion`.
        certified: Predicates certified in all.
        planned: Length of the chain at the end: certified ones and tail.
        goal_certified: Whether the goal predicate was certified.
        rejected: Failed attempts in all.
        replans: Replans in all.
        caps: The caps.
        state: The projector's final fields, which equal those after the last attempt; None where they cannot be read.
    """

    type: ClassVar[str] = "sdp_concluded"
    why: Conclusion
    certified: int
    planned: int
    goal_certified: bool
    rejected: int
    replans: int
    caps: CapsRecord
    state: JsonFields | None

    def description(self) -> str:
        """The end in words."""
        return f"SDP: {self.certified} of {self.planned} predicates certified ({self.why})"
