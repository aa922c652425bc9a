"""Calls that wait for each other, so that an end without a clock shows what ran at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from tape.tools import ToolFailedError


class Meeting:
    """What is called, and how many calls run at once.

    Args:
        waits: For a tool the one that must have begun before it returns.
        fails: Tools that fail, each once.
        changes: Tools that are not pure.
    """

    def __init__(
        self, waits: Mapping[str, str] | None = None, fails: Sequence[str] = (), changes: Sequence[str] = ()
    ) -> None:
        self.log: list[str] = []
        self.running = self.most = 0
        self.changes = changes
        self._waits, self._fails = waits or {}, [*fails]
        self._begun: dict[str, asyncio.Event] = {}

    @asynccontextmanager
    async def call(self, name: str, note: str) -> AsyncIterator[None]:
        """A call of a tool, while it runs."""
        self.log.append(note)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            self._event(name).set()
            await asyncio.sleep(0)
            if name in self._waits:
                await self._event(self._waits[name]).wait()
            if name in self._fails:
                self._fails.remove(name)
                raise ToolFailedError("broken")
            yield
        finally:
            self.running -= 1

    def _event(self, name: str) -> asyncio.Event:
        return self._begun.setdefault(name, asyncio.Event())
