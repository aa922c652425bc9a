"""The replies of the model: kept by what was asked, and said again to whoever asks the same.

A run keeps them in a SQLite file of its own. What is committed is packed: one line of JSON a reply, compressed by LZMA.
Replies that are committed are replayed without a model, and a prompt that has changed is named.
"""

from __future__ import annotations

import json
import lzma
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from tape.errors import ModelError
from tape.lm.base import Completion, LanguageModel, Request, Usage
from tape.lm.cache import CachedLM
from tape.lm.registry import open_model
from tape.lm.wrapper import WrappedLM

NOWHERE = "http://127.0.0.1:1/v1"
"""Nothing listens there."""


class StaleError(ModelError):
    """A prompt has no committed reply: it has changed since."""


class _Named(WrappedLM):
    """The model by its name alone, wherever it is served; without a server it has no reply to what is new."""

    def __init__(self, model: LanguageModel, identity: str, *, served: bool) -> None:
        super().__init__(model)
        self._identity, self._served = identity, served

    @property
    def identity(self) -> str:
        """The name of the weights."""
        return self._identity

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """The model's completions."""
        self._require(requests)
        return await self._model.generate(requests)

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        """The model's scores."""
        self._require(requests)
        return await self._model.score_options(requests)

    def _require(self, requests: Sequence[Request]) -> None:
        if not self._served:
            raise StaleError(f"no reply to this {requests[0].role} prompt is committed: it has changed")


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


def kept(file: Path, server: str | None, identity: str) -> CachedLM:
    """The model with the replies of a file.

    Args:
        file: SQLite; it is made where it is absent.
        server: An OpenAI-compatible server with the model; None: only what the file has is said.
        identity: The name of the weights.
    """
    model = open_model(f"llamacpp:qwen@{server or NOWHERE}#timeout=1800")
    return CachedLM(_Named(model, identity, served=server is not None), file)


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
