"""Episodes side by side whose requests share forward passes, without a clock.

Rounding in a forward pass depends on what is read in it, so that must not depend on timing. A pass is made when every
episode that still runs waits for the model. So one that was answered has asked again, or has ended, before the others
get their next tokens, and what it asks joins them in the next pass, however long it took. Requests join in the order of
the episodes.

An episode that waits for something else, a tool for instance, is waited for: which pass it joins would depend on the
clock otherwise. The others go on when it has asked again, has ended, or was cancelled, by its deadline for instance.
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
class Call:
    """Jobs of one episode that are answered together.

    Attributes:
        jobs: The jobs, each with ``paths``, which are empty where it is done.
        error: Why one of them failed, if one did; the others are given up then.
    """

    jobs: Sequence[Any]
    error: Exception | None = None

    @property
    def done(self) -> bool:
        """Whether nothing of it goes on."""
        return self.error is not None or not any(job.paths for job in self.jobs)


class Passes(Protocol):
    """Calls under way in one model."""

    def add(self, call: Call) -> None:
        """Begin a call, as soon as there is room."""

    def drop(self, call: Call) -> None:
        """Forget a call, done or not."""

    def step(self) -> None:
        """Make one forward pass for all calls; one that fails gets an ``error``."""


@dataclass(eq=False)
class _Waiting:
    member: int
    call: Call
    passes: Passes
    future: asyncio.Future[None]
    joined: bool = False


class Company:
    """Decides when a pass is made.

    Args:
        members: How many episodes there are.
    """

    def __init__(self, members: int) -> None:
        self._running = members
        self._waiting: list[_Waiting] = []
        self._passes: dict[Callable[[], Passes], Passes] = {}
        self._scheduled = False

    @contextmanager
    def seat(self, member: int) -> Iterator[None]:
        """What is asked of a model inside is asked in this company, by the episode of this number."""
        token = SEAT.set((self, member))
        try:
            yield
        finally:
            SEAT.reset(token)

    def leave(self) -> None:
        """An episode has ended; the others need not wait for it."""
        self._running -= 1
        self._schedule()

    async def finish(self, member: int, call: Call, opened: Callable[[], Passes]) -> None:
        """Wait until a call is done; where the wait is cancelled, nothing of it stays under way.

        Args:
            member: Whose call it is.
            call: The call.
            opened: Of the model, makes passes with nothing under way; asked once.
        """
        if opened not in self._passes:
            self._passes[opened] = opened()
        passes = self._passes[opened]
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(member, call, passes, future))
        self._schedule()
        try:
            await future
        finally:
            passes.drop(call)

    def _all_wait(self) -> bool:
        # A cancelled episode (Ctrl-C, a deadline) waits for nothing any more; it has ended only when it has left.
        self._waiting = [waiting for waiting in self._waiting if not waiting.future.done()]
        return bool(self._waiting) and len({waiting.member for waiting in self._waiting}) >= self._running

    def _schedule(self) -> None:
        # Not at once: between two passes the loop hears of deadlines and of Ctrl-C.
        if not self._scheduled and self._all_wait():
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._pass)

    def _pass(self) -> None:
        self._scheduled = False
        if not self._all_wait():
            return
        for waiting in sorted(self._waiting, key=lambda waiting: waiting.member):
            if not waiting.joined:
                waiting.passes.add(waiting.call)
                waiting.joined = True
        try:
            with interruptible():
                for passes in self._passes.values():
                    passes.step()
        except Exception as error:  # it is nobody's in particular, and nobody may wait for ever
            for waiting in self._waiting:
                waiting.call.error = error
        for waiting in self._waiting:
            if waiting.call.done and not waiting.future.done():
                waiting.future.set_result(None)
        self._schedule()


SEAT: ContextVar[tuple[Company, int] | None] = ContextVar("seat", default=None)
"""The company in which a model is asked here, and by which of its episodes; None: it is asked by itself."""
