"""What search agents (:mod:`tape.cgdp`) expect of an environment: passages, ways to search, a question."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from tape.budget import Resources
from tape.protocols.parts import Part
from tape.protocols.types import Action

UNANSWERABLE = "UNANSWERABLE"
"""The answer that says that the corpus holds none."""

LONGEST_TEXT = 2000
"""Most characters of a question, a query or an answer."""


def is_abstention(text: str) -> bool:
    """Whether an answer abstains: case, articles and punctuation aside, as answers are compared."""
    plain = re.sub(r"[^\w\s]|_", "", text.lower())
    return re.sub(r"\b(?:a|an|the)\b", " ", plain).split() == [UNANSWERABLE.lower()]


@dataclass(frozen=True)
class Passage:
    """One short text of a corpus.

    Attributes:
        id: Unique within its corpus.
        title: What it is about: the subject of its statements. Of a turn of a dialogue its speaker, of source code the
            name of what is defined.
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
        success: How often what is asked for is among them, in [0, 1]; calibrated on development questions.
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

    After a search ``Observation.data`` is a tuple of :class:`Passage`, best first; it is empty where nothing was found.
    A query may be repeated.

    Attributes:
        question: The question.
        noun: What the corpus is made of, for prompts: ``passage``, ``turn of a conversation``, ``piece of code``.
        sub_questions: Gold sub-questions, in order, where the task was made to give them away (labelled so).
        hops: How many predicates such a question usually takes, from 1; calibrated on development questions.
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
        """The titles that there are in the corpus: what its statements may be about."""

    @abstractmethod
    def most(self, depth: int, size: Callable[[Passage], int]) -> int:
        """The largest sum of sizes of so many passages of the corpus: the declared worst case of what a search brings.

        Args:
            depth: How many passages.
            size: The size of one, for instance in tokens.
        """

    @abstractmethod
    def typical(self, depth: int, size: Callable[[Passage], int]) -> int:
        """The mean sum of sizes of so many passages of the corpus: what a search is expected to bring."""
