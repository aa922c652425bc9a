"""What a role of a search agent is shown: the question and the memory of the search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tape.protocols.search import Passage

Form = Literal["structured", "freeform"]
Judged = Literal["deterministic", "llm", "assumed"]


@dataclass(frozen=True)
class Fact:
    """A proposition that was found in a source (CGDP section 5.1).

    Attributes:
        text: The proposition, as it is shown to the model.
        source: The id of the passage.
        subject: The title of the passage.
        quote: Verbatim from the passage.
        judged: ``deterministic`` if the text is the quote itself, ``llm`` if it is in the model's own words.
    """

    text: str
    source: str
    subject: str
    quote: str
    judged: Judged


@dataclass(frozen=True)
class Belief:
    """The belief state b: facts, and predicates that are still open.

    Attributes:
        form: Its form in prompts: an object with fields, or notes.
        facts: The facts, oldest first.
        questions: Open predicates as sub-questions, the next one first.
        resolved: Resolved predicates.
    """

    form: Form
    facts: tuple[Fact, ...] = ()
    questions: tuple[str, ...] = ()
    resolved: tuple[str, ...] = ()

    @property
    def items(self) -> int:
        """Number of facts and open questions together, which K limits."""
        return len(self.facts) + len(self.questions)


@dataclass(frozen=True)
class SearchRound:
    """One round of a transcript.

    Attributes:
        number: Its number, from 1.
        query: The query.
        passages: The passages that fit into the prompt, best first.
        thought: What the model wrote after it.
    """

    number: int
    query: str
    passages: tuple[Passage, ...]
    thought: str = ""


@dataclass(frozen=True)
class View:
    """What a role is shown.

    Attributes:
        question: The task's question.
        rounds: The transcript as far as it is kept: all that fits (baseline), or the newest round without its query
            and thought (lobotomized); empty where there is a belief.
        belief: The belief in its place.
        notes: The model's own notes (only MemGPT).
        target: The next open predicate, if the agent chooses it (only CGDP).
    """

    question: str
    rounds: tuple[SearchRound, ...] = ()
    belief: Belief | None = None
    notes: tuple[str, ...] = ()
    target: str = ""

    def texts(self) -> list[str]:
        """The findings that are shown: facts, notes, passages and thoughts."""
        facts = [] if self.belief is None else [f"{fact.subject}: {fact.text}" for fact in self.belief.facts]
        passages = [f"{passage.title}: {passage.text}" for round_ in self.rounds for passage in round_.passages]
        return [*facts, *self.notes, *passages, *(round_.thought for round_ in self.rounds if round_.thought)]
