"""Calls that a gateway pays from a ledger that others share: asked in threads, so that its loop never waits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from tape.budget import Resources, StorePayer
from tape.budget.payer import StoreHold, calling

Answer = TypeVar("Answer")

THREADS = 1024
"""Calls that are asked for at once, each in a thread while it waits for room, or for a person."""


class SharedHold:
    """What the ledger holds for a call."""

    def __init__(self, calls: SharedCalls, hold: StoreHold) -> None:
        self._calls, self._hold = calls, hold

    def settle(self, spent: Resources) -> None:
        """Book what was spent, soon."""
        self._calls.ends.submit(self._calls.payer.settle, self._hold, spent)

    def release(self) -> Future[None]:
        """Give it back, soon."""
        return self._calls.ends.submit(self._calls.payer.release, self._hold)

    def settle_later(self, spent: Resources) -> None:
        """Book what was spent with the next call; a finalizer may do it."""
        self._calls.payer.settle_later(self._hold, spent)


class SharedCalls:
    """A payer, and the threads in which it is asked.

    Args:
        payer: The scope that pays.
    """

    def __init__(self, payer: StorePayer) -> None:
        self.payer = payer
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="tape gateway pays")
        self.ends = ThreadPoolExecutor(1, thread_name_prefix="tape gateway settles")

    async def require_room(self, tool: str, worst: Resources) -> None:
        """Refuse what would be refused now, as :meth:`reserve` does, which may wait for room; no breaker counts it."""
        held = await self.reserve(tool, None, worst)
        await asyncio.shield(asyncio.wrap_future(held.release()))

    async def reserve(self, tool: str, asked: str | None, worst: Resources) -> SharedHold:
        """Hold a worst case of a call with arguments, which are None where it is not made yet.

        Raises:
            BudgetExceededError, UnknownCostError, LedgerError: See :meth:`StorePayer.reserve`.
        """
        given_up = threading.Event()
        asking = self._threads.submit(self._reserve, tool, asked, worst, given_up)
        try:
            return SharedHold(self, await answer_of(asking, self.payer.release))
        except asyncio.CancelledError:
            given_up.set()
            raise

    def _reserve(self, tool: str, asked: str | None, worst: Resources, given_up: threading.Event) -> StoreHold:
        with calling(tool, asked or "", counts=asked is not None):
            return self.payer.reserve(worst, given_up=given_up)

    def close(self) -> None:
        """Let nothing wait any more, and settle what is due."""
        self.payer.close()
        self._threads.shutdown()
        self.ends.shutdown()
        self.payer.close()


async def answer_of(asking: Future[Answer], give_back: Callable[[Answer], object]) -> Answer:
    """The answer of a thread; one that comes after its caller was cancelled is given back."""
    answered = asyncio.wrap_future(asking)
    try:
        return await asyncio.shield(answered)
    except asyncio.CancelledError:
        answered.add_done_callback(lambda future: future.cancelled() or future.exception())  # nobody else asks for it
        asking.add_done_callback(lambda future: future.cancelled() or future.exception() or give_back(future.result()))
        raise
