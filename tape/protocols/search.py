"""The interface of environments for search agents (:mod:`tape.methods.cgdp`): passages, search options, a question."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from tape.budget import Resources
from tape.protocols.parts import Part
from tape.protocols.types import Action

UNANSWERABLE = "UNANSWERABLE"
"""The answer that the corpus does not contain one."""

LONGEST_TEXT = 2000
"""Most characters of a question, a query or an answer."""


def is_abstention(text: str) -> bool:
    """Whether an answer abstains; case, articles and punctuation are ignored."""
    plain = re.sub(r"[^\w\s]|_", "", text.lower())
    return re.sub(r"\b(?:a|an|the)\b", " ", plain).split() == [UNANSWERABLE.lower()]


@dataclass(frozen=True)
class Passage:
    """One short text of a corpus.

    Attributes:
        id: Unique within its corpus.
        title: The subject of its statements; the speaker of a turn of a dialogue, the name defined by source code.
        text: Its sentences.
    """

    id: str
    title: str
    text: str


@dataclass(frozen=True)
class SearchOption:
    """One way to search.

    Attributes:
        retriever: Its name, for instance ``bm25``.
        depth: k, the most passages that come back.
        success: How often the searched fact is among them, in [0, 1]; calibrated on development questions.
        cost: The declared worst case of one search, its step included.
    """

    retriever: str
    depth: int
    success: float
    cost: Resources = field(default_factory=lambda: Resources({"steps": 1}))

    @property
    def name(self) -> str:
        """For instance ``bm25-5``."""
        return f"{self.retriever}-{self.depth}"


class SearchTask(Part):
    """A question that is answered by searching a corpus.

    After a search ``Observation.data`` is a tuple of :class:`Passage`, best first, perhaps empty. A query may be
    repeated.

    Attributes:
        question: The question.
        noun: The unit of the corpus, for prompts: ``passage``, ``turn of a conversation``, ``piece of code``.
        sub_questions: Gold sub-questions, in order, if the task reveals them (labelled so).
        hops: The usual number of predicates of such a question, from 1; calibrated on development questions.
    """

    question: str
    noun: str
    sub_questions: tuple[str, ...]
    hops: int

    @abstractmethod
    def options(self) -> Sequence[SearchOption]:
        """The ways to search, the default first."""

    @abstractmethod
    def search(self, query: str, option: SearchOption) -> Action:
        """The action that searches."""

    @abstractmethod
    def answer(self, text: str) -> Action:
        """The action that answers and ends the episode; :data:`UNANSWERABLE` abstains."""

    @abstractmethod
    def subjects(self) -> Collection[str]:
        """The titles in the corpus: the possible subjects of its statements."""

    @abstractmethod
    def most(self, depth: int, size: Callable[[Passage], int]) -> int:
        """The largest total size of ``depth`` passages of the corpus: the worst case of a search result.

        Args:
            depth: The number of passages.
            size: The size of one, for instance in tokens.
        """

    @abstractmethod
    def typical(self, depth: int, size: Callable[[Passage], int]) -> int:
        """The mean total size of ``depth`` passages of the corpus: the expected size of a search result."""
