"""What a role of a search agent is shown: the question, and what the agent remembers of its search."""

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
        judged: How it was judged: ``deterministic`` where the text is the quote itself, ``llm`` where the model put it
            into its own words. What is not in its source is no fact at all.
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
        form: How it is written in prompts: an object with fields, or notes.
        facts: Oldest first.
        questions: Open predicates, as sub-questions; the one to be looked at next comes first.
        resolved: Predicates that are resolved.
    """

    form: Form
    facts: tuple[Fact, ...] = ()
    questions: tuple[str, ...] = ()
    resolved: tuple[str, ...] = ()

    @property
    def items(self) -> int:
        """Facts and open questions together: what K counts."""
        return len(self.facts) + len(self.questions)


@dataclass(frozen=True)
class Round:
    """One round of a transcript.

    Attributes:
        number: From 1.
        query: What was searched for.
        passages: What came back, best first; those that did not fit into the prompt are left out.
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
        notes: What the model has written into its own memory (MemGPT alone).
        target: The open predicate that is to be looked at next, where the agent says which (CGDP alone).
    """

    question: str
    rounds: tuple[Round, ...] = ()
    belief: Belief | None = None
    notes: tuple[str, ...] = ()
    target: str = ""

    def texts(self) -> list[str]:
        """What was found, as far as it is shown: facts, notes, passages, and thoughts about them."""
        facts = [] if self.belief is None else [f"{fact.subject}: {fact.text}" for fact in self.belief.facts]
        passages = [f"{one.title}: {one.text}" for found in self.rounds for one in found.passages]
        return [*facts, *self.notes, *passages, *(one.thought for one in self.rounds if one.thought)]
