"""The roles of a search agent: their requests and the readers of their answers.

The roles work on transcripts and on beliefs (:class:`tape.methods.cgdp.view.View`). Readers raise
:class:`tape.errors.InvalidOutputError` if a text is unreadable. Requests mark retrieved text as data, and readers take
from it no decision but the requested one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from tape.lm.base import Request
from tape.methods.cgdp.view import View
from tape.protocols.search import Passage, SearchTask

MoveKind = Literal["search", "answer", "note"]


@dataclass(frozen=True)
class NextMove:
    """The next move: search for ``text``, write ``text`` into the memory, or answer (``text`` is empty)."""

    kind: MoveKind
    text: str = ""
    thought: str = ""


@dataclass(frozen=True)
class Finding:
    """A finding of the model in one passage.

    Attributes:
        source: The id of the passage.
        quote: The claimed verbatim quote.
        text: The finding in the model's words; empty: the quote itself.
    """

    source: str
    quote: str
    text: str = ""


@dataclass(frozen=True)
class Extracted:
    """What the model extracted from an observation.

    Attributes:
        findings: New facts.
        resolved: Positions, from 0, of open questions of the belief that are answered now.
        questions: New sub-questions.
    """

    findings: tuple[Finding, ...] = ()
    resolved: tuple[int, ...] = ()
    questions: tuple[str, ...] = ()


class SearchFormat(Protocol):
    """Builds the request of every role and reads the answers, for one family of models."""

    @property
    def version(self) -> str:
        """Changes whenever a prompt does."""

    @property
    def judges(self) -> bool:
        """Whether the models of these prompts can be asked if a text answers a question."""

    def require_readable(self, task: SearchTask) -> None:
        """Refuse a corpus that the models of these prompts cannot read.

        Raises:
            ModelError: They cannot: ``unsupported``.
        """

    def query_request(self, view: View, moves: Sequence[MoveKind]) -> Request:
        """Ask for the next move among the allowed ones; with ``view.target``, only for that open question."""

    def read_query(self, view: View, text: str) -> NextMove:
        """Read the move."""

    def think_request(self, view: View) -> Request:
        """Ask for the next sentence of the chain of thought (IRCoT)."""

    def read_think(self, view: View, text: str) -> tuple[str, bool]:
        """Read the sentence, and whether the answer is found."""

    def extract_request(self, view: View, passages: Sequence[Passage]) -> Request:
        """Ask what is new in retrieved passages, given ``view.belief`` and in its form."""

    def read_extract(self, view: View, passages: Sequence[Passage], text: str) -> Extracted:
        """Read the findings; the caller checks the quotes."""

    def curate_request(self, view: View) -> Request:
        """Ask for a ranking of the items of ``view.belief``: its facts, then its questions, numbered from 1."""

    def read_curate(self, view: View, text: str) -> tuple[int, ...]:
        """Read positions of items, from 0, the most important first; items left out rank last."""

    def answer_request(self, view: View) -> Request:
        """Ask for the answer, or :data:`tape.protocols.search.UNANSWERABLE`."""

    def read_answer(self, view: View, text: str) -> str:
        """Read the answer."""
