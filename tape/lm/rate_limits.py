"""Requests and tokens a minute of a model: caps of a rolling minute that a call waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar
from uuid import uuid4

from tape.budget import Budget, BudgetLike, Cap, Held, HoldRequest, LedgerStore, Period, open_store
from tape.errors import ConfigError
from tape.lm.base import Completion, LanguageModel, Request, Usage, worst_case, worst_case_of_scoring
from tape.lm.wrapper import WrappedLM

T = TypeVar("T")

MINUTE = Period("rolling", seconds=60)
ACCOUNT = "model"
KINDS = ("calls", "tokens")
WAIT, LONGEST_WAIT = 0.05, 1.0
"""Seconds between two tries, doubled with each."""


class RateLimitedLM(WrappedLM):
    """A model that is asked no faster than it may be: a call waits until it fits, and is no error.

    Args:
        model: The model underneath.
        a_minute: What it may take in a minute, for instance ``"60 calls, 90000 tokens"``.
        store: Where the minute is counted; by default in this object. Programs that name the same file or database
            share it.

    Raises:
        ConfigError: Something else than calls and tokens is limited, or nothing.

    Examples:
        >>> from tape import TapeAgent, tool
        >>> from tape.lm.rate_limits import RateLimitedLM
        >>> from tape.lm.scripted import ScriptedLM
        >>> model = RateLimitedLM(ScriptedLM(["answer(42)"]), "60 calls, 90000 tokens")
        >>> @tool(pure=True, usd=0)
        ... def double(number: int) -> int:
        ...     "Double a number."
        ...     return 2 * number
        >>> TapeAgent(model, tools=[double]).run("Double 21.").answer
        42
    """

    def __init__(self, model: LanguageModel, a_minute: BudgetLike, store: LedgerStore | str = "memory:") -> None:
        super().__init__(model)
        limits = Budget.read(a_minute, "a_minute=")
        if not limits or {*limits} - {*KINDS}:
            raise ConfigError(
                f'a rate limit is of calls and tokens, such as "60 calls, 90000 tokens", not {a_minute!r}'
            )
        self._limits = limits
        self._store = open_store(store) if isinstance(store, str) else store
        for kind, most in limits.items():
            self._store.set_cap(Cap(ACCOUNT, kind, most, MINUTE), "tape", "requests and tokens a minute")

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answer requests, each batch when it fits.

        Raises:
            ConfigError: It never fits: it alone takes more than a minute may have.
        """
        worst = sum(worst_case(self._model, request)["tokens"] or 0 for request in requests)
        return await self._paced(requests, worst, self._model.generate, lambda answer: answer.usage)

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        """Score options; waits like :meth:`generate`."""
        worst = sum(worst_case_of_scoring(self._model, request)["tokens"] or 0 for request in requests)
        return await self._paced(requests, worst, self._model.score_options, lambda answer: answer[1])

    async def _paced(
        self,
        requests: Sequence[Request],
        worst: int,
        call: Callable[[Sequence[Request]], Awaitable[list[T]]],
        usage_of: Callable[[T], Usage],
    ) -> list[T]:
        amounts = {"calls": len(requests), "tokens": worst}
        amounts = {kind: count for kind, count in amounts.items() if kind in self._limits}
        for kind, count in amounts.items():
            if count > self._limits[kind]:
                raise ConfigError(
                    f"{self.name} may take {self._limits[kind]} {kind} a minute, and a request takes up to {count}; "
                    "ask for less at once, or raise the limit"
                )
        hold = await self._fitting(amounts)
        used: dict[str, int | None] = dict(amounts)
        try:
            answers = await call(requests)
            usages = [usage_of(answer) for answer in answers]
            used |= {"calls": sum(usage.calls for usage in usages), "tokens": sum(usage.total for usage in usages)}
        finally:
            self._store.settle(hold, {kind: used[kind] for kind in amounts})
        return answers

    async def _fitting(self, amounts: dict[str, int]) -> str:
        seconds, name = WAIT, uuid4().hex
        while not isinstance(self._store.reserve(HoldRequest(name, ACCOUNT, dict(amounts))), Held):
            await asyncio.sleep(seconds)
            seconds = min(2 * seconds, LONGEST_WAIT)
        return name
