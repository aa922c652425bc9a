"""Every LM call goes through a ledger: reserve the worst case, call, settle what was used."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, replace
from functools import partial
from math import isfinite
from typing import Any, TypeVar

from tape.budget import Broken, Ledger, Reservation, Resources, unknown
from tape.budget.deadline import Deadline
from tape.errors import BudgetExceededError
from tape.lm.base import (
    BatchError,
    Completion,
    EndpointError,
    LanguageModel,
    Message,
    OneOf,
    Request,
    Usage,
    WrongAnswerError,
    actual_cost,
    is_metered,
    worst_case,
    worst_case_of_scoring,
)
from tape.lm.price import UNSPLIT, Marks, cost_of
from tape.lm.reading import Reading
from tape.lm.wrapper import WrappedLM, require_all
from tape.redaction import redacted
from tape.trace import GeneratedEvent, LedgerEvent, PromptPart, TraceWriter
from tape.trace.events import LedgerAction
from tape.trace.file import report_costs_above_bound

T = TypeVar("T")

logger = logging.getLogger("tape.lm")


class AccountedLM(WrappedLM):
    """A language model whose calls are paid from one ledger and counted per role.

    Args:
        model: The model underneath.
        ledger: What pays; a call that does not fit is refused before it is made.
        trace: Where reservations and settlements are written, and what was asked and answered.
        deadline: No call is begun after it.
    """

    def __init__(
        self, model: LanguageModel, ledger: Ledger, trace: TraceWriter | None = None, deadline: Deadline | None = None
    ) -> None:
        super().__init__(model)
        self._ledger, self._trace, self._deadline = ledger, trace, deadline or Deadline()
        self.calls: Counter[str] = Counter()
        self.prompts: Counter[str] = Counter()
        self.completions: Counter[str] = Counter()

    @contextmanager
    def within(self, ledger: Ledger) -> Iterator[None]:
        """Pay from another ledger for a while, for instance from a tighter one nested in the usual one."""
        usual, self._ledger = self._ledger, ledger
        try:
            yield
        finally:
            self._ledger = usual

    def worst_case(self, request: Request) -> Resources:
        """The most that one request can use."""
        return worst_case(self._model, request)

    def worst_case_of_reading(self, reading: Reading) -> Resources:
        """The most that one reading can use."""
        return reading.worst_case(self._model)

    def keep_back(self, request: Request) -> Reservation:
        """Reserve a request's worst case for a later :meth:`generate`."""
        return self._reserve([request.role], self.worst_case(request))

    async def generate(self, requests: Sequence[Request], kept_back: Reservation | None = None) -> list[Completion]:
        """Answer requests.

        Args:
            requests: What is asked.
            kept_back: Pays for them, if they fit into it.

        Raises:
            BudgetExceededError: Together they might not fit, or the time is up; nothing was called.
            UnknownCostError: A capped kind has an unknown price.
            BatchError: A hosted model did not answer some of them; the usage is settled.
        """
        return await self._pay(requests, worst_case, self._model.generate, lambda answer: answer.usage, kept_back)

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        """Probability of each option of each request; paid like :meth:`generate`."""
        return await self._pay(requests, worst_case_of_scoring, self._model.score_options, lambda answer: answer[1])

    async def _pay(
        self,
        requests: Sequence[Request],
        bound: Callable[[LanguageModel, Request], Resources],
        call: Callable[[Sequence[Request]], Awaitable[list[T]]],
        usage_of: Callable[[T], Usage],
        kept_back: Reservation | None = None,
    ) -> list[T]:
        if not requests:
            return []
        # An episode that was cancelled ends here, even where the model never waits.
        await (self._trace.turn() if self._trace is not None else asyncio.sleep(0))
        self._deadline.require()
        roles = sorted({request.role for request in requests})
        bounds = [bound(self._model, request) for request in requests]
        price, prices, capped = self.price, self.answer_prices, "usd" in self._ledger.capped()
        writes: Marks = "" if prices is None else prices.writes
        worst = sum(bounds, Resources())
        payment = Payment(self._widened(kept_back, roles, worst) if kept_back else self._reserve(roles, worst), bounds)

        def again(index: int, request: Request) -> bool:
            # A backend that must repeat a call needs the money for it first.
            try:
                return payment.add(index, lambda: self._reserve([request.role], bound(self._model, request)))
            except BudgetExceededError:
                return False

        failure: BatchError | BudgetExceededError | None = None
        answers: Sequence[Any] = []
        try:
            try:
                answers = await call([replace(request, again=partial(again, i)) for i, request in enumerate(requests)])
            except BatchError as error:
                answers, failure = error.answers, error
            require_all(self._model, requests, answers)
        except BaseException as error:
            # A local model that gives the wrong number of answers has computed something too.
            metered = is_metered(self._model) or isinstance(error, WrongAnswerError)
            self._write("settle" if metered else "release", roles, payment.fail(metered=metered))
            raise
        paid, unproven, costs, generated = Resources(), Resources(), [], []
        for i, (request, answer) in enumerate(zip(requests, answers, strict=True)):
            usage = self._checked(request, answer.usage if isinstance(answer, EndpointError) else usage_of(answer))
            cost = usage.cost
            if cost is None:
                cost = prices.cost(price, usage, capped=capped) if prices and price else actual_cost(price, usage)
            if usage.cached and usage.calls > 1:
                # The cache answered without asking the payer, and the answer once took several calls.
                try:
                    payment.add(i, partial(self._reserve, [request.role], payment.lacks(i, cost)))
                except BudgetExceededError as error:
                    failure = error
                    costs.append(Resources())  # so it is not taken
                    continue
            costs.append(cost)
            if not usage.cached:
                paid, unproven = paid + cost, unproven + cost_of(price, *usage.unproven, calls=0)
            self.calls[request.role] += usage.calls
            self.prompts[request.role] += usage.prompt_tokens
            self.completions[request.role] += usage.completion_tokens
            generated.append(_generated(request, answer, usage, writes))
        broken = payment.settle(costs, paid, unproven)
        self._write("settle", roles, sum(costs, Resources()))
        if self._trace is not None:
            for event in generated:
                self._trace.write(event)
        report_costs_above_bound(self._trace, _purpose(roles), broken)
        if failure is not None:
            raise failure
        return list(answers)

    def _checked(self, request: Request, usage: Usage) -> Usage:
        """The larger of reported and locally counted usage is what was spent.

        A hosted model's prompt can only be bounded here, so its backend has made that comparison itself.
        """
        least = self._model.prompt_tokens(request) if usage.source == "counted" else 0
        return replace(
            usage, prompt_tokens=max(usage.prompt_tokens, least), completion_tokens=max(usage.completion_tokens, 0)
        )

    def _reserve(self, roles: list[str], worst: Resources) -> Reservation:
        try:
            reservation = self._ledger.reserve(worst)
        except BudgetExceededError as error:
            self._write("refused", roles, Resources({error.kind: error.requested}))
            error.wanted_for(f"a model call ({', '.join(roles)})" if any(roles) else "a model call")
            raise
        try:
            self._write("reserve", roles, worst)
        except BaseException:  # a listener interrupts: nothing was called yet
            reservation.release()
            raise
        return reservation

    def _widened(self, kept_back: Reservation, roles: list[str], worst: Resources) -> Reservation:
        """What was kept back, or, where that is too little, all of it together with what else is left."""
        held = kept_back.worst_case
        if all((worst[kind] or 0) <= (held[kind] or 0) for kind in self._ledger.capped()):
            return kept_back
        kept_back.release()
        self._write("release", roles, held)
        return self._reserve(roles, worst)

    def _write(self, what: LedgerAction, roles: list[str], amounts: Resources) -> None:
        if self._trace is not None:
            self._trace.write(LedgerEvent(what=what, purpose=_purpose(roles), amounts=dict(amounts)))


