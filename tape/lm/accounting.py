"""Every LM call goes through a ledger: reserve the worst case, call, settle what was used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from tape.budget import Ledger, Resources
from tape.errors import BudgetExceededError
from tape.lm.base import FREE, Completion, LanguageModel, Request, Usage, actual_cost, worst_case, worst_case_of_scoring
from tape.lm.wrapper import WrappedLM
from tape.trace import LedgerAction, LedgerEvent, TraceWriter

T = TypeVar("T")


class AccountedLM(WrappedLM):
    """A language model whose calls are paid from one ledger and counted per role.

    Args:
        model: The model underneath.
        ledger: What pays; a call that does not fit is refused before it is made.
        trace: Where reservations and settlements are written.
    """

    def __init__(self, model: LanguageModel, ledger: Ledger, trace: TraceWriter | None = None) -> None:
        super().__init__(model)
        self._ledger, self._trace = ledger, trace
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

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answer requests.

        Raises:
            BudgetExceededError: Together they might not fit; nothing was called.
            UnknownCostError: A capped kind has an unknown price.
        """
        return await self._pay(requests, worst_case, self._model.generate, lambda answer: answer.usage)

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        """Probability of each option of each request; paid like :meth:`generate`."""
        return await self._pay(requests, worst_case_of_scoring, self._model.score_options, lambda answer: answer[1])

    async def _pay(
        self,
        requests: Sequence[Request],
        bound: Callable[[LanguageModel, Request], Resources],
        call: Callable[[Sequence[Request]], Awaitable[list[T]]],
        usage_of: Callable[[T], Usage],
    ) -> list[T]:
        if not requests:
            return []
        roles = sorted({request.role for request in requests})
        worst = sum((bound(self._model, request) for request in requests), Resources())
        try:
            reservation = self._ledger.reserve(worst)
        except BudgetExceededError as error:
            self._write("refused", roles, {error.kind: error.requested})
            raise
        self._write("reserve", roles, dict(worst))
        try:
            answers = await call(requests)
        except BaseException:
            # What a failed call of a metered model cost is unknown, so all that was set aside is booked.
            metered = self._model.price != FREE
            if metered:
                self._ledger.settle(reservation, Resources(dict.fromkeys(worst)))
            else:
                self._ledger.release(reservation)
            self._write("settle" if metered else "release", roles, dict(worst))
            raise
        actual = Resources()
        for request, answer in zip(requests, answers, strict=True):
            usage = usage_of(answer)
            # The larger of reported and locally counted usage is what was spent.
            counted = Usage(max(usage.prompt_tokens, self._model.prompt_tokens(request)), usage.completion_tokens)
            actual = actual + actual_cost(self._model, counted)
            self.calls[request.role] += 1
            self.prompts[request.role] += counted.prompt_tokens
            self.completions[request.role] += counted.completion_tokens
        self._ledger.settle(reservation, actual)
        self._write("settle", roles, dict(actual))
        return answers

    def _write(self, what: LedgerAction, roles: list[str], amounts: dict[str, int | None]) -> None:
        if self._trace is not None:
            self._trace.write(LedgerEvent(what=what, purpose="lm:" + ",".join(roles), amounts=amounts))
