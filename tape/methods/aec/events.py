"""Events of AEC in the trace."""

from __future__ import annotations

from typing import ClassVar

from tape.trace import DescribedEvent, register_event


@register_event
class PredictedEvent(DescribedEvent):
    """A prediction of an unknown predicate; ``simulated``: its value, if hypotheses are filtered by it."""

    type: ClassVar[str] = "predicted"
    predicate: str
    mu: float
    sigma: float
    simulated: bool | None

    def description(self) -> str:
        """One line."""
        what = "" if self.simulated is None else f": believed {word(self.simulated)}"
        return f"  predicts {self.predicate}: {self.mu:.2f} (sigma {self.sigma:.2f}){what}"


@register_event
class JudgedEvent(DescribedEvent):
    """The value of a predicted predicate was revealed.

    Attributes:
        step: Environment steps taken.
        predicate: Its name.
        args: Its arguments.
        mu: The probability that was predicted.
        value: The value that was observed or entailed.
    """

    type: ClassVar[str] = "judged"
    step: int
    predicate: str
    args: list[str]
    mu: float
    value: bool

    def description(self) -> str:
        """One line."""
        predicate = f"{self.predicate}({', '.join(self.args)})"
        return f"  revealed: {predicate} is {word(self.value)}, predicted {self.mu:.2f}"


@register_event
class QueriedEvent(DescribedEvent):
    """A query was run; the value is None if the query did not reveal it."""

    type: ClassVar[str] = "queried"
    step: int
    predicate: str
    actions: list[str]
    value: bool | None
    revealed: list[str]

    def description(self) -> str:
        """One line."""
        return f"  QUERIED {self.predicate} by {'; '.join(self.actions) or '(nothing)'}: {word(self.value)}"


@register_event
class VerifiedEvent(DescribedEvent):
    """A hypothesis was accepted, or refused with witnesses; ``reason``: the missing query, if that was the cause."""

    type: ClassVar[str] = "verified"
    actions: list[str]
    accepted: bool
    witnesses: list[str]
    reason: str

    def description(self) -> str:
        """The verdict, and a line for each witness."""
        verdict = "accepted" if self.accepted else f"REFUSED{self.reason and f' ({self.reason})'}"
        return "\n".join([f"  {verdict}: {'; '.join(self.actions)}", *(f"    {text}" for text in self.witnesses)])


@register_event
class CommittedEvent(DescribedEvent):
    """A path was committed to; ``evidence`` for every precondition that it does not establish itself."""

    type: ClassVar[str] = "committed"
    step: int
    actions: list[str]
    certified: bool
    evidence: dict[str, str]
    grounded_later: list[str]

    def description(self) -> str:
        """The commitment, and a line for each fact behind it."""
        verb = "COMMITS" if self.certified else "COMMITS on beliefs"
        lines = (f"    {predicate}: {evidence}" for predicate, evidence in self.evidence.items())
        return "\n".join([f"  {verb} to {'; '.join(self.actions)}", *lines])


@register_event
class RefusedEvent(DescribedEvent):
    """No hypothesis of a round could be committed to."""

    type: ClassVar[str] = "refused"
    step: int
    reason: str

    def description(self) -> str:
        """One line."""
        return f"  nothing can be committed to: {self.reason}"


@register_event
class RuleDisabledEvent(DescribedEvent):
    """A rule of inference was contradicted too often and is disabled for this episode."""

    type: ClassVar[str] = "rule_disabled"
    rule: str
    counterexamples: list[str]

    def description(self) -> str:
        """The rule, and a line for each counterexample."""
        return "\n".join([f"  RULE DISABLED: {self.rule}", *(f"    {text}" for text in self.counterexamples)])


def word(value: bool | None) -> str:
    """A value in words."""
    return {True: "true", False: "false", None: "unknown"}[value]
