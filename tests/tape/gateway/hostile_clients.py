"""Ten hostile clients of a gateway: ``python -m tests.tape.gateway.hostile_clients ADDRESS SEED COUNT``.

Each has a token of its own, in ``HOSTILE_0`` to ``HOSTILE_9``, or none. Ends when COUNT requests (or connections with
something that should become one) were sent, and prints how many each has sent and what was answered.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import random
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from tests.tape.gateway.over_http import HELLO, message, stateless


@dataclass
class Field:
    """Where the clients meet.

    Attributes:
        address: Host and port.
        count: Requests that are sent in all.
        sent: By client.
        answers: By client and status; 0 where the connection was closed instead.
    """

    address: str
    count: int
    sent: Counter[str] = field(default_factory=Counter)
    answers: dict[str, Counter[int]] = field(default_factory=dict)

    def goes_on(self, client: str) -> bool:
        """Count a request; whether it is still to be sent."""
        if sum(self.sent.values()) >= self.count:
            return False
        self.sent[client] += 1
        return True

    def answered(self, client: str, status: int) -> None:
        self.answers.setdefault(client, Counter())[status] += 1

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, _, port = self.address.partition(":")
        return await asyncio.open_connection(host, int(port))


def head(method: str, length: int | None, **headers: str) -> bytes:
    lines = [f"{method} /mcp HTTP/1.1", "Host: localhost:1", "Content-Type: application/json"]
    lines += ["Accept: application/json, text/event-stream"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    lines += [] if length is None else [f"Content-Length: {length}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    """Status and headers of an answer whose body is read; status 0 where there is none."""
    line = await reader.readline()
    if not line.startswith(b"HTTP/1.1 "):
        return 0, {}
    found: dict[str, str] = {}
    while (one := await reader.readline()).strip():
        name, _, value = one.decode("latin-1").partition(":")
        found[name.lower()] = value.strip()
    if "content-length" in found:
        await reader.readexactly(int(found["content-length"]))
    elif found.get("transfer-encoding") == "chunked":
        while size := int(await reader.readline(), 16):
            await reader.readexactly(size + 2)
        await reader.readline()
    return int(line.split()[1]), found


async def exchange(
    ground: Field, client: str, raw: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> tuple[int, dict[str, str]]:
    writer.write(raw)
    await writer.drain()
    status, headers = await answer(reader)
    ground.answered(client, status)
    return status, headers


async def over(ground: Field, client: str, raws: Callable[[], bytes], at_once: int = 30) -> None:
    """Send requests on connections that go on as long as they may."""

    async def one() -> None:
        while sum(ground.sent.values()) < ground.count:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, ValueError):
                reader, writer = await ground.connect()
                try:
                    while ground.goes_on(client):
                        if not (await exchange(ground, client, raws(), reader, writer))[0]:
                            break
                finally:
                    writer.transport.abort()

    await asyncio.gather(*(one() for _ in range(at_once)))


async def left_open(ground: Field, client: str, raw: Callable[[], bytes], drip: bytes, at_once: int) -> None:
    """Begin something on many connections, send a byte now and then, and never end it."""

    async def one() -> None:
        while ground.goes_on(client):
            with contextlib.suppress(OSError):
                reader, writer = await ground.connect()
                try:
                    writer.write(raw())
                    while sum(ground.sent.values()) < ground.count and not reader.at_eof():
                        with contextlib.suppress(TimeoutError):
                            await asyncio.wait_for(reader.read(65536), 0.5)
                        writer.write(drip)
                        await writer.drain()
                finally:
                    ground.answered(client, 0)
                    writer.transport.abort()

    await asyncio.gather(*(one() for _ in range(at_once)))


async def slow_readers(ground: Field, client: str, rng: random.Random, token: str) -> None:
    """Ask for much, many times on one connection, and read nothing."""
    body, headers = stateless("echo", text="x" * 100_000)
    raw = head("POST", len(body), Authorization=token, **headers) + body

    async def one() -> None:
        while ground.goes_on(client):
            with contextlib.suppress(OSError, TimeoutError):
                _, writer = await ground.connect()
                try:
                    for _ in range(200):
                        if not ground.goes_on(client):
                            break
                        writer.write(raw)
                        await asyncio.wait_for(writer.drain(), 30)
                finally:
                    writer.transport.abort()

    await asyncio.gather(*(one() for _ in range(10)))


async def session_flood(ground: Field, client: str, rng: random.Random, token: str) -> None:
    """Open sessions as fast as they are opened."""
    body = HELLO.splitlines()[0]
    await over(ground, client, lambda: head("POST", len(body), Authorization=token) + body)


async def made_up(ground: Field, client: str, rng: random.Random, token: str) -> None:
    """Make up a session for each call, in either era."""
    old = message(2, "tools/call", name="echo", arguments={"text": "x"})
    new, headers = stateless("echo", text="x")

    def raw() -> bytes:
        session = f"{rng.getrandbits(128):032x}"
        if rng.random() < 0.3:
            return head("POST", len(old), Authorization=token, Mcp_Session_Id=session) + old
        return head("POST", len(new), Authorization=token, Mcp_Session_Id=session, **headers) + new

    await over(ground, client, raw)


async def huge_bodies(ground: Field, client: str, rng: random.Random, token: str) -> None:
    """Send bodies that are long, deep, or long to parse."""

    def raw() -> bytes:
        body, headers = stateless("echo", text=["x"])
        inside = rng.choice([b"[]," * 80_000 + b"[]", b"1," * 1_000_000 + b"1", b"[" * 5_000, b'"' + b"x" * 4_000_000])
        body = body.replace(b'["x"]', b"[" + inside + b"]")
        return head("POST", len(body), Authorization=token, **headers) + body

    await over(ground, client, raw, 8)


async def wrong_tokens(ground: Field, client: str, rng: random.Random, token: str) -> None:
    """Guess tokens."""
    body = HELLO.splitlines()[0]
    await over(
        ground, client, lambda: head("POST", len(body), Authorization=f"Bearer {rng.getrandbits(128):x}") + body, 60
    )


async def delete_storm(ground: Field, client: str, rng: random.Random, token: str) -> None:
    """End sessions, its own and those that it makes up."""
    body, mine = HELLO.splitlines()[0], list[str]()

    async def one() -> None:
        while sum(ground.sent.values()) < ground.count:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, ValueError):
                reader, writer = await ground.connect()
                try:
                    while ground.goes_on(client):
                        raw = head("POST", len(body), Authorization=token) + body
                        if rng.random() < 0.9:
                            name = mine.pop() if mine else f"{rng.getrandbits(128):032x}"
                            raw = head("DELETE", None, Authorization=token, Mcp_Session_Id=name)
                        status, headers = await exchange(ground, client, raw, reader, writer)
                        if not status:
                            break
                        mine.extend([headers["mcp-session-id"]] if "mcp-session-id" in headers else [])
                finally:
                    writer.transport.abort()

    await asyncio.gather(*(one() for _ in range(20)))


async def streams(ground: Field, client: str, rng: random.Random, token: str) -> None:
    """Hold streams open, and send the heads of further ones byte by byte."""
    body = HELLO.splitlines()[0]

    async def one() -> None:
        while ground.goes_on(client):
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, ValueError):
                reader, writer = await ground.connect()
                try:
                    raw = head("POST", len(body), Authorization=token) + body
                    _, headers = await exchange(ground, client, raw, reader, writer)
                    raw = head("GET", None, Authorization=token, Mcp_Session_Id=headers.get("mcp-session-id", "x"))
                    writer.write(raw)
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(reader.read(65536), rng.random())
                    for byte in raw[: rng.randrange(20)]:
                        writer.write(bytes([byte]))
                        await asyncio.sleep(0.05)
                finally:
                    writer.transport.abort()

    await asyncio.gather(*(one() for _ in range(60)))


async def half_heads(ground: Field, client: str, rng: random.Random, token: str) -> None:
    """Hold connections that show no token."""
    raw = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-"
    await left_open(ground, client, lambda: raw[: rng.randrange(len(raw))], b"x", 400)


async def half_bodies(ground: Field, client: str, rng: random.Random, token: str) -> None:
    """Hold connections whose body goes on and on."""
    raw = head("POST", 100_000, Authorization=token) + b'{"jsonrpc": '
    await left_open(ground, client, lambda: raw, b" ", 100)


async def many_connections(ground: Field, client: str, rng: random.Random, token: str) -> None:
    """Ask once on each of many connections, and keep them."""
    body, headers = stateless("budget")
    raw = head("POST", len(body), Authorization=token, **headers) + body
    await left_open(ground, client, lambda: raw, b"", 200)


CLIENTS: list[Callable[[Field, str, random.Random, str], Awaitable[None]]] = [
    half_heads, half_bodies, slow_readers, made_up, session_flood, huge_bodies, many_connections, wrong_tokens,
    delete_storm, streams,
]  # fmt: skip


async def attack(address: str, seed: int, count: int) -> Field:
    """Let all clients loose until so many requests were sent."""
    ground = Field(address, count)
    await asyncio.gather(
        *(
            client(
                ground, client.__name__, random.Random(seed * 100 + number), f"Bearer {os.environ[f'HOSTILE_{number}']}"
            )
            for number, client in enumerate(CLIENTS)
        )
    )
    return ground


if __name__ == "__main__":
    with contextlib.suppress(OSError):
        os.nice(10)
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # a connection that is closed is what they are for
    done = asyncio.run(attack(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
    answers = {
        client: {str(status): n for status, n in sorted(found.items())} for client, found in done.answers.items()
    }
    print(json.dumps({"sent": dict(done.sent), "answers": answers}))
