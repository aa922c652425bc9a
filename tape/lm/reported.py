"""What a provider's usage says of its cache, in the forms of OpenAI, Anthropic, LiteLLM, DeepSeek and Moonshot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tape.lm.price import UNSPLIT, Split


def cache_of(usage: Any) -> tuple[Any, Any, Any]:
    """Tokens of a prompt read from the cache, written to it, and of these for an hour; None where it does not say."""
    details = field_of(usage, "prompt_tokens_details") or field_of(usage, "input_tokens_details")
    kept = field_of(usage, "cache_creation") or field_of(details, "cache_creation_token_details")
    reads = [field_of(usage, name) for name in ("cache_read_input_tokens", "cached_tokens", "prompt_cache_hit_tokens")]
    writes = [field_of(details, name) for name in ("cache_creation_tokens", "cache_write_tokens")]
    read = _first([field_of(details, "cached_tokens"), *reads])
    written = _first([*writes, field_of(usage, "cache_creation_input_tokens")])
    return read, written, field_of(kept, "ephemeral_1h_input_tokens")


def split_of(usage: Any, prompt: int) -> Split:
    """How a report splits a prompt of so many tokens; nothing is known of it where the report makes no sense."""
    reported = cache_of(usage)
    read, written, hours = (int(n) if type(n) in (int, float) and n >= 0 and n == n // 1 else 0 for n in reported)
    plain = 0 if reported[1] is None else prompt - read - written
    split = Split(read, written, written if reported[2] is None else hours, plain)
    return split if split.fits(prompt) else UNSPLIT


def field_of(value: Any, name: str) -> Any:
    """A field of an object or of a mapping; None where it has none."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _first(counts: list[Any]) -> Any:
    """The first one that is there and not 0, else 0 where one is: what hands a report on fills in 0."""
    return next((count for count in counts if count), next((count for count in counts if count is not None), None))
