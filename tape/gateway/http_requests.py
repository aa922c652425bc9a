"""Requests over HTTP: bodies within bounds of time and size, and a turn for each client."""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import itertools
import json
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

MOST_BODY_BYTES = 5 << 20
MOST_HELD_BYTES = 4 * MOST_BODY_BYTES
"""Of the bodies of one client that are being received or answered."""
MOST_VALUES = 100_000
"""Of JSON in a body, about: they take long to parse, texts do not."""
MOST_REQUESTS = 64
"""Of one client that are not answered."""
BODY_SECONDS = 20.0
"""For a whole body to arrive."""
TURNS_AT_ONCE, TURN_SECONDS = 2, 0.01
_BYTES_OF_A_TURN = 1 << 14
_TEXT = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


class BadRequestError(Exception):
    """A request that is not answered.

    Attributes:
        status: Of HTTP.
        message: What the client reads.
    """

    def __init__(self, status: int, message: str) -> None:
        self.status, self.message = status, message
        super().__init__(message)


_TOO_LARGE = BadRequestError(413, f"a request has at most {MOST_BODY_BYTES} bytes")


async def refuse(send: Any, status: int, message: str) -> None:
    """Answer by an error of JSON-RPC; a connection goes on whose client may send what it has not sent yet."""
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": message}}).encode()
    head = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status in (401, 403, 408):
        head.append((b"connection", b"close"))
    if status == 401:
        head.append((b"www-authenticate", b"Bearer"))
    elif status == 429:
        head.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})


@dataclass(frozen=True)
class HttpRoute:
    """What is served at a path beside the protocol.

    Attributes:
        app: An application of ASGI.
        tokens: By who comes with it; None where no token is needed, since nothing of the gateway is told.
    """

    app: Any
    tokens: Mapping[str, str] | None


class Turns:
    """Lets requests begin in the order of how much their clients have asked for lately (start-time fair queueing).

    A turn lasts until the request is answered, but not longer than :data:`TURN_SECONDS`: after that it waits for
    something, and another one may begin. So a client that floods the gateway waits for itself.

    P. Goyal, H. M. Vin, H. Cheng: Start-time fair queueing, 1996, section 2.
    """

    def __init__(self) -> None:
        self._free = TURNS_AT_ONCE
        self._begun = 0.0
        self._ends: dict[str, float] = {}
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()

    @contextlib.asynccontextmanager
    async def turn(self, client: str, cost: float) -> AsyncIterator[None]:
        """Wait for a turn.

        Args:
            client: Whose it is; clients come from the configuration, so they are few.
            cost: What it counts as; 1 for a small request.
        """
        loop = asyncio.get_running_loop()
        start = max(self._begun, self._ends.get(client, 0.0))
        self._ends[client] = start + cost
        mine: asyncio.Future[None] = loop.create_future()
        heapq.heappush(self._waiting, (start, next(self._numbers), mine))
        self._begin()
        try:
            await mine
        except asyncio.CancelledError:
            if not mine.cancelled():  # it had just begun
                self._end()
            raise
        held = True

        def end() -> None:
            nonlocal held
            if held:
                held = False
                self._end()

        timer = loop.call_later(TURN_SECONDS, end)
        try:
            yield
        finally:
            timer.cancel()
            end()

    def _begin(self) -> None:
        while self._free and self._waiting:
            start, _, waiting = heapq.heappop(self._waiting)
            if not waiting.done():
                self._free -= 1
                self._begun = start
                waiting.set_result(None)

    def _end(self) -> None:
        self._free += 1
        self._begin()


class Requests:
    """Receives the whole body of a request before the request has its turn.

    Args:
        app: The application behind it; the scope names the client as ``user``.
    """

    def __init__(self, app: Any) -> None:
        self._app = app
        self._turns = Turns()
        self._open: dict[str, int] = {}
        self._held: dict[str, int] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request of ASGI."""
        client: str = scope["user"].username
        body = bytearray()
        self._open[client] = self._open.get(client, 0) + 1
        try:
            if self._open[client] > MOST_REQUESTS:  # also of connections that are closed by now
                raise BadRequestError(
                    429, f"{MOST_REQUESTS} requests of this client are not answered yet; wait for them"
                )
            if not await self._receive(client, scope, receive, body):
                return
        except BadRequestError as error:
            await refuse(send, error.status, error.message)
        else:
            async with self._turns.turn(client, 1 + len(body) / _BYTES_OF_A_TURN):
                await self._app(scope, _replayed(bytes(body), receive), send)
        finally:
            self._open[client] -= 1
            self._held[client] = self._held.get(client, 0) - len(body)

    async def _receive(self, client: str, scope: Any, receive: Any, body: bytearray) -> bool:
        """Receive a body; False where its client hangs up."""
        declared = [int(value) for name, value in scope["headers"] if name == b"content-length"]  # checked by h11
        if any(length > MOST_BODY_BYTES for length in declared):
            raise _TOO_LARGE
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while (message := await receive())["type"] == "http.request":
                    chunk = message.get("body", b"")
                    body += chunk
                    self._held[client] = self._held.get(client, 0) + len(chunk)
                    if len(body) > MOST_BODY_BYTES:
                        raise _TOO_LARGE
                    if self._held[client] > MOST_HELD_BYTES:
                        raise BadRequestError(
                            429, f"the requests of this client have over {MOST_HELD_BYTES} bytes; wait"
                        )
                    if not message.get("more_body", False):
                        break
                else:
                    return False
        except TimeoutError:
            raise BadRequestError(408, f"the body did not arrive within {BODY_SECONDS:g} seconds") from None
        if _has_many_values(body):
            raise BadRequestError(413, f"a request has at most {MOST_VALUES} values of JSON")
        return True


def _has_many_values(body: bytearray) -> bool:
    """Whether a body would take long to parse, found in much less time than that."""

    def values(of: bytes | bytearray) -> int:
        return sum(map(of.count, (b",", b"[", b"{")))

    if values(body) <= MOST_VALUES:
        return False
    texts = (body.count(b'"') - body.count(b'\\"')) // 2
    return texts > MOST_VALUES or values(_TEXT.sub(b"", body)) > MOST_VALUES  # a text may have many commas


def _replayed(body: bytes, receive: Any) -> Any:
    """What an application receives whose body has been received before."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Any:
        return messages.pop() if messages else await receive()

    return replay
