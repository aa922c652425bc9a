"""The replies of the model: kept by what was asked, and said again to whoever asks the same.

A run keeps them in a SQLite file of its own. What is committed is packed: one line of JSON a reply, compressed by LZMA.
Replies that are committed are replayed without a model, and a prompt that has changed is named.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import httpx

from tape.errors import ModelError
from tape.lm.base import Completion, LanguageModel, Request, Usage
from tape.lm.cache import CachedLM
from tape.lm.registry import open_model
from tape.lm.wrapper import WrappedLM

IDENTITY = "qwen2.5-coder-1.5b-instruct-q4_k_m"
"""The model of the evidence: the name of its weights."""
NOWHERE = "http://127.0.0.1:1/v1"
"""Nothing listens there."""


class StaleError(ModelError):
    """A prompt has no committed reply: it has changed since."""


class _Named(WrappedLM):
    """The model by its name alone, wherever it is served; without a server it has no reply to what is new."""

    def __init__(self, model: LanguageModel, replies: Replies) -> None:
        super().__init__(model)
        self._replies = replies

    @property
    def identity(self) -> str:
        """The name of the weights."""
        return IDENTITY

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """The model's completions."""
        self._replies.require_server()
        return await self._model.generate(requests)

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        """The model's scores."""
        self._replies.require_server()
        return await self._model.score_options(requests)


class SameSamples(WrappedLM):
    """Asks with a seed that depends on how often a request was made in the episode, and on nothing else."""

    def __init__(self, model: LanguageModel) -> None:
        super().__init__(model)
        self._asked: Counter[str] = Counter()

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """The model's completions, the same in every episode that asks the same."""
        return await self._model.generate([self._seeded(request) for request in requests])

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        """The model's scores, which depend on no seed."""
        return await self._model.score_options(requests)

    def _seeded(self, request: Request) -> Request:
        plain = replace(request, seed=0)
        key = plain.fingerprint(self.identity)
        self._asked[key] += 1
        return replace(plain, seed=self._asked[key])


class Replies:
    """The model with the replies of a file.

    Args:
        file: SQLite; it is made where it is absent.
        server: An OpenAI-compatible server with the model; None: only what the file has is said.

    Attributes:
        model: For agents of this project.
        stale: A reply that is not there was asked for. An agent may have passed over the error.
    """

    def __init__(self, file: Path, server: str | None) -> None:
        self.file, self.server, self.stale = file, server, False
        model = open_model(f"llamacpp:qwen@{server or NOWHERE}#timeout=1800")
        self.model = CachedLM(_Named(model, self), file)

    def require_server(self) -> None:
        """Refuse a request whose reply is not kept, where there is no server.

        Raises:
            StaleError: There is none.
        """
        if self.server is None:
            self.stale = True
            raise StaleError("no reply to this prompt is kept: it has changed")

    def client(self) -> httpx.AsyncClient:
        """For agents that speak HTTP themselves."""
        return httpx.AsyncClient(transport=_KeptTransport(self))

    def close(self) -> None:
        """Close the file."""
        self.model.close()


class _KeptTransport(httpx.AsyncBaseTransport):
    """Replies by what is sent, in the table of :class:`tape.lm.cache.CachedLM`."""

    def __init__(self, replies: Replies) -> None:
        self._replies = replies

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Say what is kept, or ask the server."""
        body = await request.aread()
        key = "http:" + hashlib.sha256(body).hexdigest()
        with closing(sqlite3.connect(self._replies.file, timeout=60)) as database, database:
            row = database.execute("SELECT CAST(value AS TEXT) FROM completions WHERE key = ?", (key,)).fetchone()
            if row is not None:
                return httpx.Response(200, json=json.loads(row[0]))
            self._replies.require_server()
            url = f"{self._replies.server}/{request.url.path.removeprefix('/v1/')}"
            async with httpx.AsyncClient(timeout=1800) as client:
                reply = await client.post(url, content=body, headers={"Content-Type": "application/json"})
            reply.raise_for_status()
            database.execute("INSERT INTO completions VALUES (?, ?)", (key, reply.content))
        return httpx.Response(200, json=reply.json())


def pack(source: Path, target: Path) -> int:
    """Compress the replies of a SQLite file; returns how many there are."""
    with closing(sqlite3.connect(source)) as database:
        rows = database.execute("SELECT key, CAST(value AS TEXT) FROM completions ORDER BY key").fetchall()
    lines = "".join(json.dumps([key, json.loads(value)]) + "\n" for key, value in rows)
    target.write_bytes(lzma.compress(lines.encode(), preset=9))
    return len(rows)


def unpack(source: Path, target: Path) -> None:
    """Write packed replies into a SQLite file."""
    with closing(sqlite3.connect(target)) as database, database:
        database.execute("CREATE TABLE IF NOT EXISTS completions (key TEXT PRIMARY KEY, value BLOB)")
        for line in lzma.decompress(source.read_bytes()).decode().splitlines():
            key, value = json.loads(line)
            database.execute("INSERT OR REPLACE INTO completions VALUES (?, ?)", (key, json.dumps(value).encode()))
