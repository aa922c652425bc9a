"""One batch from many episodes, without a clock.

Rounding in a batched forward pass depends on the batch's shape, so a batch must not depend on timing. Episodes that
are played together advance in lock-step: their requests are sent when every episode that still runs waits for the
model, in the order of the episodes. Where the model takes requests while it decodes others, they share its forward
passes instead (:mod:`tape.lm.batch_scheduler`), and each goes on when its own request is answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

from tape.lm.base import BatchError, Completion, EndpointError, LanguageModel, Request, Usage, is_continuous, is_metered
from tape.lm.batch_scheduler import BatchScheduler
from tape.lm.wrapper import WrappedLM, require_all

Call: TypeAlias = Callable[[Sequence[Request]], Awaitable[list[Any]]]


@dataclass
class _Waiting:
    episode: int
    kind: str
    requests: Sequence[Request]
    future: asyncio.Future[list[Any]]


class EpisodeBatch:
    """Merges the requests of a fixed number of episodes.

    Args:
        model: The model underneath.
        episodes: How many there are; each calls :meth:`member` once and ``leave`` at its end.
    """

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
