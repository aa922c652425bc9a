"""The process of an MCP server: its lines within bounds, its last words, and its end with all that it has started."""

from __future__ import annotations

import asyncio
import os
import signal
import weakref
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

MOST_BYTES = 20 << 20
"""Bytes of one message; a longer one is not kept. A result of 4 MiB may stand in it twice, as text and as data, with
escapes."""

_INHERITED = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "SYSTEMROOT", "TEMP")
_CHUNK = 1 << 16
_TAIL = 4096
"""Bytes of what it writes to stderr that are kept: the last ones."""

_END_SECONDS, _TERM_SECONDS, _KILL_SECONDS = 1.0, 0.5, 1.0
"""How long it may take to end once its input is closed; after SIGTERM; once it is killed."""
_POLL_SECONDS = 0.01


class ServerProcess:
    """A running server and its process group."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._words = b""
        self._gone = False
        self._hearing = asyncio.create_task(self._hear())
        # It does not outlive this object, even where the event loop or its owner is gone.
        self._last_resort = weakref.finalize(self, _signal_group, process.pid, _KILL)

    @classmethod
    async def start(cls, command: Sequence[str], env: Mapping[str, str], cwd: str | Path | None) -> ServerProcess:
        """Start a server."""
        pipe = asyncio.subprocess.PIPE
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=cwd, env=inherited | dict(env), start_new_session=True
        )
        return cls(process)

    async def lines(self) -> AsyncIterator[bytes | int]:
        """What it writes, line by line.

        Of a line that is too long only sizes come, in bytes: first of its beginning, above :data:`MOST_BYTES`, then of
        each further piece, far below that.
        """
        assert self._process.stdout is not None
        held, skipping = bytearray(), False
        while chunk := await self._process.stdout.read(_CHUNK):
            *ends, rest = chunk.split(b"\n")
            for end in ends:
                if not skipping:
                    yield bytes(held + end)
                held.clear()
                skipping = False
            if skipping:
                yield len(rest)
            else:
                held += rest
            if len(held) > MOST_BYTES:
                yield len(held)
                held.clear()
                skipping = True
            await asyncio.sleep(0)  # what was written is read without waiting, but others have to go on too
        # The number of a group that is gone may soon be another group's.
        self._gone = await self._ended(_TERM_SECONDS) and not _signal_group(self._process.pid, 0)
        if self._gone:
            self._last_resort.detach()

    async def _hear(self) -> None:
        """Keep the end of what it writes to stderr; unread, the pipe would fill and block it."""
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(_CHUNK):
            self._words = (self._words + chunk)[-_TAIL:]
            await asyncio.sleep(0)

    async def last_words(self) -> str:
        """The end of what it has written to stderr; of a server that has ended, all of it has arrived."""
        if self._process.returncode is not None:
            await asyncio.wait([self._hearing], timeout=_TERM_SECONDS)
        return self._words.decode("utf-8", "replace").strip()

    def write(self, line: bytes) -> None:
        """Send it a line; whether it takes it, its answer shows."""
        assert self._process.stdin is not None
        if self._process.stdin.is_closing():
            raise BrokenPipeError("its input is closed")
        self._process.stdin.write(line)

    def write_if_ready(self, line: bytes) -> None:
        """Send it a line of which nothing depends, unless it does not read what it is sent."""
        stdin = self._process.stdin
        assert stdin is not None
        if not stdin.is_closing() and stdin.transport.get_write_buffer_size() < _CHUNK:
            stdin.write(line)

    def kill(self) -> None:
        """End it and its group at once."""
        if not self._gone:
            _signal_group(self._process.pid, _KILL)

    async def stop(self) -> None:
        """Close its input, end its group by SIGTERM, kill what is left: all within three seconds."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
            await self._ended(_END_SECONDS)
            if not self._gone and _signal_group(self._process.pid, signal.SIGTERM):
                await self._ended(_TERM_SECONDS, group=True)
        finally:
            self.kill()
            try:
                await self._ended(_KILL_SECONDS)
            finally:
                self._last_resort.detach()
                self._hearing.cancel()
                # It would stay open while a process that has left the group holds a pipe.
                with suppress(OSError):
                    self._process._transport.close()  # type: ignore[attr-defined]

    async def _ended(self, seconds: float, *, group: bool = False) -> bool:
        """Wait until it has ended, and, if that is asked for, its group too; False where time is up before."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        # Its own wait() waits for the pipes too, which a child that it leaves behind may hold.
        while self._process.returncode is None or (group and _signal_group(self._process.pid, 0)):
            if loop.time() > until:
                return False
            await asyncio.sleep(_POLL_SECONDS)
        return True


_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


def _signal_group(leader: int, number: int) -> bool:
    """Signal a process group, or, by 0, ask whether there is one; False where there is none."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(leader, number)
        elif number:
            os.kill(leader, number)
    except OSError:
        return False
    return True
