"""A completion cache on disk, keyed by everything that determines a completion."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter

from tape.errors import ModelError
from tape.lm.base import BatchError, Completion, EndpointError, LanguageModel, Request, Usage
from tape.lm.wrapper import WrappedLM

T = TypeVar("T")
_COMPLETION = TypeAdapter(Completion)
_SCORES = TypeAdapter(tuple[tuple[float, ...], Usage])


class CachedLM(WrappedLM):
    """Answers from the cache where it can, else from the model.

    The key is :meth:`tape.lm.base.Request.fingerprint` with the model's identity (its checksum, for
    local weights), so another model, prompt, constraint, seed, temperature or length is another entry.
    Usage is returned as the model reported it, marked as cached: budgets are the same with and without the cache,
    and what was really paid is told apart (``EpisodeResult.used`` and ``paid``).

    Args:
        model: The model underneath.
        path: An SQLite file; made if missing.

    Raises:
        ModelError: The file is no cache.
    """

    def __init__(self, model: LanguageModel, path: Path) -> None:
        super().__init__(model)
        self.hits = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Used by one thread at a time, in a notebook by another one for each episode.
            self._db = sqlite3.connect(path, timeout=60, check_same_thread=False)
            self._db.execute("CREATE TABLE IF NOT EXISTS completions (key TEXT PRIMARY KEY, value BLOB)")
            self._db.commit()
        except (sqlite3.Error, OSError) as error:
            raise ModelError(f"{path} cannot be used as a completion cache: {error}; name another file") from error

    def _get(self, key: str) -> bytes | None:
        row = self._db.execute("SELECT value FROM completions WHERE key = ?", (key,)).fetchone()
        return None if row is None else bytes(row[0])

    def _put(self, key: str, value: bytes) -> None:
        try:
            with self._db:
                self._db.execute("INSERT OR REPLACE INTO completions VALUES (?, ?)", (key, value))
        except sqlite3.Error as error:
            raise ModelError(f"the completion cache cannot be written: {error}; name another file") from error

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answer requests; only those not in the cache reach the model.

        Raises:
            BatchError: A hosted model did not answer some of them; holds the answers to the others.
        """
        return await self._through("", _COMPLETION, _cached, self._model.generate, requests)

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        """Score options; only requests not in the cache reach the model. Raises like :meth:`generate`."""
        return await self._through("score:", _SCORES, _cached_scores, self._model.score_options, requests)

    async def _through(
        self,
        prefix: str,
        adapter: TypeAdapter[T],
        cached: Callable[[T], T],
        call: Callable[[Sequence[Request]], Awaitable[list[T]]],
        requests: Sequence[Request],
    ) -> list[T]:
        """The answers; those from the cache are marked by ``cached``."""
        keys = [prefix + request.fingerprint(self.identity) for request in requests]
        found = [self._get(key) for key in keys]
        missing = [i for i, value in enumerate(found) if value is None]
        try:
            fresh: Sequence[Any] = await call([requests[i] for i in missing]) if missing else []
        except BatchError as error:
            fresh = error.answers
        self.hits += len(requests) - len(missing)
        answers = iter(fresh)
        for i, answer in zip(missing, fresh, strict=True):
            if not isinstance(answer, EndpointError):
                self._put(keys[i], adapter.dump_json(answer))
        merged = [next(answers) if value is None else cached(adapter.validate_json(value)) for value in found]
        if any(isinstance(answer, EndpointError) for answer in fresh):
            raise BatchError(merged)
        return merged

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def _cached(completion: Completion) -> Completion:
    return replace(completion, usage=replace(completion.usage, cached=True))


def _cached_scores(scores: tuple[tuple[float, ...], Usage]) -> tuple[tuple[float, ...], Usage]:
    return scores[0], replace(scores[1], cached=True)
