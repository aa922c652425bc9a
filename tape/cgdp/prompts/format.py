"""The roles of a search agent: how each is asked, and how its answer is read.

The same roles are asked on transcripts and on beliefs (:class:`tape.cgdp.view.View`). Readers raise
:class:`tape.errors.InvalidOutputError` where nothing can be made of a text. Retrieved text is data: requests put it
where it is marked as such, and no reader takes a decision from it but the one that the model was asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from tape.cgdp.view import View
from tape.lm.base import Request
from tape.protocols.search import Passage

MoveKind = Literal["search", "answer", "note"]


@dataclass(frozen=True)
class Move:
    """What an agent does next: search for ``text``, write ``text`` into its memory, or answer (``text`` is empty).

    Attributes:
        kind: Which of these.
        text: The query or the note.
        thought: The words before it.
    """

    kind: MoveKind
    text: str = ""
    thought: str = ""


@dataclass(frozen=True)
class Finding:
    """What the model found in one passage.

    Attributes:
        source: The id of the passage.
        quote: What it says to be there word for word.
        text: The finding in its own words; empty: the quote itself.
    """

    source: str
    quote: str
    text: str = ""


@dataclass(frozen=True)
class Extracted:
    """What the model made of an observation.

    Attributes:
        findings: New facts.
        resolved: Positions of open questions of the belief that are answered now, from 0.
        questions: New sub-questions.
    """

    findings: tuple[Finding, ...] = ()
    resolved: tuple[int, ...] = ()
    questions: tuple[str, ...] = ()


Verdict = Literal["PRODUCTIVE", "QUERY_STALE", "EXHAUSTED"]


class SearchFormat(Protocol):
    """Builds the request of every role and reads the answers, for one family of models."""

    @property
    def version(self) -> str:
        """Changes whenever a prompt does."""

    def query_request(self, view: View, moves: Sequence[MoveKind]) -> Request:
        """Ask what to do next, of the moves that are allowed; with ``view.target`` for that open question alone."""

    def read_query(self, view: View, text: str) -> Move:
        """Read the move."""

    def think_request(self, view: View) -> Request:
        """Ask for the next sentence of the chain of thought (IRCoT)."""

    def read_think(self, view: View, text: str) -> tuple[str, bool]:
        """Read the sentence, and whether it says that the answer is found."""

    def extract_request(self, view: View, passages: Sequence[Passage]) -> Request:
        """Ask what is new in retrieved passages; ``view.belief`` says what is known and in which form to answer."""

    def read_extract(self, view: View, passages: Sequence[Passage], text: str) -> Extracted:
        """Read the findings; whether quotes are in their sources is checked by the caller."""

    def curate_request(self, view: View) -> Request:
        """Ask which items of ``view.belief`` matter most: its facts, then its questions, numbered from 1."""

    def read_curate(self, view: View, text: str) -> tuple[int, ...]:
        """Read positions of items, from 0, the most important first; items left out matter least."""

    def answer_request(self, view: View) -> Request:
        """Ask for the answer, or :data:`tape.protocols.search.UNANSWERABLE`."""

    def read_answer(self, view: View, text: str) -> str:
        """Read the answer."""

    def gate_request(self, view: View, recent: Sequence[str], style: Literal["conservative", "neutral"]) -> Request:
        """Ask whether the search is exhausted, by a :class:`tape.lm.base.Choice` of the three verdicts.

        Args:
            view: What the agent knows.
            recent: One line for each of the last rounds: the query and the titles that came back.
            style: Whether the question leans towards going on, or not.
        """

    def read_gate(self, text: str) -> Verdict:
        """Read the verdict."""
