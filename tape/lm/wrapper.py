"""What every model that wraps another one shares, and what its answers have shown of prices."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from tape.budget import Resources
from tape.lm.base import (
    Completion,
    EndpointError,
    LanguageModel,
    OneOf,
    Request,
    Usage,
    WrongAnswerError,
    actual_cost,
    for_run,
    is_remote,
)
from tape.lm.listed_prices import Listed, find
from tape.lm.price import LONGER, Marks, TokenPrice


def require_all(model: LanguageModel, requests: Sequence[Request], answers: Any) -> None:
    """Refuse answers that do not fit their requests: with too few or too many, it is unknown whose they are.

    Raises:
        WrongAnswerError: There is not one answer for each request with as many samples or scores as were asked for.
    """
    if not isinstance(answers, list | tuple):
        raise WrongAnswerError(f"{model.name} gave {type(answers).__name__}, no list of answers; mend the backend")
    if len(answers) != len(requests):
        raise WrongAnswerError(
            f"{model.name} gave {len(answers)} answers to {len(requests)} requests; mend the backend"
        )
    for request, answer in zip(requests, answers, strict=True):
        if fault := _fault(request, answer):
            raise WrongAnswerError(f"{model.name} gave {fault}; mend the backend")


def _fault(request: Request, answer: Any) -> str:
    """What is wrong with an answer; empty where nothing is."""
    usage: Any
    given: Any
    kind: Any
    if isinstance(answer, EndpointError):
        usage, given, wanted, kind, what = answer.usage, (), 0, str, "samples"
    elif isinstance(answer, Completion):
        usage, given, wanted, kind, what = answer.usage, answer.texts, request.n, str, "samples"
        if not len(answer.finish) == len(answer.logprobs) == request.n:
            return f"{len(answer.finish)} ends and {len(answer.logprobs)} probabilities of {request.n} samples"
    elif isinstance(request.constraint, OneOf) and isinstance(answer, tuple) and len(answer) == 2:
        given, usage = answer
        wanted, kind, what = len(request.constraint.options), int | float, "scores"
    else:
        return f"{type(answer).__name__} as an answer"
    if not isinstance(given, list | tuple) or len(given) != wanted:
        return f"{len(given) if isinstance(given, list | tuple) else 'none'} of {wanted} {what} of a request"
    if not all(isinstance(item, kind) for item in given):
        return f"{what} of the wrong type"
    counts = (usage.prompt_tokens, usage.completion_tokens, usage.calls) if isinstance(usage, Usage) else (None,)
    if not all(type(count) is int for count in counts):
        return "no usage in whole numbers"
    return "" if usage.split.fits(usage.prompt_tokens) else f"a usage whose prompt has fewer tokens than {usage.split}"


@dataclass
class Seen:
    """What calls have shown, for all that share a model: how long it keeps what it writes unasked, and who answered."""

    writes: Marks = ""
    dearer: str = ""


@dataclass(frozen=True)
class AnswerPrices:
    """Prices of a model and of those that answer in its place.

    Attributes:
        asked: The model.
        usual: Its price.
        seen: What calls have shown.
        recorded: In the place of ``seen.writes``, for a call that is played again.
    """

    asked: Listed
    usual: TokenPrice
    seen: Seen = field(default_factory=Seen)
    recorded: Marks | None = None

    @property
    def writes(self) -> Marks:
        """For how long the model writes to its cache unasked, as far as worst cases cover it."""
        return self.seen.writes if self.recorded is None else self.recorded

    @property
    def price(self) -> TokenPrice:
        """What worst cases are reckoned by."""
        return self.usual if not self.writes else self.asked.price(marks=self.writes) or self.usual

    def cost(self, price: TokenPrice, usage: Usage, *, capped: bool) -> Resources:
        """What a request costs: where a dearer model has answered one of its calls, all of them by that one's price."""
        cost, split = actual_cost(price, usage), usage.split
        if split.written:
            marks = price.at(-(-usage.prompt_tokens // max(usage.calls, 1))).unforeseen(split.written_1h > 0)
            self.seen.writes = max(self.seen.writes, marks, key=LONGER.index)
        for name in filter(None, map(self.asked.sibling, usage.answered)):
            listed = find(name)
            other = actual_cost(None if listed is None else listed.price(marks=self.writes), usage)
            if (other["usd"] or 0) > (cost["usd"] or 0):
                cost, self.seen.dearer = other, name if capped else self.seen.dearer
        return cost


class WrappedLM:
    """Passes on everything that is not a completion."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    @property
    def identity(self) -> str:
        """The model's identity."""
        return self._model.identity

    @property
    def prompt_format(self) -> str:
        """The model's prompt format."""
        return self._model.prompt_format

    @property
    def price(self) -> TokenPrice | None:
        """The model's price."""
        return self._model.price if (prices := self.answer_prices) is None else prices.price

    @property
    def answer_prices(self) -> AnswerPrices | None:
        """Prices of the models that may answer in its place; None where its own price stands for them."""
        return getattr(self._model, "answer_prices", None)

    @property
    def remote(self) -> bool:
        """Whether the model asks an endpoint."""
        return is_remote(self._model)

    def __getattr__(self, name: str) -> Any:
        """What only some models have, such as ``window``, ``continuous`` and ``weighs`` (:mod:`tape.lm.base`)."""
        if name == "_model":  # while it is made
            raise AttributeError(name)
        return getattr(self._model, name)

    def for_run(self) -> LanguageModel:
        """See :func:`tape.lm.base.for_run`: itself, unless a model below begins anew."""
        if (fresh := for_run(self._model)) is self._model:
            return self
        wrapped = copy(self)
        wrapped._model = fresh
        return wrapped

    def report(self, *, readable: bool) -> None:
        """Tell a model that asks for it whether its last answer could be read (:mod:`tape.lm.fallback`)."""
        if (report := getattr(self._model, "report", None)) is not None:
            report(readable=readable)

    def prompt_tokens(self, request: Request) -> int:
        """Tokens of a request's prompt."""
        return self._model.prompt_tokens(request)

    def scoring_tokens(self, request: Request) -> int:
        """Tokens of scoring a request's options."""
        return self._model.scoring_tokens(request)
