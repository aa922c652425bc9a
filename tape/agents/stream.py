"""The events of an episode while it is played: ``for event in agent.stream(env)``, or ``async for``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any

from tape.agents.options import Listener
from tape.engine.result import EpisodeResult
from tape.errors import ConfigError
from tape.trace import Event
from tape.waiting import is_running, one_loop


class EpisodeStream:
    """An episode that is played while its events are read; leaving the loop ends it.

    Args:
        play: Plays the episode, with a listener.
    """

    def __init__(self, play: Callable[[Listener], Coroutine[Any, Any, EpisodeResult]]) -> None:
        self._play = play
        self._result: EpisodeResult | None = None

    @property
    def result(self) -> EpisodeResult:
        """The result, once all events have been read.

        Raises:
            ConfigError: The episode has not ended.
        """
        if self._result is None:
            raise ConfigError("the stream has no result yet: read its events to the end first")
        return self._result

    async def __aiter__(self) -> AsyncIterator[Event]:
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        task = asyncio.get_running_loop().create_task(self._play(events.put_nowait))
        task.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
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


async def _next(events: AsyncIterator[Event]) -> Event | None:
    return await anext(events, None)


async def _closed(events: Any) -> None:
    await events.aclose()
