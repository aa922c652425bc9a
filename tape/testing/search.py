"""The conformance suite of environments for search agents (:class:`tape.protocols.search.SearchTask`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tape.errors import InvalidOutputError
from tape.lm.base import Request
from tape.methods.cgdp.prompts import Extracted, MoveKind, NextMove, SearchFormat
from tape.methods.cgdp.view import Belief, Fact, SearchRound, View
from tape.protocols import Action, Environment, State, Task
from tape.protocols.search import UNANSWERABLE, Passage, SearchTask
from tape.testing.environments import SEED, EnvironmentConformance
from tape.testing.garbage import GARBAGE

MOVES: tuple[MoveKind, ...] = ("search", "answer", "note")


class SearchConformance(EnvironmentConformance):
    """The suite of environments, with the roles of search agents instead of the planner's.

    Passages are found by the question itself; override :meth:`actions` if that finds nothing.

    Examples:
        >>> from tape.plugins import load
        >>> from tape.testing import SearchConformance
        >>> class TestMusique(SearchConformance):
        ...     plugin = load("tape.environments", "musique_search")
        ...     arguments = ("--questions", "dev")
        >>> TestMusique().test_the_plugin_is_whole()  # pytest calls this and all the others
    """

    prompt_formats: Sequence[str] = ("chat", "search")

    def actions(self, environment: Environment, state: State) -> Sequence[Action]:
        """The question as a query by every option, and an answer."""
        del state
        domain = searched(environment)
        return [*(domain.search(domain.question, option) for option in domain.options()), domain.answer("nobody")]

    def test_options_are_valid(self, some: list[Task]) -> None:
        """Names are unique, depths positive, shares in [0, 1]; the question and the noun are texts."""
        for task in some:
            domain = searched(self.plugin.make(task))
            options = domain.options()
            assert options
            assert len({option.name for option in options}) == len(options)
            assert all(option.depth >= 1 and 0 <= option.success <= 1 for option in options)
            assert domain.question.strip()
            assert domain.noun.strip()
            assert all(question.strip() for question in domain.sub_questions)
            assert domain.hops >= 1

    def test_a_search_returns_at_most_its_depth_and_the_same_again(self, some: list[Task]) -> None:
        """And at most the size declared by ``most``; a query may be repeated."""
        for task in some:
            environment = self.plugin.make(task)
            domain = searched(environment)
            environment.reset(SEED)
            for option in domain.options():
                action = domain.search(domain.question, option)
                first, _ = environment.step(action)
                again, _ = environment.step(action)
                passages = first.data
                assert isinstance(passages, tuple)
                assert all(isinstance(passage, Passage) for passage in passages)
                assert again.data == passages
                assert len({passage.id for passage in passages}) == len(passages) <= option.depth
                assert sum(map(_length, passages)) <= domain.most(option.depth, _length)

    def test_an_answer_ends_the_episode(self, some: list[Task]) -> None:
        """:data:`UNANSWERABLE` too."""
        for task in some:
            for text in ("nobody", UNANSWERABLE):
                environment = self.plugin.make(task)
                environment.reset(SEED)
                environment.step(searched(environment).answer(text))
                assert environment.success() or environment.ended()

    def test_every_role_can_be_asked(self, some: list[Task]) -> None:
        """Each request can be built twice, with equal results, on a transcript and on beliefs."""
        for prompts, views, passages in self._search_formats(some):
            for view in views:
                builders: list[Callable[[], Request]] = [
                    partial(prompts.query_request, view, MOVES),
                    partial(prompts.think_request, view),
                    partial(prompts.answer_request, view),
                ]
                if view.belief is not None:
                    builders += [
                        partial(prompts.extract_request, view, passages),
                        partial(prompts.curate_request, view),
                    ]
                for build in builders:
                    request, again = build(), build()
                    assert request.prompt
                    assert request.fingerprint("model") == again.fingerprint("model")

    def test_garbage_is_read_or_refused(self, some: list[Task]) -> None:
        """Readers return their type or raise `InvalidOutputError`, for every text."""
        for prompts, views, passages in self._search_formats(some):
            for view in views:
                readers: list[tuple[Callable[[str], Any], Callable[[Any], bool]]] = [
                    (partial(prompts.read_query, view), lambda outcome: isinstance(outcome, NextMove)),
                    (
                        partial(prompts.read_think, view),
                        lambda outcome: isinstance(outcome[0], str) and type(outcome[1]) is bool,
                    ),
                    (partial(prompts.read_answer, view), lambda outcome: isinstance(outcome, str)),
                ]
                if view.belief is not None:
                    readers += [
                        (partial(prompts.read_extract, view, passages), lambda outcome: isinstance(outcome, Extracted)),
                        (partial(prompts.read_curate, view), _are_positions),
                    ]
                for text in GARBAGE:
                    for read, is_right in readers:
                        try:
                            result = read(text)
                        except InvalidOutputError as error:
                            str(error).encode()  # it is written to traces
                        else:
                            assert is_right(result), (read, text, result)

    def _search_formats(self, tasks: Sequence[Task]) -> list[tuple[SearchFormat, list[View], tuple[Passage, ...]]]:
        """Every prompt format, with views of a search and the passages it found."""
        pairs = []
        for name in self.prompt_formats:
            environment = self.plugin.make(tasks[0])
            domain = searched(environment)
            environment.reset(SEED)
            observation, _ = environment.step(domain.search(domain.question, domain.options()[0]))
            passages: tuple[Passage, ...] = observation.data
            views = _views(domain.question, passages)
            pairs.append((_as_search_format(environment.prompt_format(name)), views, passages))
        return pairs


def searched(environment: Environment) -> SearchTask:
    """The domain of a search environment."""
    assert environment.domain.search_task is not None
    return environment.domain.search_task


def _as_search_format(prompts: Any) -> SearchFormat:
    assert prompts.version
    return prompts  # type: ignore[no-any-return]


def _views(question: str, passages: tuple[Passage, ...]) -> list[View]:
    facts = tuple(
        Fact(passage.text, passage.id, passage.title, passage.text, "deterministic") for passage in passages[:1]
    )
    return [
        View(question),
        View(question, rounds=(SearchRound(1, question, passages[:2], "a thought"),), notes=("a note",)),
        View(question, belief=Belief("structured", facts, ("an open question?",), ("a resolved one?",))),
        View(question, belief=Belief("freeform", facts, ("an open question?",)), target="an open question?"),
    ]


def _are_positions(value: Any) -> bool:
    return isinstance(value, tuple) and all(type(position) is int for position in value)


def _length(passage: Passage) -> int:
    return len(passage.text)
