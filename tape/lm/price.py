"""What the tokens of a model cost, what calls cost then, and what a provider's usage says of its cache."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from decimal import Decimal
from typing import Any, Literal, TypeAlias

from tape.budget import Resources

Marks: TypeAlias = Literal["", "5m", "1h"]
"""How long the marks of a request ask Claude's providers to keep a prompt in their cache; empty where it has none."""

LONGER: tuple[Marks, ...] = ("", "5m", "1h")
"""From none to the longest."""


@dataclass(frozen=True)
class Split:
    """What a provider's cache had of prompts, in tokens, as far as that is reported; the rest is not known.

    Attributes:
        read: From the cache.
        written: To it.
        written_1h: How many of these for an hour; all, where it is not reported for how long.
        plain: Neither.
    """

    read: int = 0
    written: int = 0
    written_1h: int = 0
    plain: int = 0

    def __add__(self, other: Split) -> Split:
        """Both together."""
        return Split(*map(sum, zip(astuple(self), astuple(other), strict=True)))

    def fits(self, prompt: int) -> bool:
        """Whether prompts of so many tokens can have been split so; nothing fits any."""
        parts = (self.read, self.written - self.written_1h, self.written_1h, self.plain)
        return self == UNSPLIT or (min(parts) >= 0 and sum(parts) <= prompt)


UNSPLIT = Split()
"""Where nothing is reported."""


@dataclass(frozen=True)
class TokenPrice:
    """US dollars per token; exact. Two numbers are the simplest price; the table and price files know more.

    Attributes:
        prompt: Of a prompt.
        completion: Of a completion, reasoning included.
        cached: Of a prompt, read from the provider's cache; None: as others.
        written: Of a prompt, written to the cache, where the request can make the provider do so; None: unknown.
        written_5m: The same where the provider reports that it was written for five minutes, whatever the request has;
            None: as ``written``.
        written_1h: The same for an hour.
        media: Of what is no text in a prompt; None: unknown for sound and video, and as others for images.
        call: US dollars of a call, beside its tokens.
        tiers: Prices of longer prompts: the number of tokens that a prompt has to exceed, from small to large, and what
            all tokens cost then.

    Examples:
        >>> from decimal import Decimal
        >>> from tape.lm.price import TokenPrice
        >>> price = TokenPrice(prompt=Decimal("0.40") / 1_000_000, completion=Decimal("1.60") / 1_000_000)
        >>> price.usd(prompt=1000, completion=100) == Decimal("0.00056")
        True
    """

    prompt: Decimal
    completion: Decimal
    cached: Decimal | None = None
    written: Decimal | None = None
    media: Decimal | None = None
    call: Decimal = Decimal(0)
    tiers: tuple[tuple[int, TokenPrice], ...] = ()
    written_5m: Decimal | None = None
    written_1h: Decimal | None = None

    @property
    def dearest(self) -> Decimal:
        """Of a token of text in a prompt of which it is not known whether the cache had it."""
        return max(self.prompt, self.cached or self.prompt, self.written or self.prompt)

    def written_for(self, hour: bool | None) -> Decimal:
        """Of a token that the provider reports as written to its cache.

        Args:
            hour: For an hour; False: for five minutes; None: it does not say for how long. That is as long as the
                request asks for, and where it asks for nothing the dearest.
        """
        known = [rate for rate in (self.written_5m, self.written_1h) if rate is not None]
        unsaid = self.prompt if self.written is None else self.written
        if known and unsaid <= self.prompt:
            unsaid = max(known)
        if hour is None:
            return unsaid
        rate = self.written_1h if hour else self.written_5m
        return unsaid if rate is None else rate

    def unforeseen(self, hour: bool | None) -> Marks:
        """The marks whose worst case covers what was written; none where this price does. The argument is as above."""
        if self.written_for(hour) <= self.dearest:
            return ""
        return "5m" if hour is False or self.written_1h is None else "1h"

    def marked(self, marks: str) -> TokenPrice:
        """The price of a request whose marks have the provider write for ``5m`` or ``1h``; or for neither, if empty."""
        rate = {"": self.prompt, "5m": self.written_5m, "1h": self.written_1h}[marks]
        return replace(self, written=rate, tiers=tuple((above, price.marked(marks)) for above, price in self.tiers))

    def at(self, prompt: int) -> TokenPrice:
        """The price of calls with a prompt of so many tokens, or at most so many."""
        return next((price for above, price in reversed(self.tiers) if prompt > above), replace(self, tiers=()))

    def usd(
        self,
        prompt: int,
        completion: int,
        calls: int = 1,
        *,
        media: int = 0,
        cached: int = 0,
        written: int | None = None,
        written_1h: int | None = None,
        unsplit: int = 0,
    ) -> Decimal:
        """What calls cost that take so many tokens in all; never less with more tokens.

        Args:
            prompt: Of prompts, all together.
            completion: Of completions.
            calls: How many there were.
            media: How many of the prompt may be no text.
            cached: How many are known to have been read from the cache.
            written: How many were written to it; None where that is not known: then all others cost the dearest.
            written_1h: How many of these for an hour, the rest for five minutes; None where that is not known.
            unsplit: Of how many of the others it is not known what the cache had, so they cost the dearest too.
        """
        rates = self.at(-(-prompt // max(calls, 1)))
        others = prompt - media - cached - (written or 0)
        dearest = others if written is None else min(unsplit, others)
        hours = 0 if written_1h is None else min(written_1h, written or 0)
        return (
            rates.call * calls
            + rates.completion * completion
            + max(rates.dearest, rates.media or rates.dearest) * media
            + (rates.prompt if rates.cached is None else rates.cached) * cached
            + rates.written_for(None if written_1h is None else False) * ((written or 0) - hours)
            + rates.written_for(hour=True) * hours
            + rates.dearest * dearest
            + rates.prompt * (others - dearest)
        )


FREE = TokenPrice(Decimal(0), Decimal(0))
"""The price of a model on this machine."""


def cost_of(price: TokenPrice | None, prompt: int, completion: int, calls: int = 1, **split: Any) -> Resources:
    """What calls cost that take so many tokens: ``calls``, ``tokens``, and ``usd``, rounded up to what is counted.

    The arguments are those of :meth:`TokenPrice.usd`.
    """
    counts: dict[str, int | None] = {"calls": calls, "tokens": prompt + completion, "usd": None}
    if price is not None:
        micro = price.usd(prompt, completion, calls, **split) * 1_000_000
        counts["usd"] = int(micro.to_integral_value(rounding="ROUND_CEILING"))
    return Resources(counts)


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
