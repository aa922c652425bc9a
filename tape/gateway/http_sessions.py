"""Sessions over HTTP: each client has so many slots for them, and a slot keeps what was spent in it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from tape.gateway.http_requests import refuse

OPENED_PER_SECOND = 1.0
"""Sessions of one client, after as many at once as twice its slots."""


@dataclass(eq=False)
class HttpSession:
    """A session of the protocol.

    Attributes:
        slot: Its number among those of its client.
        used: When its last request ended.
        posts: Requests that are being answered.
        streams: Streams that its client holds open.
    """

    slot: int
    used: float
    posts: int = 0
    streams: int = 0

    @contextmanager
    def using(self, method: str, clock: Callable[[], float]) -> Iterator[None]:
        """Count a request while it is being answered."""
        index = 1 if method == "POST" else 0
        self.posts += index
        self.streams += 1 - index
        try:
            yield
        finally:
            self.posts -= index
            self.streams -= 1 - index
            self.used = clock()


@dataclass
class _Client:
    """The sessions of a client: those that are open by their names, and slots of those that are being opened."""

    may_open: float
    since: float
    open: dict[str, HttpSession] = field(default_factory=dict)
    opening: set[int] = field(default_factory=set)


class Sessions:
    """Knows which sessions are open, and to which of them each request belongs.

    The slot of a session stands in the scope's state as ``slot``; 0 is that of all requests that belong to none.

    Args:
        app: The application of the SDK, whose sessions these are.
        ended: Called with client and slot of a session that has ended.
        most: Slots of each client.
        idle_seconds: After which a session without a request ends.
        clock: In seconds.
    """

    def __init__(
        self,
        app: Any,
        ended: Callable[[str, int], None],
        most: int,
        idle_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app, self._ended, self._most, self._idle_seconds = app, ended, most, idle_seconds
        self._clock = clock
        self._clients: dict[str, _Client] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request of ASGI."""
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        named = [value.decode("latin-1") for name, value in headers if name == b"mcp-session-id"]
        version = next((value.decode("latin-1") for name, value in headers if name == b"mcp-protocol-version"), None)
        client = scope["user"].username
        if version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS:  # it has no sessions, whatever is sent
            await self._app(_in_slot(scope, 0), receive, send)
        elif len(named) > 1:
            await refuse(send, 400, "a request belongs to one session")
        elif named:
            await self._go_on(client, named[0], scope, receive, send)
        elif scope["method"] != "POST":
            await refuse(send, 400, "this needs a session (mcp-session-id), which initialize opens")
        else:
            await self._open(client, scope, receive, send)

    async def _go_on(self, client: str, name: str, scope: Any, receive: Any, send: Any) -> None:
        sessions = self._of(client)
        session = sessions.open.get(name)
        if session is None:
            await refuse(send, 404, "Session not found: this client has none of that name; initialize opens one")
            return
        over = False

        async def watched(message: Any) -> None:
            nonlocal over
            if message["type"] == "http.response.start":
                over = message["status"] == 404 or (scope["method"] == "DELETE" and message["status"] < 300)
            await send(message)

        with session.using(scope["method"], self._clock):
            await self._app(_in_slot(scope, session.slot), receive, watched)
        if over:
            self._forget(client, name)

    async def _open(self, client: str, scope: Any, receive: Any, send: Any) -> None:
        sessions = self._of(client)
        now = self._clock()
        burst = 2 * self._most
        sessions.may_open = min(burst, sessions.may_open + (now - sessions.since) * OPENED_PER_SECOND)
        sessions.since = now
        if sessions.may_open < 1:
            await refuse(send, 429, f"a client opens at most {OPENED_PER_SECOND:g} session a second; go on with one")
            return
        sessions.may_open -= 1
        slot, evicted = self._free_slot(sessions)
        if slot is None:
            await refuse(send, 429, f"all {self._most} sessions of this client are being used; end one (most_sessions)")
            return

        async def watched(message: Any) -> None:
            if message["type"] == "http.response.start" and message["status"] < 300:
                names = [value.decode() for key, value in message["headers"] if key.lower() == b"mcp-session-id"]
                sessions.open.update({name: HttpSession(slot, self._clock()) for name in names})
            await send(message)

        sessions.opening.add(slot)
        try:
            if evicted is not None:
                self._forget(client, evicted)
                await self._end(evicted, scope)
            await self._app(_in_slot(scope, slot), receive, watched)
        finally:
            sessions.opening.discard(slot)

    def _free_slot(self, sessions: _Client) -> tuple[int | None, str | None]:
        """A slot for a session that is being opened, and the session that has to end for it."""
        taken = {session.slot for session in sessions.open.values()} | sessions.opening
        slot = next((number for number in range(1, self._most + 1) if number not in taken), None)
        idle = [(session.used, name) for name, session in sessions.open.items() if not session.posts]
        if slot is not None or not idle:
            return slot, None
        evicted = min(idle)[1]  # idle for longest
        return sessions.open[evicted].slot, evicted

    async def _end(self, name: str, scope: Any) -> None:
        """Have the SDK end a session."""
        kept = [(key, value) for key, value in scope["headers"] if key == b"host"]

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            """The answer is not used."""

        headers = [*kept, (b"mcp-session-id", name.encode())]
        await self._app({**scope, "method": "DELETE", "headers": headers}, receive, send)

    def _of(self, client: str) -> _Client:
        """The sessions of a client, without those that were idle for too long, which the SDK ends as well."""
        now = self._clock()
        sessions = self._clients.setdefault(client, _Client(2 * self._most, now))
        for name, session in list(sessions.open.items()):
            if not session.posts and not session.streams and now - session.used > self._idle_seconds:
                self._forget(client, name)
        return sessions

    def _forget(self, client: str, name: str) -> None:
        session = self._clients[client].open.pop(name, None)
        if session is not None:
            self._ended(client, session.slot)


def _in_slot(scope: Any, slot: int) -> Any:
    return {**scope, "state": {**scope["state"], "slot": slot}}