def _generated(request: Request, answer: Any, usage: Usage, writes: Marks) -> GeneratedEvent:
    """What was asked and answered, for the trace; the answer is a completion, weights of options, or a failure."""
    texts: tuple[str, ...] = ()
    weights: tuple[float, ...] | None = None
    finish: tuple[str, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    if isinstance(answer, Completion):
        texts, finish = answer.texts, answer.finish
        logprobs = answer.logprobs if all(map(isfinite, answer.logprobs)) else None
    elif not isinstance(answer, EndpointError):
        assert isinstance(request.constraint, OneOf)
        texts, weights = request.constraint.options, tuple(answer[0])
    prompt = (Message("", request.prompt),) if isinstance(request.prompt, str) else request.prompt
    if logger.isEnabledFor(logging.DEBUG):
        logger.debug("%s", redacted(f"{request.role} was asked {request.prompt!r} and answered {texts!r}"))
    return GeneratedEvent(
        role=request.role,
        prompt=tuple(PromptPart(role=part.role, content=part.content) for part in prompt),
        texts=texts,
        weights=weights,
        finish=finish,
        logprobs=logprobs,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        prompt_split=None if usage.split == UNSPLIT else astuple(usage.split),
        answered=usage.answered,
        writes=writes,
    )


def _purpose(roles: list[str]) -> str:
    return "lm:" + ",".join(roles)


class Payment:
    """The reservations of one batch of requests, settled together."""

    def __init__(self, first: Reservation, bounds: Sequence[Resources]) -> None:
        self._reservations = [first]
        self._declared = list(bounds)
        self._open = True

    def add(self, index: int, reserve: Callable[[], Reservation]) -> bool:
        """Reserve more for one request; False where the payment is settled already."""
        if not self._open:
            return False
        reservation = reserve()
        self._reservations.append(reservation)
        self._declared[index] = self._declared[index] + reservation.worst_case
        return True

    def lacks(self, index: int, cost: Resources) -> Resources:
        """The part of a request's known cost that is not reserved."""
        declared = self._declared[index]
        return Resources({kind: max(0, (cost[kind] or 0) - (declared[kind] or 0)) for kind in cost})

    def settle(self, costs: Sequence[Resources], paid: Resources, unproven: Resources) -> tuple[Broken, ...]:
        """Book what was used.

        Returns:
            The costs above their declared bounds, request by request.
        """
        self._open = False
        first, *further = self._reservations
        used, used_further = _spread(sum(costs, Resources()), further)
        spent, spent_further = _spread(paid, further)
        for reservation, part, paid_part in zip(further, used_further, spent_further, strict=True):
            reservation.settle(part, paid_part)
        return first.settle(used, spent, list(zip(self._declared, costs, strict=True)), unproven)

    def fail(self, *, metered: bool) -> Resources:
        """Close after a failure: the cost of a metered call is unknown, so all is booked; otherwise all is released."""
        self._open = False
        for reservation in self._reservations:
            if metered:
                reservation.settle(unknown(reservation.worst_case))
            else:
                reservation.release()
        return sum((reservation.worst_case for reservation in self._reservations), Resources())


def _spread(amount: Resources, reservations: Iterable[Reservation]) -> tuple[Resources, list[Resources]]:
    """Fill reservations one after the other.

    Returns:
        What is left, and what went into each. An unknown amount is unknown in all of them.
    """
    left, parts = dict(amount), []
    for reservation in reservations:
        part: dict[str, int | None] = {}
        for kind, count in left.items():
            part[kind] = None if count is None else min(count, reservation.worst_case[kind] or 0)
        left = {kind: None if count is None else count - (part[kind] or 0) for kind, count in left.items()}
        parts.append(Resources(part))
    return Resources(left), parts
