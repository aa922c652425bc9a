"""The interfaces of decomposers, readers and verifiers: a model, or a labelled script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from envs.hotpotqa.actions import Find
from envs.hotpotqa.state import Certified
from tape.methods.sdp.operators import How
from tape.protocols.search import Passage

NOT_FOUND = "not mentioned"
"""The finding of a reader that finds nothing; the negation filter rejects it."""


@dataclass(frozen=True)
class HopTask:
    """A reader's view of the hop that it has to find: typed state alone.

    Attributes:
        question: The question.
        hop: The number of the hop, from 1.
        sub_question: Its sub-question, references replaced by certified bridges.
        findings: The certified hops before it.
        paragraphs: The paragraphs at hand, those that share most with the sub-question first.
        queries: Queries tried at this hop.
        failures: Why the attempts at this hop were rejected.
        claimed: What was claimed and not certified.
    """

    question: str
    hop: int
    sub_question: str
    findings: tuple[Certified, ...]
    paragraphs: tuple[Passage, ...]
    queries: tuple[str, ...]
    failures: tuple[str, ...]
    claimed: str = ""


class Decomposer(Protocol):
    """PROPOSE and REPLAN of the hops."""

    async def decompose(
        self, question: str, certified: Sequence[Certified], count: int, failures: Sequence[tuple[str, str]]
    ) -> tuple[str, ...]:
        """So many sub-questions for what is left of a question; ``#k`` is what the k-th hop finds.

        Args:
            question: The question.
            certified: The hops that stay.
            count: How many sub-questions are left.
            failures: Sub-questions that failed, with the reasons.

        Raises:
            InvalidOutputError: The answer cannot be read.
        """


class Reader(Protocol):
    """REALIZE."""

    async def query(self, task: HopTask) -> str | None:
        """A query for a hop that was not tried; None where there is none."""

    async def guess(self, task: HopTask) -> str | None:
        """A guess at the answer of a hop, to be searched for; None where there is none."""

    async def find(self, task: HopTask) -> Find:
        """The finding of the paragraphs for the sub-question."""

    async def answer(self, question: str, findings: Sequence[Certified], rejected: Sequence[str]) -> str | None:
        """The answer that follows from the certified findings; None where every one was rejected."""


class HopVerifier(Protocol):
    """The judge of VALIDATE."""

    @property
    def how(self) -> How:
        """How findings are judged."""

    @property
    def answers_by(self) -> How:
        """How answers are judged; a rule about names is a filter, since it ignores the question."""

    @property
    def label(self) -> str:
        """The verifier's name, for the evidence."""

    async def supports(self, sub_question: str, finding: str, passage: Passage) -> bool:
        """Whether a paragraph states the finding, and the finding answers the sub-question."""

    async def consistent(self, question: str, findings: Sequence[Certified], answer: str) -> bool:
        """Whether an answer agrees with the certified chain."""
