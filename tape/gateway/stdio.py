"""The client's two pipes: a client that no longer reads, or no longer writes, never holds the gateway up."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.stdio import stdio_server

from tape.budget.deadline import in_thread

LAST_SECONDS = 2.0
"""How long the last answers may take after the client has closed its end."""

_CHUNK = 1 << 16


@asynccontextmanager
async def client_streams() -> AsyncIterator[tuple[Any, Any]]:
    """The streams of messages from and to the client, until it hangs up.

    The SDK's own streams read and write in threads that it waits for: a client that has closed one pipe alone would
    keep the gateway and all its servers alive. What else writes to standard output goes to standard error meanwhile.
    """
    loop = asyncio.get_running_loop()
    reading, writing = _moved(0, os.open(os.devnull, os.O_RDONLY)), _moved(1, os.dup(2))
    rest = asyncio.timeout(None)
    try:
        async with rest, stdio_server(_Lines(reading), _Answers(writing)) as streams:
            yield streams
            rest.reschedule(loop.time() + LAST_SECONDS)
    except* BrokenPipeError:
        pass  # the client does not read what is answered
    except* TimeoutError:
        if not rest.expired():
            raise
    finally:
        os.dup2(reading, 0)
        os.dup2(writing, 1)


def _moved(descriptor: int, other: int) -> int:
    """Put another file in the place of a standard one; returns where that is now."""
    kept = os.dup(descriptor)
    os.dup2(other, descriptor)
    os.close(other)
    return kept


class _Lines:
    """What the client writes, line by line."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def __aiter__(self) -> AsyncIterator[str]:
        held = bytearray()
        while chunk := await in_thread(lambda: os.read(self._descriptor, _CHUNK), "tape gateway: input"):
            *ends, rest = chunk.split(b"\n")
            for end in ends:
                yield (held + end).decode("utf-8", "replace")
                held.clear()
            held += rest


class _Answers:
    """What is written to the client."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def write(self, text: str) -> None:
        await in_thread(lambda: self._write(text.encode()), "tape gateway: output")

    async def flush(self) -> None:
        """Nothing is held back."""

    def _write(self, left: bytes) -> None:
        while left:
            left = left[os.write(self._descriptor, left) :]
