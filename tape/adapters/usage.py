"""Tokens as providers report them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from tape.guard.charges import ModelCharge
from tape.lm.price import cache_of, field_of


def total(counts: Iterable[Any]) -> int | None:
    """The sum of counts; None where one of them is no count, so that the call is booked at its worst case."""
    index = 0
    for count in counts:
        if type(count) is not int or count < 0:
            return None
        index += count
    return index


class ProviderUsage(NamedTuple):
    """Tokens that a provider reports; those of its cache are among those of the prompt."""

    prompt: int | None
    completion: int | None
    cached: int | None
    written: int | None
    written_1h: int | None = None
    model: str | None = None

    def settle(self, charge: ModelCharge) -> None:
        """Settle a call by it."""
        charge.used(*self[:2], cached=self.cached, written=self.written, written_1h=self.written_1h, model=self.model)


class Meter:
    """Reads the usage of an answer, or of the pieces of one."""

    def __init__(self) -> None:
        self.usage: ProviderUsage | None = None
        self._begun: dict[str, Any] = {}
        self._model: str | None = None
        self._rest = b""
        """Of a line that has not ended yet."""

    def take(self, piece: Any) -> None:
        """Look at a whole answer, an object of a stream, or bytes of one as Anthropic sends it."""
        if isinstance(piece, bytes | str):
            *lines, self._rest = (self._rest + (piece.encode() if isinstance(piece, str) else piece)).split(b"\n")
            for line in lines:
                if line.startswith(b"data:") and b'"usage"' in line:
                    with suppress(ValueError):
                        self._event(json.loads(line[5:]))
            return
        self._name(piece)
        self._name(field_of(piece, "response"))
        usage = field_of(piece, "usage") or field_of(field_of(piece, "response"), "usage")
        if usage is not None:
            self._read(usage)

    def _name(self, answer: Any) -> None:
        if isinstance(model := field_of(answer, "model"), str) and model:
            self._model = model

    def _event(self, event: Any) -> None:
        if field_of(event, "type") == "message_start":
            self._begun = dict(field_of(field_of(event, "message"), "usage") or {})
            self._name(field_of(event, "message"))
        elif field_of(event, "type") == "message_delta" and (usage := field_of(event, "usage")):
            self._read({**self._begun, **{name: count for name, count in usage.items() if count is not None}})

    def _read(self, usage: Any) -> None:
        cache = cache_of(usage)
        if (prompt := field_of(usage, "prompt_tokens")) is None:
            prompt = field_of(usage, "input_tokens")
            apart = isinstance(usage, dict) and not field_of(usage, "input_tokens_details")
            if apart and type(prompt) is int:  # Anthropic's own counts
                prompt += sum(count for count in cache[:2] if type(count) is int)
        completion = field_of(usage, "completion_tokens")
        completion = field_of(usage, "output_tokens") if completion is None else completion
        self.usage = ProviderUsage(prompt, completion, *cache, model=self._model)


def is_usage_alone(chunk: Any) -> bool:
    """Whether a piece of a stream says nothing else."""
    if field_of(chunk, "usage") is None:
        return False
    pairs = [(item, field_of(item, "delta")) for item in field_of(chunk, "choices") or ()]
    said = any(
        field_of(item, "finish_reason") or field_of(delta, "content") or field_of(delta, "tool_calls")
        for item, delta in pairs
    )
    return not said
