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
from dataclasses import dataclass

from tests.tape.gateway.over_http import HELLO, message, stateless


class Field:
    """Where the clients meet.

    Args:
        address: Host and port.
        count: Requests that are sent in all.

    Attributes:
        sent: By client.
        answers: By client and status; 0 where the connection was closed instead.
    """

    def __init__(self, address: str, count: int) -> None:
        self.host, _, self.port = address.partition(":")
        self.count = count
        self.sent: Counter[str] = Counter()
        self.answers: dict[str, Counter[int]] = {}

    def is_over(self) -> bool:
        return sum(self.sent.values()) >= self.count


@dataclass
class Client:
    """One of them, which does one thing on many connections at once."""

    ground: Field
    name: str
    rng: random.Random
    token: str

    def goes_on(self) -> bool:
        """Count a request; whether it is still to be sent."""
        if self.ground.is_over():
            return False
        self.ground.sent[self.name] += 1
        return True

    def answered(self, status: int) -> None:
        self.ground.answers.setdefault(self.name, Counter())[status] += 1

    def session(self) -> str:
        """A session that it makes up."""
        return f"{self.rng.getrandbits(128):032x}"

    def request(self, body: bytes, **headers: str) -> bytes:
        return head("POST", len(body), **{"Authorization": self.token, **headers}) + body

    async def exchange(
        self, raw: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[int, dict[str, str]]:
        writer.write(raw)
        await writer.drain()
        status, headers = await answer(reader)
        self.answered(status)
        return status, headers

    async def at_once(self, number: int, use: Use) -> None:
        """Use so many connections at once, each followed by another one, until enough was sent."""

        async def one() -> None:
            while not self.ground.is_over():
                with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError, ValueError):
                    reader, writer = await asyncio.open_connection(self.ground.host, int(self.ground.port))
                    try:
                        await use(reader, writer)
                    finally:
                        writer.transport.abort()

        most = max(2, self.ground.count // 20)
        await asyncio.gather(*(one() for _ in range(min(number, most))))

    async def over(self, raws: Callable[[], bytes], at_once: int = 30) -> None:
        """Send requests on connections that go on as long as they may."""

        async def use(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while self.goes_on() and (await self.exchange(raws(), reader, writer))[0]:
                pass

        await self.at_once(at_once, use)

    async def left_open(self, raw: Callable[[], bytes], drip: bytes, at_once: int) -> None:
        """Begin something on many connections, send a byte now and then, and never end it."""

        async def use(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.goes_on()
            try:
                writer.write(raw())
                while not self.ground.is_over() and not reader.at_eof():
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(reader.read(65536), 0.5)
                    writer.write(drip)
                    await writer.drain()
            finally:
                self.answered(0)

        await self.at_once(at_once, use)


Use = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OPEN = HELLO.splitlines()[0]


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
    texts: dict[str, str] = {}
    while (data := await reader.readline()).strip():
        name, _, value = data.decode("latin-1").partition(":")
        texts[name.lower()] = value.strip()
    if "content-length" in texts:
        await reader.readexactly(int(texts["content-length"]))
    elif texts.get("transfer-encoding") == "chunked":
        while size := int(await reader.readline(), 16):
            await reader.readexactly(size + 2)
        await reader.readline()
    return int(line.split()[1]), texts


async def slow_readers(client: Client) -> None:
    """Ask for much, many times on one connection, and read nothing."""
    body, headers = stateless("echo", text="x" * 100_000)
    raw = client.request(body, **headers)

    async def use(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(200):
            if not client.goes_on():
                break
            writer.write(raw)
            await asyncio.wait_for(writer.drain(), 30)

    await client.at_once(10, use)


async def session_flood(client: Client) -> None:
    """Open sessions as fast as they are opened."""
    await client.over(lambda: client.request(OPEN))


async def made_up(client: Client) -> None:
    """Make up a session for each call, in either era."""
    old = message(2, "tools/call", name="echo", arguments={"text": "x"})
    new, headers = stateless("echo", text="x")

    def raw() -> bytes:
        if client.rng.random() < 0.3:
            return client.request(old, Mcp_Session_Id=client.session())
        return client.request(new, Mcp_Session_Id=client.session(), **headers)

    await client.over(raw)


async def huge_bodies(client: Client) -> None:
    """Send bodies that are long, deep, or long to parse."""
    body, headers = stateless("echo", text=["x"])
    inside = [b"[]," * 80_000 + b"[]", b"1," * 1_000_000 + b"1", b"[" * 5_000, b'"' + b"x" * 4_000_000]
    await client.over(
        lambda: client.request(body.replace(b'["x"]', b"[" + client.rng.choice(inside) + b"]"), **headers), 8
    )


async def wrong_tokens(client: Client) -> None:
    """Guess tokens."""
    await client.over(lambda: client.request(OPEN, Authorization=f"Bearer {client.rng.getrandbits(128):x}"), 60)


async def delete_storm(client: Client) -> None:
    """End sessions, its own and those that it makes up."""
    mine: list[str] = []

    async def use(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        status = 1
        while status and client.goes_on():
            raw = client.request(OPEN)
            if client.rng.random() < 0.9:
                name = mine.pop() if mine else client.session()
                raw = head("DELETE", None, Authorization=client.token, Mcp_Session_Id=name)
            status, headers = await client.exchange(raw, reader, writer)
            mine.extend([headers["mcp-session-id"]] if "mcp-session-id" in headers else [])

    await client.at_once(20, use)


async def streams(client: Client) -> None:
    """Hold streams open, and send the heads of further ones byte by byte."""

    async def use(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client.goes_on()
        _, headers = await client.exchange(client.request(OPEN), reader, writer)
        session = headers.get("mcp-session-id", "x")
        raw = head("GET", None, Authorization=client.token, Mcp_Session_Id=session)
        writer.write(raw)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(reader.read(65536), client.rng.random())
        for byte in raw[: client.rng.randrange(20)]:
            writer.write(bytes([byte]))
            await asyncio.sleep(0.05)

    await client.at_once(60, use)


async def half_heads(client: Client) -> None:
    """Hold connections that show no token."""
    raw = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-"
    await client.left_open(lambda: raw[: client.rng.randrange(len(raw))], b"x", 400)


async def half_bodies(client: Client) -> None:
    """Hold connections whose body goes on and on."""
    raw = head("POST", 100_000, Authorization=client.token) + b'{"jsonrpc": '
    await client.left_open(lambda: raw, b" ", 100)


async def many_connections(client: Client) -> None:
    """Ask once on each of many connections, and keep them."""
    body, headers = stateless("budget")
    await client.left_open(lambda: client.request(body, **headers), b"", 200)


CLIENTS: list[Callable[[Client], Awaitable[None]]] = [
    half_heads, half_bodies, slow_readers, made_up, session_flood, huge_bodies, many_connections, wrong_tokens,
    delete_storm, streams,
]  # fmt: skip


async def attack(address: str, seed: int, count: int) -> Field:
    """Let all clients loose until so many requests were sent."""
    ground = Field(address, count)
    await asyncio.gather(
        *(
            play(Client(ground, play.__name__, random.Random(seed * 100 + number), f"Bearer {os.environ[name]}"))
            for number, play in enumerate(CLIENTS)
            for name in [f"HOSTILE_{number}"]
        )
    )
    return ground


if __name__ == "__main__":
    with contextlib.suppress(OSError):
        os.nice(10)
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # a connection that is closed is what they are for
    done = asyncio.run(attack(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
    answers = {
        client: {str(status): n for status, n in sorted(counts.items())} for client, counts in done.answers.items()
    }
    print(json.dumps({"sent": dict(done.sent), "answers": answers}))
