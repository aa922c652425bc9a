"""The conformance suite of language models."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

import pytest

from tape.budget import Budget, Ledger, Resources
from tape.errors import BudgetExceededError, ModelError
from tape.lm.accounting import AccountedLM
from tape.lm.base import (
    Completion,
    LanguageModel,
    Message,
    OneOf,
    Request,
    Usage,
    is_metered,
    most_completion_tokens,
    usual_batch,
    window_of,
    worst_case,
    worst_case_of_scoring,
)
from tape.lm.price import TokenPrice
from tape.trace import TraceWriter

ENDS = {"stop", "length", "refusal"}


class ModelConformance:
    """The suite, to inherit from.

    Attributes:
        prompt: A prompt that it can read.
        options: Texts of which it can write each in answer to it.
        room: The tokens that it is given for an answer.
        repeatable: Whether the same request has the same answer again.
        obeys: Whether its answers keep to constraints.
        scores: Whether it scores options; a model that does not says so by a `ModelError`.

    Examples:
        >>> from tape.lm.scripted import ScriptedLM
        >>> from tape.testing import ModelConformance
        >>> class TestScripted(ModelConformance):
        ...     def model(self):
        ...         return ScriptedLM(["yes"])
        >>> TestScripted().test_each_request_gets_its_samples()  # pytest calls this and all the others
    """

    prompt: str | tuple[Message, ...] = (Message("system", "You play."), Message("user", "Is it solved?"))
    options: tuple[str, ...] = ("yes", "no")
    room = 8
    repeatable = True
    obeys = True
    scores = True

    def model(self) -> LanguageModel:
        """A fresh model."""
        raise NotImplementedError

    def requests(self) -> list[Request]:
        """One answer and several, greedy and drawn, with and without a choice, and one of a single token."""
        free = Request(self.prompt, self.room, role="act")
        drawn = replace(free, n=3, temperature=1.0, seed=7)
        choices = [replace(request, constraint=OneOf(self.options)) for request in (free, drawn)]
        return [free, drawn, *choices, replace(free, max_tokens=1)]

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answers of a fresh model."""
        return asyncio.run(self.model().generate(requests))

    def test_it_says_what_it_is(self) -> None:
        """Name, identity and format are texts, the same for every object; a price is a price or unknown."""
        first, second = self.model(), self.model()
        for text in (first.name, first.identity, first.prompt_format):
            assert isinstance(text, str)
            assert text
        assert (first.name, first.identity) == (second.name, second.identity)
        assert first.price is None or isinstance(first.price, TokenPrice)
        assert usual_batch(first) >= 1
        assert (window_of(first) or 1) >= 1
        assert isinstance(is_metered(first), bool)

    def test_each_request_gets_its_samples(self) -> None:
        """As many texts, ends and log-probabilities as it asks for, and a usage in whole numbers."""
        model, requests = self.model(), self.requests()
        answers = asyncio.run(model.generate(requests))
        assert len(answers) == len(requests)
        for request, answer in zip(requests, answers, strict=True):
            assert len(answer.texts) == len(answer.finish) == len(answer.logprobs) == request.n
            assert all(isinstance(text, str) for text in answer.texts)
            assert set(answer.finish) <= ENDS
            _require_bounded(model, request, answer.usage, most_completion_tokens(model, request))

    def test_a_choice_is_one_of_its_options(self) -> None:
        """If it `obeys`: all that was not cut off."""
        for request, answer in zip(self.requests(), self.generate(self.requests()), strict=True):
            if self.obeys and isinstance(request.constraint, OneOf):
                whole = [text for text, end in zip(answer.texts, answer.finish, strict=True) if end == "stop"]
                assert set(whole) <= set(self.options)

    def test_the_same_request_has_the_same_answer(self) -> None:
        """If it is `repeatable`: asked again, of another object, and beside other requests."""
        if self.repeatable:
            together = self.generate(self.requests())
            for request, answer in zip(self.requests(), together, strict=True):
                [alone] = self.generate([request])
                assert (alone.texts, alone.finish) == (answer.texts, answer.finish)

    def test_options_are_scored_whole(self) -> None:
        """Each has a weight; they are shares of one, or all zero where the answer was none of them."""
        request = Request(self.prompt, self.room, OneOf(self.options), role="score")
        model = self.model()
        if not self.scores:
            with pytest.raises(ModelError):
                asyncio.run(model.score_options([request]))
            return
        [(weights, usage)] = asyncio.run(model.score_options([request]))
        assert len(weights) == len(self.options)
        assert all(weight >= 0 for weight in weights)
        assert sum(weights) == pytest.approx(1) or not any(weights)
        _require_bounded(model, request, usage, model.scoring_tokens(request))

    @pytest.mark.parametrize("kind", ["tokens", "calls"])
    def test_a_cap_is_never_exceeded(self, kind: str) -> None:
        """What might not fit is refused before it is asked; what fits at its worst is answered.

        Of several samples a model may need a second call, for which the cap has no room.
        """
        for request in self.requests():
            self._keeps(kind, worst_case, request)
        if self.scores:
            choice = Request(self.prompt, self.room, OneOf(self.options), role="score")
            self._keeps(kind, worst_case_of_scoring, choice)

    def _keeps(self, kind: str, worst: Callable[[LanguageModel, Request], Resources], request: Request) -> None:
        """Ask under caps just below and at what a request takes at most."""
        most = worst(self.model(), request)[kind] or 0
        for cap in (0, most - 1, most):
            ledger = Ledger(Budget({kind: cap}))
            model = AccountedLM(self.model(), ledger, TraceWriter("conformance"))
            ask = model.generate if worst is worst_case else model.score_options
            if cap < most:
                with pytest.raises(BudgetExceededError):
                    asyncio.run(ask([request]))
                assert not ledger.used[kind]
            else:
                with suppress(*([ModelError] if request.n > 1 else [])):
                    asyncio.run(ask([request]))
            assert (ledger.used[kind] or 0) <= cap
            assert not any(dict(ledger.reserved).values())


def _require_bounded(model: LanguageModel, request: Request, usage: Usage, most: int) -> None:
    """Check that each call took at most the prompt as it is counted here, and so many tokens of answers."""
    assert all(isinstance(count, int) for count in (usage.prompt_tokens, usage.completion_tokens, usage.calls))
    assert usage.calls >= 1
    assert usage.prompt_tokens <= usage.calls * model.prompt_tokens(request)
    assert usage.completion_tokens <= usage.calls * most
