"""Conversations of two people, and the questions asked about them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from tape.protocols.search import Passage

Kind = Literal["single", "two", "swapped", "multi-hop", "temporal", "open-domain"]
"""One turn answers it; two turns do; none does (LoCoMo's category 5). The rest are of public files alone."""


@dataclass(frozen=True)
class DialogueHop:
    """One step to the answer of a question of our own.

    Attributes:
        turn: The id of the turn that answers it.
        quote: The sentence of that turn that answers it, verbatim.
        sub_question: What it answers; a second one names what the first one found.
        value: Its answer, verbatim from the quote.
    """

    turn: str
    quote: str
    sub_question: str
    value: str


@dataclass(frozen=True)
class DialogueQuestion:
    """A question about a conversation.

    Attributes:
        id: Unique within its conversation.
        text: As asked.
        kind: What it takes.
        answers: Every spelling of the answer that counts; empty where the conversation holds none.
        evidence: Ids of the turns that answer it. Where none does, those that it was made from: turns of the other
            speaker, who did state it.
        hops: The steps to the answer, of our own questions alone; one for each turn of evidence. Where nothing answers
            the question they are those of the question that it was made from, and answer that one.
        split: ``heldout`` where a wording of it, or of its evidence, is in no training text.
    """

    id: str
    text: str
    kind: Kind
    answers: tuple[str, ...]
    evidence: tuple[str, ...]
    hops: tuple[DialogueHop, ...] = ()
    split: Literal["trained", "heldout"] = "trained"

    @property
    def answerable(self) -> bool:
        """Whether the conversation holds the answer."""
        return self.kind != "swapped"

    @property
    def sub_questions(self) -> tuple[str, ...]:
        """Gold sub-questions; empty where nothing answers the question, and for public ones."""
        return tuple(hop.sub_question for hop in self.hops) if self.answerable else ()


@dataclass(frozen=True)
class Dialogue:
    """A conversation with its questions.

    Attributes:
        name: Unique within its set.
        speakers: The two people.
        passages: Its turns, in order: id ``D3:7`` is the seventh turn of the third session, the title is the speaker.
        questions: What is asked about it.
    """

    name: str
    speakers: tuple[str, str]
    passages: tuple[Passage, ...]
    questions: tuple[DialogueQuestion, ...]

    @cached_property
    def digest(self) -> str:
        """A fingerprint of all turns."""
        return hashlib.sha256(repr(self.passages).encode()).hexdigest()
