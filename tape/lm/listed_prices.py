"""Prices of hosted models: the table of the package ``genai-prices`` as it is installed; nothing is fetched.

It is loaded at the first question, which takes a third of a second.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from difflib import get_close_matches
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from tape.lm.price import Marks, TokenPrice

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice, Provider

PACKAGE = "genai-prices"

AHEAD = timedelta(days=7)
"""A price that begins within this time counts already, where it is the dearer one."""

_PREFIXED = re.compile(r"([a-z][a-z_-]*)[:/](.+)", re.DOTALL)
_BEDROCK = re.compile(r"(?:[a-z]+\.)?(?:[a-z0-9]+)\.[a-z]+[a-z0-9.-]*(?::\d+)?")
_REGIONAL = ("aws", "azure")
_BELOW_ALL = -1
_NAMED = 4


@dataclass(frozen=True)
class Listed:
    """A model in the table.

    Attributes:
        provider: Who sells it.
        model: Its entry, perhaps that of another provider whose models this one sells too.
    """

    provider: Provider
    model: ModelInfo

    @property
    def has_marks(self) -> bool:
        """Whether it writes to its cache only what a request marks; others may write unasked."""
        return "claude" in self.model.id.lower()

    @property
    def name(self) -> str:
        """``PROVIDER:MODEL``."""
        return f"{self.provider.id}:{self.model.id}"

    def sibling(self, model: str) -> str | None:
        """The name of another model of this provider, by what its answers call it; None for this one, and unknown."""
        entry = _entry(self.provider, model.lower().removeprefix("models/"))
        return None if entry is None or entry is self.model else Listed(self.provider, entry).name

    def price(self, request: str = "", marks: Marks = "") -> TokenPrice | None:
        """The dearest that a request can reach now or soon; None where the table has no price by tokens.

        Args:
            request: Its JSON, in which service tiers and speeds are found.
            marks: Of it. Where the table does not say what they cost, ``written`` of the price is unknown.
        """
        if not self.has_marks:
            marks = "1h"
        rates = [*{id(model_price): model_price for model_price in self._rates(request)}.values()]
        starts = sorted(
            {tier.start for model_price in rates for rate in vars(model_price).values() for tier in _tiers(rate)}
        )
        base, *above = (
            _dearest([_price(model_price, start, marks) for model_price in rates]) for start in (_BELOW_ALL, *starts)
        )
        if base is None:
            return None
        wanted = {"": "input_mtok", "5m": "cache_write_mtok", "1h": "cache_write_1h_mtok"}[marks]
        if self.has_marks and any(getattr(model_price, wanted) is None for model_price in rates):
            base, above = replace(base, written=None), [replace(item, written=None) for item in above if item]
        token_price, tiers = base, list[tuple[int, TokenPrice]]()
        for start, price in zip(starts, above, strict=True):
            token_price = _dearest([token_price, price]) or token_price
            tiers.append((start, token_price))
        return replace(base, tiers=tuple(tiers))

    def variants(self, request: str | None = None) -> Sequence[Mapping[str, str]]:
        """What a request can say to be served otherwise, as in ``{"service_tier": "priority"}``.

        Args:
            request: Only what its JSON says.
        """
        own = any(self.model is model for model in self.provider.models)  # other providers have tiers of their own
        all_texts = [variant.when for variant in self.model.price_variants or () if own]
        if request is None:
            return all_texts
        return [when for when in all_texts if all(_says(request, key, value) for key, value in when.items())]

    @property
    def since(self) -> date | None:
        """From when the present price holds, where the table says so."""
        if not isinstance(self.model.prices, list):
            return None
        starts = [start for price in self.model.prices if (start := getattr(price.constraint, "start_date", None))]
        return max((start for start in starts if start <= datetime.now(UTC).date()), default=None)

    def _rates(self, request: str) -> Iterator[ModelPrice]:
        for moment in _moments(self.model):
            for when in (None, *self.variants(request)):
                yield self.model.get_prices(moment, when)


def find(name: str) -> Listed | None:
    """The model that a name means, as TAPE, LiteLLM or a framework spells it.

    ``openai:gpt-4o-mini``, ``openai/gpt-4o-mini`` and ``gpt-4o-mini`` are one model. A bare name that several providers
    sell is none of them, unless the table says whose it is.
    """
    pair = _found(name)
    return pair[0] if len(pair) == 1 else None


def spelling(name: str) -> str:
    """``PROVIDER:MODEL``, however a name is spelled; the name itself where its provider is not in the table."""
    provider, model = _parts(name)
    if provider is None and (listed := find(name)):
        provider = listed.provider
    return name if provider is None else f"{provider.id}:{model}"


def why_unknown(name: str) -> str:
    """A sentence on a name that has no price: what it may mean."""
    several = [item.name for item in _found(name)]
    if len(several) == 1:
        return f"{PACKAGE} has {several[0]}, but no price of its tokens"
    if several:
        return f"{len(several)} providers have it; write which one, such as {', '.join(several[:_NAMED])}"
    listed, wanted = [f"{provider.id}:{model.id}" for provider, model in entries()], spelling(name)
    if ":" not in wanted:
        listed = [text.partition(":")[2] for text in listed]
    near = [] if "://" in name else get_close_matches(wanted, dict.fromkeys(listed), n=_NAMED)
    return f"the nearest names in {PACKAGE} are {', '.join(near)}" if near else f"{PACKAGE} has none of that name"


def entries() -> Iterator[tuple[Provider, ModelInfo]]:
    """All of the table, by provider."""
    for provider in _providers():
        for model in provider.models:
            yield provider, model


def edition() -> str:
    """Which table it is."""
    dates = [since for provider, model in entries() if (since := Listed(provider, model).since)]
    return f"{PACKAGE} {version(PACKAGE)}, latest dated change {max(dates)}"


@lru_cache(maxsize=1)
def _providers() -> list[Provider]:
    from genai_prices.data import providers

    return providers


def _parts(name: str) -> tuple[Provider | None, str]:
    """The provider that a name states, or that has the models of such names; and the rest of it."""
    from genai_prices.data_snapshot import find_provider_by_id

    if "://" in name:  # an endpoint of one's own, whatever it serves
        return None, name
    model = name.lower().removeprefix("models/")
    if prefixed := _PREFIXED.fullmatch(model):
        for word in (prefixed[1], prefixed[1].removesuffix("_ai")):
            if stated := find_provider_by_id(_providers(), word):
                return stated, prefixed[2]
    if _BEDROCK.match(model):
        return find_provider_by_id(_providers(), "aws"), model
    owners = (
        provider
        for provider in _providers()
        if provider.model_match is not None and provider.model_match.is_match(model)
    )
    return None if "/" in model else next(owners, None), model


@lru_cache(maxsize=1024)
def _found(name: str) -> tuple[Listed, ...]:
    provider, model = _parts(name)
    if provider is not None and (entry := _entry(provider, model)):
        return (Listed(provider, entry),)
    if "/" in name:  # a name with a path, as OpenRouter and others have them, is one of theirs or none
        exact = ((item, _exact(item, name.lower())) for item in _providers())
        return tuple(Listed(item, entry) for item, entry in exact if entry)
    if provider is None and not re.match("[a-z_-]+:", name):
        return tuple(Listed(item, entry) for item in _providers() if (entry := _entry(item, model)))
    return ()


def _entry(provider: Provider, model: str) -> ModelInfo | None:
    if exact := _exact(provider, model):
        return exact
    if "/" in model and provider.id in _REGIONAL:  # a region, where prices differ
        return None
    return provider.find_model(model, all_providers=_providers())


def _exact(provider: Provider, model: str) -> ModelInfo | None:
    return next((info for info in provider.models if info.id.lower() == model), None)


def _says(request: str, key: str, value: str) -> bool:
    return re.search(rf'{re.escape(key)}"\s*:\s*"{re.escape(value)}"', request) is not None


def _moments(model: ModelInfo) -> list[datetime]:
    """The times from now on at which another of the model's prices may hold."""
    now = datetime.now(UTC)
    if not isinstance(model.prices, list):
        return [now]
    days = [now.date() + timedelta(days=day) for day in range(AHEAD.days + 1)]
    times = {time(tzinfo=UTC)}
    for price in model.prices:
        for edge in ("start_time", "end_time"):
            times |= {held} if (held := getattr(price.constraint, edge, None)) else set()
    at = (datetime.combine(day, item, item.tzinfo or UTC) for day in days for item in times)
    return [now, *(item for item in at if now < item <= now + AHEAD)]


