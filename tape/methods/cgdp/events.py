"""Events of a search: every fact, gate and gap can be checked from the trace alone."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from tape.trace import DescribedEvent, register_event


class ShownSource(BaseModel):
    """A passage as it was retrieved."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    id: str
    title: str
    text: str


class HeldFact(BaseModel):
    """A fact of a belief; see :class:`tape.methods.cgdp.view.Fact`."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    text: str
    source: str
    subject: str
    quote: str
    judged: str


class Declined(BaseModel):
    """A finding that did not become a fact, and the reason."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    source: str
    quote: str
    reason: str


@register_event
class RetrievedEvent(DescribedEvent):
    """A search and the passages it returned, best first."""

    type: ClassVar[str] = "retrieved"
    round: int
    query: str
    option: str
    thought: str
    passages: list[ShownSource]

    def description(self) -> str:
        """Query and titles."""
        titles = ", ".join(f"{passage.title} ({passage.id})" for passage in self.passages) or "nothing"
        return f"round {self.round}: {self.option}: {self.query!r} -> {titles}"


@register_event
class BeliefEvent(DescribedEvent):
    """The belief after an observation.

    Attributes:
        round: Number of the round.
        facts: All current facts.
        questions: All open predicates.
        resolved: Predicates that this observation resolved.
        added: Positions of the new facts in ``facts``.
        refused: Refused findings.
        dropped: Items that curation dropped.
        tokens: Tokens of the belief in a prompt.
    """

    type: ClassVar[str] = "belief"
    round: int
    facts: list[HeldFact]
    questions: list[str]
    resolved: list[str]
    added: list[int]
    refused: list[Declined]
    dropped: list[str]
    tokens: int

    def description(self) -> str:
        """Facts, open and resolved predicates, refused and dropped items."""
        count = "1 fact" if len(self.facts) == 1 else f"{len(self.facts)} facts"
        lines = [f"belief after round {self.round}: {count}, {self.tokens} tokens"]
        for i, fact in enumerate(self.facts):
            lines.append(f"  {'+' if i in self.added else ' '} {fact.text} [{fact.source}, {fact.judged}]")
        lines += [f"  ? {question}" for question in self.questions]
        lines += [f"  resolved: {question}" for question in self.resolved]
        lines += [f"  refused: {item.quote!r} of {item.source!r}: {item.reason}" for item in self.refused]
        lines += [f"  dropped: {text}" for text in self.dropped]
        return "\n".join(lines)


@register_event
class GateEvent(DescribedEvent):
    """Signals and decision of the gate after a round."""

    type: ClassVar[str] = "gate"
    round: int
    gate: str
    jaccard: float
    upr: float
    verdict: str
    fired: bool

    def description(self) -> str:
        """J, UPR and the decision."""
        verdict = f", {self.verdict}" if self.verdict else ""
        return f"J {self.jaccard:.2f}, UPR {self.upr:.2f}, gate {self.gate}{verdict}" + (": stop" if self.fired else "")


@register_event
class ContextEvent(DescribedEvent):
    """Items that did not fit into a prompt."""

    type: ClassVar[str] = "context"
    role: str
    tokens: int
    dropped: list[str]

    def description(self) -> str:
        """The items that were left out."""
        return f"{self.role}: left out to fit {self.tokens} tokens: {', '.join(self.dropped)}"


@register_event
class StoppedEvent(DescribedEvent):
    """Why the search stopped, and the basis of its answer.

    Attributes:
        round: Number of rounds.
        reason: Why it stopped.
        aligned: With ``verify="aec"``: sources of the facts that the answer may use; None elsewhere.
        answer: The answer.
        gold_answers: Accepted answers, logged after the episode for gap detectors; empty if the environment has none.
        gold_sources: Gold sources, likewise.
        right: Whether the answer was accepted.
        shown: Findings in the prompt of the answer: facts, or passages and thoughts, and notes.
    """

    type: ClassVar[str] = "search_stopped"
    round: int
    reason: str
    aligned: list[str] | None
    answer: str
    gold_answers: list[str]
    gold_sources: list[str]
    right: bool
    shown: list[str]

    def description(self) -> str:
        """The reason, the answer and the gold answers."""
        grounds = (
            "" if self.aligned is None else f"; facts that agree in their subject: {', '.join(self.aligned) or 'none'}"
        )
        right = " or ".join(self.gold_answers[:3])
        verdict = "" if not right else " (right)" if self.right else f" (wrong; right: {right})"
        return f"stopped after round {self.round}: {self.reason}{grounds}; answer {self.answer!r}{verdict}"
