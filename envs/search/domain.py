"""The domain of a search environment: its question, the ways to search and their costs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from envs.search.errors import SearchError
from tape.budget import Resources
from tape.protocols import Action, Observation, State
from tape.protocols.domain import Domain
from tape.protocols.search import LONGEST_TEXT, Passage, SearchOption, SearchTask
from tape.reading import short

if TYPE_CHECKING:
    from envs.search.index import Index

STEP = Resources({"steps": 1})

LONGEST = LONGEST_TEXT

_SEARCH = re.compile(r"search (\S+): (.+)", re.DOTALL)
_ANSWER = re.compile(r"answer: (.+)", re.DOTALL)


@dataclass(frozen=True)
class SearchState:
    """What an episode has come to.

    Attributes:
        found: Ids of all passages that were retrieved.
        answer: The answer; None before.
    """

    found: frozenset[str] = frozenset()
    answer: str | None = None


@dataclass(frozen=True)
class SearchObservation(Observation):
    """What a search brought: ``data`` is a tuple of passages, best first."""

    state: SearchState = field(default_factory=SearchState)


@dataclass(frozen=True)
class Search:
    """A search for a query by the option of that name."""

    option: str
    query: str


@dataclass(frozen=True)
class SearchAnswer:
    """The answer, which ends the episode."""

    text: str


class PassageSearchDomain(Domain, SearchTask):
    """A question about a corpus.

    Args:
        question: The question.
        noun: What the corpus is made of.
        sub_questions: Gold sub-questions, where the task gives them away.
        hops: How many predicates such a question usually takes.
        indexes: What can be searched, by the retriever's name.
        options: The ways to search, the default first.
    """

    deterministic = True

    def __init__(
        self,
        question: str,
        noun: str,
        sub_questions: Sequence[str],
        hops: int,
        indexes: Mapping[str, Index],
        options: Sequence[SearchOption],
    ) -> None:
        self.question, self.noun, self.sub_questions, self.hops = question, noun, tuple(sub_questions), hops
        self._corpus = next(iter(indexes.values()))
        self._options = {option.name: option for option in options}

    def options(self) -> Sequence[SearchOption]:
        """The ways to search, the default first."""
        return tuple(self._options.values())

    def option(self, name: str) -> SearchOption:
        """The option of a name.

        Raises:
            SearchError: There is none.
        """
        if name not in self._options:
            raise SearchError(f"there is no option {short(name)}; there is: {', '.join(self._options)}")
        return self._options[name]

    def search(self, query: str, option: SearchOption) -> Action:
        """The action that searches.

        Raises:
            SearchError: The query is empty or too long, or the option is not one of this domain's.
        """
        return f"search {self.option(option.name).name}: {_line(query, 'query')}"

    def answer(self, text: str) -> Action:
        """The action that answers.

        Raises:
            SearchError: The text is empty or too long.
        """
        return f"answer: {_line(text, 'answer')}"

    def subjects(self) -> frozenset[str]:
        """The titles of all passages."""
        return self._corpus.titles

    def most(self, depth: int, size: Callable[[Passage], int]) -> int:
        """The largest sum of sizes of so many passages of the corpus; see :meth:`envs.search.Index.most`."""
        return self._corpus.most(depth, size)

    def typical(self, depth: int, size: Callable[[Passage], int]) -> int:
        """The mean sum of sizes of so many passages; see :meth:`envs.search.Index.typical`."""
        return self._corpus.typical(depth, size)

    def parse(self, action: Action) -> Search | SearchAnswer:
        """Read an action.

        Raises:
            SearchError: It is none.
        """
        if match := _ANSWER.fullmatch(action):
            return SearchAnswer(_line(match[1], "answer"))
        if match := _SEARCH.fullmatch(action):
            return Search(self.option(match[1]).name, _line(match[2], "query"))
        example = self.options()[0].name
        raise SearchError(f"an action is 'search {example}: QUERY' or 'answer: TEXT', got {short(action)}")

    def task_text(self) -> str:
        """The question."""
        return self.question

    def key(self, state: State) -> str:
        """The ids of what was retrieved, and the answer; not in which order, nor by which queries."""
        state = as_state(state)
        return json.dumps([sorted(state.found), state.answer], ensure_ascii=False)

    def render(self, state: State) -> str:
        """How many passages were retrieved, and the answer."""
        state = as_state(state)
        seen = f"{len(state.found)} of {len(self._corpus.passages)} passages retrieved"
        return seen if state.answer is None else f"{seen}\nanswer: {state.answer}"

    def project(self, observation: Observation) -> SearchState:
        """The state as it was observed."""
        assert isinstance(observation, SearchObservation), f"not an observation of a search: {observation!r}"
        return observation.state

    def admissible(self, state: State) -> Sequence[Action] | None:
        """None: queries and answers are open."""
        del state
        return None

    def cost(self, state: State, action: Action) -> Resources:
        """What the option of a search declares; of anything else a step."""
        del state
        try:
            parsed = self.parse(action)
        except SearchError:
            return STEP
        return self._options[parsed.option].cost if isinstance(parsed, Search) else STEP

    def declared_costs(self) -> Mapping[str, Resources]:
        """The worst case of every option, and of answering."""
        return {**{name: option.cost for name, option in self._options.items()}, "answer": STEP}


def as_state(state: State) -> SearchState:
    """Narrow the engine's opaque state."""
    assert isinstance(state, SearchState), f"not a state of a search: {state!r}"
    return state


def _line(text: str, what: str) -> str:
    """A text in one line."""
    line = " ".join(text.split())
    if not line:
        raise SearchError(f"the {what} is empty; give some words")
    if len(line) > LONGEST:
        raise SearchError(f"the {what} has {len(line)} characters; give at most {LONGEST}")
    return line
