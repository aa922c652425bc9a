"""Connections over HTTP: how many there may be, and how long each may take.

A connection is anonymous until a request on it shows a token; then it is the client's. Anonymous connections, and those
of each client, have a limit of their own, and one that sends or reads nothing is closed.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

MOST_ANONYMOUS = 512
"""One more closes the oldest of them."""
MOST_OF_CLIENT = 64
"""One more closes one of its idle ones, or is refused. A connection carries one request at a time."""
HEAD_SECONDS = 10.0
"""For the head of a request to arrive, from the connection or from its first byte."""
STALL_SECONDS = 20.0
"""For a client to take what it is sent."""
TICK_SECONDS = 1
"""Between two checks of all connections."""


class Connections:
    """All connections of a server, by whose they are."""

    def __init__(self) -> None:
        self._anonymous: dict[Connection, None] = {}
        self._owned: dict[str, dict[Connection, None]] = {}

    def opened(self, connection: Connection) -> None:
        """Keep an anonymous connection, in the place of the oldest where there are too many."""
        if len(self._anonymous) >= MOST_ANONYMOUS:
            oldest = next(iter(self._anonymous))
            del self._anonymous[oldest]
            oldest.transport.abort()
        self._anonymous[connection] = None

    def owned(self, connection: Connection, client: str) -> bool:
        """Give a connection to the client whose token it has shown; False where that client has too many."""
        held = self._owned.setdefault(client, {})
        if connection in held:
            return True
        if len(held) >= MOST_OF_CLIENT:
            idle = next((item for item in held if not item.busy), None)
            if idle is None:
                return False
            del held[idle]
            idle.transport.abort()
        self.closed(connection)
        held[connection] = None
        return True

    def closed(self, connection: Connection) -> None:
        """Forget a connection."""
        self._anonymous.pop(connection, None)
        for held in self._owned.values():
            held.pop(connection, None)

    async def tick(self) -> None:
        """Close what takes too long."""
        now = asyncio.get_running_loop().time()
        for held in (self._anonymous, *self._owned.values()):
            for connection in list(held):
                if connection.is_overdue(now):
                    connection.transport.abort()


class Connection(H11Protocol):
    """One connection of uvicorn that knows how long it has waited.

    Attributes:
        registry: All of the server; set in a subclass.
    """

    registry: ClassVar[Connections]

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, {**app_state, "connection": self}, _loop)
        self._head_since: float | None = None
        self._unread_since: float | None = None

    @property
    def busy(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def belongs_to(self, client: str) -> bool:
        """Give it to a client; False where that client has too many."""
        return self.registry.owned(self, client)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time for the first request."""
        super().connection_made(transport)
        self._head_since = self.loop.time()
        self.registry.opened(self)

    def data_received(self, data: bytes) -> None:
        """Start the time for a further request at its first byte; stop it at the end of its head."""
        if not self.busy and self._head_since is None:
            self._head_since = self.loop.time()
        try:
            super().data_received(data)
        except ValueError:  # a length of more digits than Python reads
            self.transport.abort()
        if self.busy:
            self._head_since = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self.registry.closed(self)
        super().connection_lost(exc)

    def is_overdue(self, now: float) -> bool:
        """Whether its client neither sends a whole head nor reads what it is sent in time."""
        if not self.transport.get_write_buffer_size():
            self._unread_since = None
        elif self._unread_since is None:
            self._unread_since = now
        return (self._head_since is not None and now - self._head_since > HEAD_SECONDS) or (
            self._unread_since is not None and now - self._unread_since > STALL_SECONDS
        )