def _tiers(rate: Any) -> Sequence[Any]:
    return getattr(rate, "tiers", ())


def _price(rates: ModelPrice, above: int, marks: Marks) -> TokenPrice | None:
    """The dearest token of each kind, in a call with a prompt of more tokens than these."""
    from genai_prices.data_units import unit_data

    amounts = defaultdict[str, list[Decimal]](list)
    for unit in unit_data.values():
        if (rate := vars(rates).get(unit["price_key"])) is not None:
            tiers = [tier.price for tier in _tiers(rate) if tier.start <= above]
            amounts[_kind(unit["dimensions"])].append([getattr(rate, "base", rate), *tiers][-1] / unit["per"])
    if not amounts["prompt"] and not amounts["completion"]:
        return None
    prompt = max(amounts["prompt"], default=Decimal(0))
    reached = {"": [], "5m": amounts["written_5m"], "1h": amounts["written_5m"] + amounts["written_1h"]}[marks]
    cached, written = (max(several, default=prompt) for several in (amounts["cached"], reached))
    completion, call = (max(amounts[kind], default=Decimal(0)) for kind in ("completion", "call"))
    media, short, hour = (max(amounts[kind], default=None) for kind in ("media", "written_5m", "written_1h"))
    return TokenPrice(prompt, completion, cached, written, media, call, written_5m=short, written_1h=hour)


def _kind(dimensions: Mapping[str, str]) -> str:
    """Which field of a price a unit counts in; empty for what tokens do not measure."""
    if dimensions["family"] == "requests":
        return "call"
    if dimensions["family"] != "tokens":
        return ""
    if dimensions["direction"] == "output":
        return "completion"
    if dimensions.get("modality", "text") != "text":
        return "media"
    sort = dimensions.get("token_type")
    if sort == "cache_write":
        return "written_1h" if dimensions.get("cache_ttl") == "1h" else "written_5m"
    return "cached" if sort == "cache_read" else "prompt"


def dearest(prices: Sequence[TokenPrice]) -> TokenPrice:
    """The most of each rate, whatever the length of the prompt."""
    starts = sorted({above for price in prices for above, _ in price.tiers})
    several = ([price.at(above + 1) for price in prices] for above in (_BELOW_ALL, *starts))
    base, *tiers = (_dearest(alike) or prices[0] for alike in several)
    return replace(base, tiers=tuple(zip(starts, tiers, strict=True)))


def _dearest(prices: Sequence[TokenPrice | None]) -> TokenPrice | None:
    """The most of each rate; unknown where it is in one of them."""
    known = [price for price in prices if price is not None]
    rates: dict[str, Any] = {}
    for name in (field.name for field in fields(TokenPrice) if field.name != "tiers"):
        held = [getattr(price, name) for price in known]
        rates[name] = None if None in held else max(held, default=None)
    return TokenPrice(**rates) if known else None
