"""Decides when the requests of several episodes are decoded in one forward pass, without a clock.

Rounding in a forward pass depends on what is read in it, so the content of a pass must not depend on timing. A pass is
made when every episode that still runs waits for the model. So an episode that was answered has asked again, or has
ended, before the others get their next tokens, and its new request joins them in the next pass, however long it took.
Requests join in the order of the episodes.

An episode that waits for something else, such as a tool, holds the others up: otherwise the clock would decide which
pass it joins. They go on when it has asked again, has ended, or was cancelled, for instance by its deadline.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

from tape.waiting import interruptible


@dataclass(eq=False)
class BatchCall:
    """Jobs of one episode that are answered together.

    Attributes:
        jobs: The jobs, each with ``paths``, which are empty where it is done.
        error: Why one of them failed, if one did; the others are given up then.
    """

    jobs: Sequence[Any]
    error: Exception | None = None

    @property
    def done(self) -> bool:
        """Whether it failed or all of its jobs are done."""
        return self.error is not None or not any(job.paths for job in self.jobs)


class Passes(Protocol):
    """Calls under way in one model."""

    def add(self, call: BatchCall) -> None:
        """Begin a call, as soon as memory allows."""

    def drop(self, call: BatchCall) -> None:
        """Forget a call, done or not."""

    def step(self) -> None:
        """Make one forward pass for all calls; one that fails gets an ``error``."""


@dataclass(eq=False)
class _Waiting:
    episode: int
    call: BatchCall
    passes: Passes
    future: asyncio.Future[None]
    joined: bool = False


class BatchScheduler:
    """Decides when a pass is made."""

    def __init__(self, episodes: int) -> None:
        self._running = episodes
        self._waiting: list[_Waiting] = []
        self._passes: dict[Callable[[], Passes], Passes] = {}
        self._scheduled = False

    @contextmanager
    def slot(self, episode: int) -> Iterator[None]:
        """Requests made inside are scheduled here, as those of the episode of this number."""
        token = SLOT.set((self, episode))
        try:
            yield
        finally:
            SLOT.reset(token)

    def leave(self) -> None:
        """An episode has ended; the others need not wait for it."""
        self._running -= 1
        self._schedule()

    async def finish(self, episode: int, call: BatchCall, opened: Callable[[], Passes]) -> None:
        """Wait until a call is done; where the wait is cancelled, nothing of it stays under way.

        Args:
            episode: Whose call it is.
            call: The call.
            opened: Makes passes of the model with nothing under way; called once.
        """
        if opened not in self._passes:
            self._passes[opened] = opened()
        passes = self._passes[opened]
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(episode, call, passes, future))
        self._schedule()
        try:
            await future
        finally:
            passes.drop(call)

    def _all_wait(self) -> bool:
        # A cancelled episode (Ctrl-C, a deadline) waits for nothing any more; it has ended only when it has left.
        self._waiting = [waiting for waiting in self._waiting if not waiting.future.done()]
        return bool(self._waiting) and len({waiting.episode for waiting in self._waiting}) >= self._running

    def _schedule(self) -> None:
        # Not at once: between two passes the loop handles deadlines and Ctrl-C.
        if not self._scheduled and self._all_wait():
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._pass)

    def _pass(self) -> None:
        self._scheduled = False
        if not self._all_wait():
            return
        for waiting in sorted(self._waiting, key=lambda waiting: waiting.episode):
            if not waiting.joined:
                waiting.passes.add(waiting.call)
                waiting.joined = True
        try:
            with interruptible():
                for passes in self._passes.values():
                    passes.step()
        except Exception as error:  # it belongs to no single call, and no call may wait for ever
            for waiting in self._waiting:
                waiting.call.error = error
        for waiting in self._waiting:
            if waiting.call.done and not waiting.future.done():
                waiting.future.set_result(None)
        self._schedule()


SLOT: ContextVar[tuple[BatchScheduler, int] | None] = ContextVar("slot", default=None)
"""The scheduler of the requests that are made here, and the number of the episode; None: they are decoded at once."""
