"""What a provider's usage says of its cache, in the forms of OpenAI, Anthropic, LiteLLM, DeepSeek and Moonshot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tape.lm.price import UNSPLIT, Split


class CacheUsage(NamedTuple):
    """Tokens of a prompt, as they stand in a report; None where it says nothing.

    Attributes:
        read: From the cache.
        written: To it.
        written_1h: How many of these for an hour.
        apart: Whether the prompt's tokens leave these out, as Anthropic counts.
    """

    read: Any
    written: Any
    written_1h: Any
    apart: bool

    @classmethod
    def of(cls, usage: Any) -> CacheUsage:
        """Read a report: an object or a mapping."""
        details = field_of(usage, "prompt_tokens_details") or field_of(usage, "input_tokens_details")
        own = [field_of(usage, name) for name in ("cache_read_input_tokens", "cache_creation_input_tokens")]
        reads = [field_of(details, "cached_tokens"), own[0]]
        reads += [field_of(usage, name) for name in ("cached_tokens", "prompt_cache_hit_tokens")]
        writes = [field_of(details, name) for name in ("cache_creation_tokens", "cache_write_tokens")]
        kept = field_of(usage, "cache_creation") or field_of(details, "cache_creation_token_details")
        return cls(
            _first(reads),
            _first([*writes, own[1]]),
            field_of(kept, "ephemeral_1h_input_tokens"),
            details is None and field_of(usage, "prompt_tokens") is None and any(one is not None for one in own),
        )


def split_of(usage: Any, prompt: int) -> Split:
    """How a report splits a prompt of so many tokens; nothing is known of it where the report makes no sense."""
    report = CacheUsage.of(usage)
    read, written = _count(report.read), _count(report.written)
    hours = written if report.written_1h is None else _count(report.written_1h)
    split = Split(read, written, hours, 0 if report.written is None else prompt - read - written)
    return split if split.fits(prompt) else UNSPLIT


def field_of(found: Any, name: str) -> Any:
    """A field of an object or of a mapping; None where it has none."""
    return found.get(name) if isinstance(found, Mapping) else getattr(found, name, None)


def _first(counts: list[Any]) -> Any:
    """The first one that is there and not 0, else 0 where one is: what hands a report on fills in 0."""
    return next((one for one in counts if one), next((one for one in counts if one is not None), None))


def _count(count: Any) -> int:
    """A reported number of tokens; 0 for anything else."""
    return int(count) if type(count) in (int, float) and count >= 0 and count == int(count) else 0
