"""Connections of the gateway over HTTP: whose they are, how many, and for how long."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

import uvicorn
from uvicorn.server import ServerState

from tape.gateway import http_connections
from tape.gateway.http import _allow_files
from tape.gateway.http_connections import HEAD_SECONDS, STALL_SECONDS, Connection, Connections

HEAD = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n"


class Pipe(asyncio.Transport):
    """A transport to nowhere.

    Attributes:
        unread: Bytes that the other end has not taken.
        aborted: Whether it was cut off.
    """

    def __init__(self) -> None:
        super().__init__()
        self.unread = 0
        self.aborted = False

    def get_write_buffer_size(self) -> int:
        return self.unread

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.unread += len(data)

    def pause_reading(self) -> None: ...

    resume_reading = pause_reading

    def is_closing(self) -> bool:
        return self.aborted

    def abort(self) -> None:
        self.aborted = True

    close = abort


class Bench:
    """Makes connections to an application that answers when ``answer`` is set."""

    def __init__(self) -> None:
        self.answer = asyncio.Event()

        class Bound(Connection):
            registry = Connections()

        self.registry = Bound.registry
        config = uvicorn.Config(self._app, http=Bound, ws="none", lifespan="off", interface="asgi3", log_config=None)
        self._make = partial(Bound, config, ServerState(), {})

    async def _app(self, scope: Any, receive: Any, send: Any) -> None:
        await self.answer.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    def connect(self) -> tuple[Connection, Pipe]:
        pipe = Pipe()
        connection = self._make()
        connection.connection_made(pipe)
        return connection, pipe


async def test_an_anonymous_connection_more_closes_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_connections, "MOST_ANONYMOUS", 3)
    bench = Bench()
    pairs = [bench.connect() for _ in range(3)]
    assert pairs[1][0].belongs_to("one")  # so it takes the place of none of the others
    more = [bench.connect() for _ in range(3)]
    assert [pipe.aborted for _, pipe in pairs + more] == [True, False, True, False, False, False]


async def test_a_connection_more_of_a_client_closes_an_idle_one_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_connections, "MOST_OF_CLIENT", 2)
    bench = Bench()
    (item, _), (two, idle), (three, _), (other, _) = (bench.connect() for _ in range(4))
    for connection in (item, three, other):
        connection.data_received(HEAD)
    for connection, client in ((other, "other"), (item, "one"), (two, "one"), (three, "one")):
        assert connection.belongs_to(client)
    assert idle.aborted
    four, refused = bench.connect()
    four.data_received(HEAD)
    assert not four.belongs_to("one")  # both are answering
    assert not refused.aborted
    assert item.belongs_to("one")
    item.connection_lost(None)
    assert four.belongs_to("one")


async def test_heads_have_a_deadline_and_bodies_another() -> None:
    bench = Bench()
    connection, _ = bench.connect()
    now = asyncio.get_running_loop().time
    assert not connection.is_overdue(now())
    assert connection.is_overdue(now() + HEAD_SECONDS + 1)
    connection.data_received(HEAD[:30])
    assert connection.is_overdue(now() + HEAD_SECONDS + 1)
    connection.data_received(HEAD[30:] + b"12")
    assert not connection.is_overdue(now() + HEAD_SECONDS + 1)
    connection.data_received(b"345")
    bench.answer.set()
    while connection.busy:
        await asyncio.sleep(0)
    connection.transport.unread = 0  # type: ignore[attr-defined]
    assert not connection.is_overdue(now() + HEAD_SECONDS + 1)  # kept alive, for as long as uvicorn does
    connection.data_received(b"P")
    assert connection.is_overdue(now() + HEAD_SECONDS + 1)


async def test_a_client_that_reads_nothing_is_hung_up_on() -> None:
    bench = Bench()
    connection, pipe = bench.connect()
    connection.data_received(HEAD + b"12345")
    now = asyncio.get_running_loop().time()
    pipe.unread = 100
    assert not connection.is_overdue(now)
    assert not connection.is_overdue(now + STALL_SECONDS)
    pipe.unread = 0
    assert not connection.is_overdue(now + STALL_SECONDS + 1)
    pipe.unread = 100
    assert not connection.is_overdue(now + STALL_SECONDS + 2)
    assert connection.is_overdue(now + 2 * STALL_SECONDS + 3)
    await bench.registry.tick()
    assert not pipe.aborted
    connection._unread_since = now - STALL_SECONDS - 1
    await bench.registry.tick()
    assert pipe.aborted


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="limits of open files are those of Linux here")
def test_more_files_may_be_open_where_that_is_allowed() -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        for low, wanted in ((300, 400), (400, 350)):
            resource.setrlimit(resource.RLIMIT_NOFILE, (low, hard))
            _allow_files(wanted)
            assert resource.getrlimit(resource.RLIMIT_NOFILE) == (400, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
