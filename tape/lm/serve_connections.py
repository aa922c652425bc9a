"""Connections and turns of :mod:`tape.lm.serve`: so many at a time, so long each, one request after the other."""

from __future__ import annotations

import io
import json
import socket
import socketserver
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MOST_CONNECTIONS = 64
MOST_WAITING = 32
"""Requests that wait for the model."""
_LOOK_SECONDS = 0.05


def error_body(status: int, message: str) -> dict[str, Any]:
    """What OpenAI answers where a request was refused or failed."""
    kinds = {401: "authentication_error", 429: "rate_limit_error"}
    kind = kinds.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


class BusyError(Exception):
    """Too many wait."""


class GoneError(Exception):
    """Nobody waits for the answer any more."""


class Turns:
    """Lets requests at the model one after the other, as they came: it decodes one batch at a time."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: deque[object] = deque()

    @contextmanager
    def next(self, gone: Callable[[], bool]) -> Iterator[None]:
        """Wait for one's turn, and have it.

        Raises:
            BusyError: Too many wait already.
            GoneError: Who asked has left meanwhile.
        """
        mine = object()
        with self._changed:
            if len(self._queue) > MOST_WAITING:
                raise BusyError
            self._queue.append(mine)
        try:
            with self._changed:
                while self._queue[0] is not mine and not gone():
                    self._changed.wait(_LOOK_SECONDS)
            if gone():
                raise GoneError
            yield
        finally:
            with self._changed:
                self._queue.remove(mine)
                self._changed.notify_all()


class Server(ThreadingHTTPServer):
    """A thread for each connection, and no more of them than :data:`MOST_CONNECTIONS`."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(
        self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], family: socket.AddressFamily
    ) -> None:
        self.address_family = family
        self._open = 0
        self._counting = threading.Lock()
        super().__init__(address, handler)

    def server_bind(self) -> None:
        """Listen, without asking a name server for this machine's name."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        """Start a thread for a connection, or turn it away."""
        with self._counting:
            full = self._open >= MOST_CONNECTIONS
            self._open += not full
        if not full:
            super().process_request(request, client_address)
            return
        raw = json.dumps(error_body(503, "too many connections; try again later")).encode()
        head = f"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: {len(raw)}\r\n"
        with suppress(OSError):
            request.setblocking(False)
            request.send(f"{head}Retry-After: 1\r\nConnection: close\r\n\r\n".encode() + raw)
        self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._counting:
                self._open -= 1

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - as its base class has it
        """Say in one line what went wrong; that a client hung up is no error."""
        error = sys.exception()
        if not isinstance(error, OSError):
            print(f"tape serve: a connection failed: {type(error).__name__}: {error}", file=sys.stderr)


class TimedReader(io.RawIOBase):
    """What comes from a socket before a deadline, however slowly it drips."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.deadline = 0.0

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Wait for bytes.

        Raises:
            TimeoutError: The deadline has passed.
        """
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)
