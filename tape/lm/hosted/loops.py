"""One client per event loop: its connections belong to the loop, and every batch runs in a loop of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from tape.lm.hosted.wire import Wire, WireSession


class InLoop:
    """Client and call limit of one event loop."""

    def __init__(self, wire: Wire, concurrency: int) -> None:
        self._wire = wire
        self._slots = asyncio.Semaphore(concurrency)
        self._session: WireSession | None = None
        self._keeper: AsyncGenerator[None, None] | None = None

    async def __aenter__(self) -> WireSession:
        if self._session is None:
            self._session = self._wire.open()
            self._keeper = _kept(self._session)
            await anext(self._keeper)
        await self._slots.acquire()
        return self._session

    async def __aexit__(self, *_: Any) -> None:
        self._slots.release()


async def _kept(session: WireSession) -> AsyncGenerator[None, None]:
    """Closes a client with its event loop.

    ``asyncio.run`` closes generators that were begun in its loop before it closes the loop itself, so connections
    are given back where they belong, whoever runs the loop.
    """
    try:
        yield
    finally:
        await session.close()
