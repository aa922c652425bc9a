"""The events of an episode while it is played: ``for event in agent.stream(env)``, or ``async for``.

The episode keeps pace with its reader: nothing is asked of a model and nothing is done before the events so far are
read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Generic

from tape.agents.options import Listener, PacedListener
from tape.errors import ConfigError
from tape.protocols import AnswerT
from tape.protocols.result import EpisodeResult
from tape.trace import Event
from tape.waiting import is_running, one_loop


class EpisodeStream(Generic[AnswerT]):
    """An episode that is played while its events are read; leaving the loop ends it."""

    def __init__(self, play: Callable[[Listener], Coroutine[Any, Any, EpisodeResult[AnswerT]]]) -> None:
        self._play = play
        self._result: EpisodeResult[AnswerT] | None = None

    @property
    def result(self) -> EpisodeResult[AnswerT]:
        """The result, once all events have been read.

        Raises:
            ConfigError: The episode has not ended.
        """
        if self._result is None:
            raise ConfigError("the stream has no result yet: read its events to the end first")
        return self._result

    async def __aiter__(self) -> AsyncIterator[Event]:
        events = _Events()
        task = asyncio.get_running_loop().create_task(self._play(events))
        task.add_done_callback(lambda _: events.queue.put_nowait(None))
        try:
            while (event := await events.queue.get()) is not None:
                yield event
                events.queue.task_done()
            self._result = await task
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])

    def __iter__(self) -> Iterator[Event]:
        if is_running():
            raise ConfigError("an event loop is running here; write `async for event in agent.stream(env)`")
        with one_loop() as run:
            events = self.__aiter__()
            try:
                while (event := run(_next(events))) is not None:
                    yield event
            finally:
                run(_closed(events))


class _Events(PacedListener):
    """The events that were not read yet."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[Event | None] = asyncio.Queue()

    def __call__(self, event: Event) -> None:
        """Add one."""
        self.queue.put_nowait(event)

    async def read(self) -> None:
        """Wait until all are read."""
        await self.queue.join()
        await asyncio.sleep(0)


async def _next(events: AsyncIterator[Event]) -> Event | None:
    return await anext(events, None)


async def _closed(events: Any) -> None:
    await events.aclose()
