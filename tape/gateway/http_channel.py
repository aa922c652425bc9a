"""The way to a downstream server over streamable HTTP: lines out, lines in, within bounds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

import httpx2

from tape.gateway.errors import NO_ANSWER
from tape.tools.errors import ToolFailedError
from tape.tools.mcp_process import MOST_BYTES
from tape.tools.mcp_session import number_of, read_message

_TYPES = "application/json, text/event-stream"
_CONNECT_SECONDS, _END_SECONDS = 10.0, 2.0
_MOST_QUEUED = 64
_MOST_SAID = 200


class HttpChannel:
    """Posts each line, and hands on what comes back, as a process does by its pipes.

    Redirects are not followed: what is secret in a header goes to the configured address only.
    """

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url = url
        timeout = httpx2.Timeout(None, connect=_CONNECT_SECONDS)
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
        self._client = httpx2.AsyncClient(headers=dict(headers), timeout=timeout, limits=limits, follow_redirects=False)
        self._lines: asyncio.Queue[bytes | int | None] = asyncio.Queue(_MOST_QUEUED)
        self._posts: set[asyncio.Task[None]] = set()
        self._notified: asyncio.Task[None] | None = None
        """The last notification; what is sent after it has to arrive after it."""
        self._more: dict[str, str] = {}
        self._closed = False

    async def lines(self) -> AsyncIterator[bytes | int]:
        """What it answers, message by message."""
        while (line := await self._lines.get()) is not None:
            yield line

    def write(self, line: bytes) -> None:
        """Send a message.

        Raises:
            BrokenPipeError: The channel is closed.
        """
        if self._closed:
            raise BrokenPipeError("the connection is closed")
        message = json.loads(line)
        post = asyncio.create_task(self._post(line, message, self._notified))
        self._posts.add(post)
        post.add_done_callback(self._posts.discard)
        if "id" not in message:
            self._notified = post

    def write_if_ready(self, line: bytes) -> None:
        """Send a message of which nothing depends."""
        if not self._closed and len(self._posts) < _MOST_QUEUED:
            self.write(line)

    def kill(self) -> None:
        """Give up all requests."""
        self._closed = True
        for post in self._posts:
            post.cancel()

    async def stop(self) -> None:
        """Give up all requests, end the session at the server where there is one, and close the connections."""
        self.kill()
        try:
            if "mcp-session-id" in self._more:
                with suppress(httpx2.HTTPError, TimeoutError):
                    async with asyncio.timeout(_END_SECONDS):
                        await self._client.delete(self._url, headers=self._more)
        finally:
            await self._client.aclose()
            if not self._lines.full():
                self._lines.put_nowait(None)

    async def _post(self, line: bytes, message: Mapping[str, Any], before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait([before])
        problem, answered, lost = "it has ended the answer", False, False
        try:
            head = {"accept": _TYPES, "content-type": "application/json", **self._more}
            async with self._client.stream("POST", self._url, content=line, headers=head) as response:
                if (session := response.headers.get("mcp-session-id")) and message.get("method") == "initialize":
                    self._more["mcp-session-id"] = session
                kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
                if response.status_code >= 300:
                    problem = f"HTTP status {response.status_code}"
                    lost = response.status_code == 404 and "mcp-session-id" in self._more  # by the protocol
                elif response.status_code == 202 or "id" not in message:
                    return
                elif kind == "text/event-stream":
                    async for data in _events(response):
                        answered |= await self._take(data, message)
                elif kind == "application/json":
                    answered = await self._take(await _body(response), message)
                else:
                    problem = f"it answers {kind[:_MOST_SAID]!r}, not JSON or events"
        except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL) as error:
            problem = f"{type(error).__name__}: {str(error)[:_MOST_SAID]}"
        if "id" in message and not answered:
            error_ = {"code": NO_ANSWER, "message": f"{NO_ANSWER}: {problem}"}
            await self._lines.put(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error_}).encode())
        if lost:
            await self._lines.put(None)

    async def _take(self, data: bytes | int, message: Mapping[str, Any]) -> bool:
        """Hand a message on; whether it is the answer."""
        await self._lines.put(data)
        if isinstance(data, int):
            return True  # the reader of the lines reports that it is too long
        try:
            answer, _ = read_message(data)
        except ToolFailedError:
            return False
        if message.get("method") == "initialize" and isinstance(result := answer.get("result"), Mapping):
            self._more["mcp-protocol-version"] = str(result.get("protocolVersion"))[:_MOST_SAID]
        return "method" not in answer and number_of(answer) == message["id"]


async def _body(response: Any) -> bytes | int:
    held = bytearray()
    async for chunk in response.aiter_bytes():
        held += chunk
        if len(held) > MOST_BYTES:
            return len(held)
    return bytes(held)


async def _events(response: Any) -> AsyncIterator[bytes | int]:
    """The data of each event; of one that is too long its size."""
    line, data = bytearray(), bytearray()
    async for chunk in response.aiter_bytes():
        *ends, rest = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for end in ends:
            line += end
            if line.startswith(b"data:"):
                data += line[5:].lstrip() + b"\n"
            elif not line and data:
                yield bytes(data).strip()
                data.clear()
            line.clear()
        line += rest
        if len(line) + len(data) > MOST_BYTES:
            yield len(line) + len(data)
            return
    if data:
        yield bytes(data).strip()
