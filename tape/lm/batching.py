"""Requests of many episodes together, without a clock.

Rounding in a forward pass depends on what is read in it, so the content of a pass must not depend on timing.

Episodes that are played together advance in lock-step (:class:`EpisodeBatch`): their requests are sent when every
episode that still runs waits for the model, in the order of the episodes. Where the model takes requests while it
decodes others, they share its forward passes instead (:class:`BatchScheduler`), and each goes on when its own request
is answered. A pass is made when every episode that still runs waits for the model. So an episode that was answered has
asked again, or has ended, before the others get their next tokens, and its new request joins them in the next pass,
however long it took. An episode that waits for something else, such as a tool, holds the others up: otherwise the clock
would decide which pass it joins. They go on when it has asked again, has ended, or was cancelled, for instance by its
deadline.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, TypeAlias

from tape.lm.base import BatchError, Completion, EndpointError, LanguageModel, Request, Usage, is_continuous, is_metered
from tape.lm.wrapper import WrappedLM, require_all
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
class _WaitingCall:
    episode: int
    call: BatchCall
    passes: Passes
    future: asyncio.Future[None]
    joined: bool = False


class BatchScheduler:
    """Decides when a pass is made."""

    def __init__(self, episodes: int) -> None:
        self._running = episodes
        self._waiting: list[_WaitingCall] = []
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
        """Wait until a call is done; where the wait is cancelled, nothing of it stays under way."""
        if opened not in self._passes:
            self._passes[opened] = opened()
        passes = self._passes[opened]
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(_WaitingCall(episode, call, passes, future))
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


Call: TypeAlias = Callable[[Sequence[Request]], Awaitable[list[Any]]]


@dataclass
class _Waiting:
    episode: int
    kind: str
    requests: Sequence[Request]
    future: asyncio.Future[list[Any]]


class EpisodeBatch:
    """Merges the requests of a fixed number of episodes, each of which calls :meth:`leave` at its end."""

    def __init__(self, model: LanguageModel, episodes: int) -> None:
        self._model = model
        self._running = episodes
        self._waiting: list[_Waiting] = []
        self._sent: set[asyncio.Task[None]] = set()
        self._scheduler = BatchScheduler(episodes) if is_continuous(model) else None

    def slot(self, index: int) -> BatchSlot:
        """The model as the episode ``index`` sees it."""
        return BatchSlot(self, self._model, index)

    async def ask(self, episode: int, kind: str, requests: Sequence[Request]) -> list[Any]:
        """Wait for the others and then for the batch; with a model that is continuous, for this answer alone."""
        if self._scheduler is not None:
            with self._scheduler.slot(episode):
                return await self._call(kind)(requests)
        future: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(episode, kind, requests, future))
        self._send_if_ready()
        return await future

    async def leave(self) -> None:
        """An episode has ended; the others need not wait for it."""
        self._running -= 1
        self._send_if_ready()
        if self._scheduler is not None:
            self._scheduler.leave()

    async def close(self) -> None:
        """Wait for all batches that were sent; a batch whose episodes were all cancelled is cancelled too."""
        await asyncio.gather(*self._sent, return_exceptions=True)

    def _call(self, kind: str) -> Call:
        return self._model.generate if kind == "generate" else self._model.score_options

    def _send_if_ready(self) -> None:
        # A cancelled episode (Ctrl-C, a deadline) waits for nothing; the model is not called for it.
        self._waiting = [w for w in self._waiting if not w.future.done()]
        if not self._waiting or len(self._waiting) < self._running:
            return
        batch = sorted(self._waiting, key=lambda w: w.episode)
        self._waiting = []
        # In a task of its own: cancelling one episode must not cancel the batch of the others.
        task = asyncio.get_running_loop().create_task(self._send(batch))
        self._sent.add(task)
        task.add_done_callback(self._sent.discard)
        for waiting in batch:
            waiting.future.add_done_callback(lambda _: self._cancel_if_unwanted(task, batch))

    @staticmethod
    def _cancel_if_unwanted(task: asyncio.Task[None], batch: Sequence[_Waiting]) -> None:
        if all(waiting.future.done() for waiting in batch):
            task.cancel()

    async def _send(self, batch: Sequence[_Waiting]) -> None:
        try:
            await self._answer(batch)
        finally:
            for waiting in batch:  # only where this task itself was cancelled
                waiting.future.cancel()

    async def _answer(self, batch: Sequence[_Waiting]) -> None:
        for kind in ("generate", "score"):
            call = self._call(kind)
            mine = [w for w in batch if w.kind == kind]
            if not mine:
                continue
            flat = [request for w in mine for request in w.requests]
            try:
                answers = await call(flat)
                require_all(self._model, flat, answers)
            except BatchError as error:
                # A hosted model keeps its answers to the others itself.
                answers = list(error.answers)
            except Exception as error:
                # One bad request must not fail its neighbours, so each episode is asked for alone; not where
                # the failed batch may have cost something, which would be paid twice.
                for w in mine:
                    _resolve(w, error if is_metered(self._model) else await self._alone(call, w))
                continue
            rest = iter(answers)
            for w in mine:
                own = list(islice(rest, len(w.requests)))
                _resolve(w, BatchError(own) if any(isinstance(item, EndpointError) for item in own) else own)

    async def _alone(self, call: Call, waiting: _Waiting) -> list[Any] | Exception:
        if waiting.future.done():
            return []
        try:
            answers = await call(waiting.requests)
            require_all(self._model, waiting.requests, answers)
        except Exception as error:
            return error
        return list(answers)


def _resolve(waiting: _Waiting, outcome: list[Any] | Exception) -> None:
    """Give an episode its answers, or raise its error there; nothing happens where it was cancelled."""
    if not waiting.future.done():
        if isinstance(outcome, Exception):
            waiting.future.set_exception(outcome)
        else:
            waiting.future.set_result(outcome)


class BatchSlot(WrappedLM):
    """A language model that sends its requests with those of the episodes beside it."""

    def __init__(self, batch: EpisodeBatch, model: LanguageModel, index: int) -> None:
        super().__init__(model)
        self._batch, self._index = batch, index

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answer requests together with those of the episodes beside it."""
        return await self._batch.ask(self._index, "generate", requests)

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        """Score options together with those of the episodes beside it."""
        return await self._batch.ask(self._index, "score", requests)
