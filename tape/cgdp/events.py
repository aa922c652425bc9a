"""What a search writes into the trace: enough to check every fact, every gate and every gap from the trace alone."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from tape.trace import ToldEvent, register_event


class Shown(BaseModel):
    """A passage as it was retrieved."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    id: str
    title: str
    text: str


class Held(BaseModel):
    """A fact of a belief; see :class:`tape.cgdp.view.Fact`."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    text: str
    source: str
    subject: str
    quote: str
    judged: str


class Declined(BaseModel):
    """A finding that did not become a fact, and why."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    source: str
    quote: str
    reason: str


@register_event
class RetrievedEvent(ToldEvent):
    """A search and what came back, best first."""

    type: ClassVar[str] = "retrieved"
    round: int
    query: str
    option: str
    thought: str
    passages: list[Shown]

    def told(self) -> str:
        """Query and titles."""
        titles = ", ".join(f"{one.title} ({one.id})" for one in self.passages) or "nothing"
        return f"round {self.round}: {self.option}: {self.query!r} -> {titles}"


@register_event
class BeliefEvent(ToldEvent):
    """The belief after an observation.

    Attributes:
        round: Of the search.
        facts: All facts now.
        questions: All open predicates now.
        resolved: Predicates that this observation resolved.
        added: Positions in ``facts`` of what is new and was kept.
        refused: Findings that were refused.
        dropped: What curation has left out.
        tokens: Of the belief in a prompt.
    """

    type: ClassVar[str] = "belief"
    round: int
    facts: list[Held]
    questions: list[str]
    resolved: list[str]
    added: list[int]
    refused: list[Declined]
    dropped: list[str]
    tokens: int

    def told(self) -> str:
        """Facts, what is open, what was refused and dropped."""
        count = "1 fact" if len(self.facts) == 1 else f"{len(self.facts)} facts"
        lines = [f"belief after round {self.round}: {count}, {self.tokens} tokens"]
        for i, fact in enumerate(self.facts):
            lines.append(f"  {'+' if i in self.added else ' '} {fact.text} [{fact.source}, {fact.judged}]")
        lines += [f"  ? {question}" for question in self.questions]
        lines += [f"  resolved: {question}" for question in self.resolved]
        lines += [f"  refused: {one.quote!r} of {one.source!r}: {one.reason}" for one in self.refused]
        lines += [f"  dropped: {text}" for text in self.dropped]
        return "\n".join(lines)


@register_event
class GateEvent(ToldEvent):
    """What the gate saw and decided after a round."""

    type: ClassVar[str] = "gate"
    round: int
    gate: str
    jaccard: float
    upr: float
    verdict: str
    fired: bool

    def told(self) -> str:
        """J, UPR and the decision."""
        said = f", {self.verdict}" if self.verdict else ""
        return f"J {self.jaccard:.2f}, UPR {self.upr:.2f}, gate {self.gate}{said}" + (": stop" if self.fired else "")


@register_event
class ContextEvent(ToldEvent):
    """What did not fit into a prompt and was left out of it."""

    type: ClassVar[str] = "context"
    role: str
    tokens: int
    dropped: list[str]

    def told(self) -> str:
        """What was left out."""
        return f"{self.role}: left out to fit {self.tokens} tokens: {', '.join(self.dropped)}"


@register_event
class StoppedEvent(ToldEvent):
    """Why the search stopped, and from what the answer was given.

    Attributes:
        round: Rounds searched.
        reason: Why.
        aligned: With ``verify="aec"``: sources of the facts that the answer may use; None elsewhere.
        answer: The answer.
        gold: Answers that count and gold sources, told once the episode is over, for gap detectors; both empty where
            the environment does not say.
        shown: What the prompt of the answer held of what was found: facts, or passages and thoughts, and notes. None in
            older traces.
    """

    type: ClassVar[str] = "search_stopped"
    round: int
    reason: str
    aligned: list[str] | None
    answer: str
    gold_answers: list[str]
    gold_sources: list[str]
    right: bool
    shown: list[str] | None = None

    def told(self) -> str:
        """The reason, the answer, and what would have been right."""
        grounds = (
            "" if self.aligned is None else f"; facts that agree in their subject: {', '.join(self.aligned) or 'none'}"
        )
        right = " or ".join(self.gold_answers[:3])
        verdict = "" if not right else " (right)" if self.right else f" (wrong; right: {right})"
        return f"stopped after round {self.round}: {self.reason}{grounds}; answer {self.answer!r}{verdict}"
