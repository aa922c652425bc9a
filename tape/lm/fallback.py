"""Another model where one is down, refuses, or writes what cannot be read."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tape.errors import ConfigError
from tape.lm.base import (
    BatchError,
    Completion,
    EndpointError,
    LanguageModel,
    Request,
    Usage,
    actual_cost,
    is_remote,
)
from tape.lm.price import TokenPrice
from tape.lm.registry import open_model
from tape.lm.wrapper import WrappedLM

logger = logging.getLogger("tape.lm")

MOST_UNREADABLE = 2
"""Answers in a row that cannot be read after which the next model is asked."""


class FallbackModel(WrappedLM):
    """Asks the first of several models, and the next where it cannot answer.

    The next is asked where a model is not reached, has too many calls after all retries, or has a fault (5xx), and
    where two of its answers in a row could not be read. A run stays with it. Each is reserved for and paid at its own
    price; grammar, samples and window are those of the model in use. Which answered stands in the trace.

    Args:
        models: Models, or their names.

    Raises:
        ConfigError: There are fewer than two, or they read different prompt formats.

    Examples:
        >>> from tape import FallbackModel, TapeAgent, tool
        >>> from tape.lm.scripted import ScriptedLM
        >>> @tool(pure=True, usd=0)
        ... def double(number: int) -> int:
        ...     "Double a number."
        ...     return 2 * number
        >>> model = FallbackModel(ScriptedLM(["?", "?"]), ScriptedLM(["answer(double(21))"]))
        >>> TapeAgent(model, tools=[double]).run("Double 21.", max_turns=5).answer
        42
    """

    def __init__(self, *models: LanguageModel | str) -> None:
        if len(models) < 2:
            raise ConfigError("a fallback is of two models at least: FallbackModel(first, second)")
        self.models = tuple(open_model(model) if isinstance(model, str) else model for model in models)
        formats = {model.prompt_format for model in self.models}
        if len(formats) > 1:
            raise ConfigError(f"models of a fallback read the same prompts; these read {', '.join(sorted(formats))}")
        super().__init__(self.models[0])
        self._place = self._unread = 0

    def for_run(self) -> FallbackModel:
        """The same at its beginning, so that runs beside each other do not share what they learn."""
        return FallbackModel(*self.models)

    @property
    def name(self) -> str:
        """The names of all."""
        return " or ".join(model.name for model in self.models)

    @property
    def identity(self) -> str:
        """The identities of all."""
        return " or ".join(model.identity for model in self.models)

    @property
    def price(self) -> TokenPrice | None:
        """That of the model in use; None where that of any is unknown, since it may be asked."""
        return None if any(model.price is None for model in self.models) else super().price

    @property
    def remote(self) -> bool:
        """Whether any asks an endpoint."""
        return any(map(is_remote, self.models))

    def report(self, *, readable: bool) -> None:
        """Learn whether the last answer could be read."""
        self._unread = 0 if readable else self._unread + 1
        if self._unread >= MOST_UNREADABLE and self._place + 1 < len(self.models):
            self._use(self._place + 1, f"{MOST_UNREADABLE} of its answers in a row could not be read")

    def _use(self, place: int, why: str) -> None:
        logger.warning("%s is asked instead of %s: %s", self.models[place].name, self._model.name, why)
        self._place, self._model, self._unread = place, self.models[place], 0

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answer requests.

        Raises:
            BatchError: No model has answered some of them; holds the answers to the others.
        """
        return await self._asked(requests, lambda model: model.generate, _of_completion)

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        """Score options; raises like :meth:`generate`."""
        return await self._asked(requests, lambda model: model.score_options, _of_scores)

    async def _asked(
        self,
        requests: Sequence[Request],
        method: Callable[[LanguageModel], Callable[[Sequence[Request]], Awaitable[list[Any]]]],
        with_usage: Callable[[Any, Callable[[Usage], Usage]], Any],
    ) -> list[Any]:
        answers: dict[int, Any] = {}
        before: dict[int, Usage] = {}
        waiting = list(range(len(requests)))
        while True:
            try:
                came: Sequence[Any] = await method(self._model)([requests[number] for number in waiting])
            except BatchError as error:
                came = error.answers
            for number, answer in zip(waiting, came, strict=True):
                answers[number] = with_usage(answer, partial(self._together, before.get(number)))
                if isinstance(answer, EndpointError):
                    before[number] = answers[number].usage
            waiting = [number for number in waiting if _may_pass(answers[number])]
            if not waiting or self._place + 1 == len(self.models):
                break
            self._use(self._place + 1, str(answers[waiting[0]]))
            waiting = [number for number in waiting if _is_paid(requests[number])]
            if not waiting:
                break
        if any(isinstance(answer, EndpointError) for answer in answers.values()):
            raise BatchError([answers[number] for number in range(len(requests))])
        return [answers[number] for number in range(len(requests))]

    def _together(self, before: Usage | None, usage: Usage) -> Usage:
        """What all models that were asked have used, each at its own price."""
        prices = super().answer_prices
        price = self._model.price
        own = prices.cost(price, usage, capped=False) if prices and price else actual_cost(price, usage)
        if self._place:
            usage = replace(usage, answered=tuple(dict.fromkeys((*usage.answered, self._model.name))))
        if before is None:
            return replace(usage, cost=own) if self._place else usage
        spent = before.cost if before.cost is not None else actual_cost(self.models[0].price, before)
        return replace(before + usage, cost=spent + own)


def _may_pass(answer: Any) -> bool:
    """Whether another model may answer where this one did not."""
    return isinstance(answer, EndpointError) and answer.passing


def _is_paid(request: Request) -> bool:
    """Whether the next model's worst case can be reserved too."""
    return request.again is None or request.again(replace(request, again=None))


def _of_completion(answer: Any, change: Callable[[Usage], Usage]) -> Any:
    if isinstance(answer, EndpointError):
        return EndpointError(str(answer), change(answer.usage), passing=answer.passing)
    return replace(answer, usage=change(answer.usage))


def _of_scores(answer: Any, change: Callable[[Usage], Usage]) -> Any:
    if isinstance(answer, EndpointError):
        return EndpointError(str(answer), change(answer.usage), passing=answer.passing)
    return answer[0], change(answer[1])
