"""A call in LiteLLM's proxy, and what is set aside for each time that it is sent."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from litellm.llms.base_llm.chat.transformation import BaseLLMException

from tape.adapters.litellm_requests import CompletionRequest
from tape.adapters.usage import ProviderUsage
from tape.guard.charges import ModelCharge, ModelRequest
from tape.guard.guard import Guard

_NOT_BILLED = frozenset((400, 401, 402, 403, 404, 405, 413, 415, 422, 429))
"""Statuses after which a provider has computed nothing."""

Hold = tuple[AbstractContextManager[ModelCharge], ModelCharge]
"""What is set aside for one time. Where nobody holds the call any more, the garbage collector ends it at the worst."""


class ClientCall:
    """A call of a client. What asks the ledger runs in threads.

    Attributes:
        sort: See above.
        asked: See above.
        limit: Tokens of each completion that are paid for.
        hides_usage: The client has not asked for the usage that ends a stream.
        answers: An answer has begun, so a failure is billed whatever its status.
    """

    def __init__(self, guard: Guard, sort: str, asked: CompletionRequest, request: ModelRequest, alias: str) -> None:
        self._guard, self._request, self.sort, self.asked, self._alias = guard, request, sort, asked, alias
        self._lock = threading.Lock()
        self._open: list[Hold] = []
        self._sent: Counter[str] = Counter()
        self._models: Sequence[str] = ()
        self._paid = 1
        self.limit = asked.limit
        self.hides_usage = self.answers = False

    @property
    def sent(self) -> bool:
        """Whether it was sent at all."""
        return bool(self._sent)

    def pay(self, models: Sequence[str], *, fit: bool = False) -> Hold:
        """Set aside what the dearest of some models takes.

        Raises:
            BudgetExceededError, UnknownCostError, ConfigError, LedgerError: See :meth:`tape.Guard.model`.
        """
        most = max(1, self.limit * self.asked.choices)
        dearest = models[0]
        if len(models) > 1:
            dearest = max(models, key=lambda name: self._guard.quote(name, self._request).worst(most)["usd"] or 0)
        context = self._guard.model(dearest, self._request, most, fit=fit and self.limit > 0)
        hold = context, context.__enter__()
        with self._lock:
            self._open.append(hold)
        self._models = models
        self.limit = min(self.limit, hold[1].most_tokens // self.asked.choices)
        return hold

    def is_paid(self, sort: str, model: str) -> bool:
        """Whether one more time that it is sent is paid for already; if not, :meth:`pay_again` has to follow.

        Args:
            sort: The kind of call that the proxy makes. It may make one of another kind within that of the client,
                to ask a provider that has no such kind.
            model: Which deployment it asks.
        """
        self._sent[sort] += 1
        first = sum(self._sent.values()) == 1
        return max(self._sent.values()) <= self._paid and (not first or model in self._models)

    def pay_again(self, model: str) -> Hold:
        """Set aside what the next time takes; what is out of an earlier one stays. See :meth:`pay`."""
        if sum(self._sent.values()) == 1:  # it goes elsewhere than to what was paid for
            self.released(self._open[0])
        else:
            self._paid += 1
        return self.pay([model])

    def released(self, hold: Hold) -> None:
        """Give back what was set aside for a time that it was not sent."""
        with self._lock:
            is_open = hold in self._open
            if is_open:
                self._open.remove(hold)
        if is_open:
            hold[1].not_made()
            hold[0].__exit__(None, None, None)

    def failed(self, error: Any) -> Callable[[], None]:
        """The first time of those that it is out was in vain. What is returned settles it."""
        with self._lock:
            pairs = self._open[:1]
            del self._open[:1]
        billed = self.sent and (self.answers or not _is_of_provider(error) or error.status_code not in _NOT_BILLED)
        return partial(_settle, pairs, None if billed else _NOTHING)

    def ended(self, usage: ProviderUsage | None, *, cached: bool = False) -> Callable[[], None]:
        """The last time was answered; what else is out has failed. What is returned settles all.

        Args:
            usage: What the provider reports.
            cached: The proxy has answered it from its own cache.
        """
        with self._lock:
            pairs, self._open = self._open, []
        if usage is not None and usage.model == self._alias:
            usage = usage._replace(model=None)  # the client's name for it, in the place of the provider's
        return partial(_settle, pairs, usage if self.sent and not cached else _NOTHING)


_NOTHING = ProviderUsage(0, 0, None, None)


def _settle(holds: Sequence[Hold], usage: ProviderUsage | None) -> None:
    """Settle the last one by its usage, the others at their worst case."""
    for number, (context, charge) in enumerate(holds):
        if number == len(holds) - 1 and usage is not None:
            if usage is _NOTHING:
                charge.not_made()
            else:
                usage.settle(charge)
        context.__exit__(None, None, None)


def _is_of_provider(error: Any) -> bool:
    """Whether an error is a provider's answer, as LiteLLM hands it on, and not the proxy's own word."""
    known = isinstance(error, BaseLLMException) or getattr(error, "llm_provider", None) is not None
    return known and type(getattr(error, "status_code", None)) is int
