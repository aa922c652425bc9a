"""A completion cache on disk, keyed by everything that determines a completion."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

from pydantic_core import to_json

from tape.errors import ModelError
from tape.lm.base import BatchError, Completion, EndpointError, LanguageModel, Request, Usage, WrongAnswerError
from tape.lm.wrapper import WrappedLM, require_all
from tape.reading import parse_json, shaped, short
from tape.redaction import redacted_lines

logger = logging.getLogger("tape.lm")

T = TypeVar("T")
MOST_TOKENS = 10**12
"""Most tokens of an entry that is read, far more than any call has; with more, nothing that adds them up could be."""
_Scores: TypeAlias = tuple[tuple[float, ...], Usage]


class _NoEntryError(ModelError):
    def __init__(self, message: str) -> None:
        super().__init__(f"{message}. That was not written here: delete the file, or name another one")


class CachedLM(WrappedLM):
    """Answers from the cache where it can, else from the model.

    The key is :meth:`tape.lm.base.Request.fingerprint` with the model's identity (its checksum, for
    local weights), so another model, prompt, constraint, seed, temperature or length is another entry.
    The same file through another backend has another identity. What decodes under the constraint is no part of the key:
    every version of every decoder writes what the constraint admits, so an older entry is a right answer, though maybe
    not the one that this version would draw. To compare versions, name another file.
    Usage is returned as the model reported it, marked as cached: budgets are the same with and without the cache,
    and what was really paid is counted separately (``EpisodeResult.used`` and ``paid``). Where the file cannot be
    written, for instance on a full disk, one warning is logged, and the model answers without the cache.

    Raises:
        ModelError: The file is no cache.
    """

    def __init__(self, model: LanguageModel, path: Path) -> None:
        super().__init__(model)
        self.hits = 0
        self._full = False
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Used by one thread at a time, in a notebook by another one for each episode.
            self._db = sqlite3.connect(path, timeout=60, check_same_thread=False)
            self._db.execute("CREATE TABLE IF NOT EXISTS completions (key TEXT PRIMARY KEY, value BLOB)")
            self._db.commit()
            # A view or a trigger would compute whatever its author wanted, for as long as that takes.
            strange = self._db.execute("SELECT name FROM sqlite_master WHERE type IN ('view', 'trigger')").fetchone()
        except (sqlite3.Error, OSError) as error:
            raise ModelError(f"{path} cannot be used as a completion cache: {error}; name another file") from error
        if strange is not None:
            self._db.close()
            raise ModelError(f"{path} holds more than a completion cache ({strange[0]!r}); name another file")

    def _get(self, key: str) -> bytes | None:
        try:
            query = "SELECT CAST(value AS BLOB) FROM completions WHERE key = ?"
            row = self._db.execute(query, (key,)).fetchone()
        except sqlite3.Error as error:
            raise ModelError(
                f"{self._path}: the completion cache cannot be read: {error}; name another file"
            ) from error
        return None if row is None else row[0]

    def _read(self, value: bytes, key: str, shape: type[T], request: Request) -> T:
        """An entry of the file, checked: the file may come from elsewhere."""
        where = f"{self._path}: entry {key}"
        try:
            answer = shaped(parse_json(value, where, error=_NoEntryError), shape, where, error=_NoEntryError)
            require_all(self._model, [request], [answer])
        except WrongAnswerError as error:
            raise _NoEntryError(f"{where}: {error}") from error
        usage = answer.usage if isinstance(answer, Completion) else cast("tuple[Any, Usage]", answer)[1]
        counts = usage.prompt_tokens, usage.completion_tokens, usage.calls
        if not all(0 <= count <= MOST_TOKENS for count in counts):
            raise _NoEntryError(f"{where}: field usage: no credible one: {short(str(usage))}")
        return answer

    def _put(self, key: str, value: bytes) -> None:
        if self._full:
            return
        try:
            with self._db:
                self._db.execute("INSERT OR REPLACE INTO completions VALUES (?, ?)", (key, value))
        except sqlite3.Error as error:
            # The answer is there, and perhaps paid: an episode must not end for want of a copy.
            self._full = True
            logger.warning(
                "%s: the completion cache cannot be written (%s), so answers are not kept from here on; free "
                "some disk space or name another file",
                self._path,
                error,
            )

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answer requests; only those not in the cache reach the model."""
        return await self._through("", Completion, _cached, self._model.generate, requests)

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        """Score options; only requests not in the cache reach the model. Raises like :meth:`generate`."""
        shape = cast("type[_Scores]", _Scores)
        return await self._through("score:", shape, _cached_scores, self._model.score_options, requests)

    async def _through(
        self,
        prefix: str,
        shape: type[T],
        cached: Callable[[T], T],
        call: Callable[[Sequence[Request]], Awaitable[list[T]]],
        requests: Sequence[Request],
    ) -> list[T]:
        """The answers; those from the cache are marked by ``cached``."""
        keys = [prefix + request.fingerprint(self.identity) for request in requests]
        data = [self._get(key) for key in keys]
        held = [
            None if value is None else cached(self._read(value, key, shape, request))
            for value, key, request in zip(data, keys, requests, strict=True)
        ]
        missing = [i for i, answer in enumerate(held) if answer is None]
        asked = [requests[i] for i in missing]
        try:
            fresh: Sequence[Any] = await call(asked) if missing else []
        except BatchError as error:
            fresh = error.answers
        require_all(self._model, asked, fresh)
        self.hits += len(requests) - len(missing)
        answers = iter(fresh)
        for i, answer in zip(missing, fresh, strict=True):
            if not isinstance(answer, EndpointError):
                self._put(keys[i], redacted_lines(to_json(answer, inf_nan_mode="null").decode()).encode())
        merged = [next(answers) if answer is None else answer for answer in held]
        if any(isinstance(answer, EndpointError) for answer in fresh):
            raise BatchError(merged)
        return merged

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def _cached(completion: Completion) -> Completion:
    return replace(completion, usage=replace(completion.usage, cached=True))


def _cached_scores(scores: _Scores) -> _Scores:
    return scores[0], replace(scores[1], cached=True)
