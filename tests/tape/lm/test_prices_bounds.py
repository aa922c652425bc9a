"""Worst cases of the table's prices: no usage that fits a request costs more, by genai-prices' and LiteLLM's reckoning."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import cycle, islice, product

import pytest
from genai_prices import Usage
from genai_prices.data_units import unit_data
from hypothesis import given
from hypothesis import strategies as st

from tape.lm.base import Price
from tape.lm.listed_prices import AHEAD, Listed, Marks, entries, find

TOKENS = {name: unit["dimensions"] for name, unit in unit_data.items() if unit["dimensions"]["family"] == "tokens"}
SIZES = (1, 40, 900, 31_999, 100_001, 199_999, 200_000, 200_001, 272_001, 600_000)
ALL = [Listed(provider, model) for provider, model in entries()]
PRICED = [listed for listed in ALL if listed.price() is not None]


@dataclass(frozen=True)
class Drawn:
    """A request, and a usage of a call that fits it.

    Attributes:
        marks: Of the request.
        when: What it says of a service tier.
        bounds: Tokens of text, of no text, and of the completion, at most.
        leaves: The usage, by direction, modality, sort and time of the cache.
        moment: Of the call.
    """

    marks: Marks
    when: dict[str, str]
    bounds: tuple[int, int, int]
    leaves: dict[tuple[str, str, str, str], int]
    moment: datetime

    def usage(self) -> Usage:
        """What the provider reports, down to the last detail."""
        return Usage(**{name: self._count(dimensions) for name, dimensions in TOKENS.items()})

    def tokens(self, **wanted: str) -> int:
        return self._count(wanted)

    def _count(self, wanted: dict[str, str]) -> int:
        names = ("direction", "modality", "token_type", "cache_ttl")
        return sum(
            n for leaf, n in self.leaves.items()
            if all(dict(zip(names, leaf, strict=True)).get(key, value) == value for key, value in wanted.items())
        )  # fmt: skip


def draw(listed: Listed, rng: random.Random) -> Drawn:
    """A request of any size and kind, and a call that it can reach."""
    claude = "claude" in listed.model.id.lower()
    marks: Marks = rng.choice(("", "5m", "1h"))
    when = dict(rng.choice([{}, *listed.variants()]))
    text, media, completion = rng.choice(SIZES), rng.choice((0, 0, 1600, 250_000)), rng.choice((1, 300, 64_000))
    sorts = [("", ""), ("cache_read", ""), ("tool", "")]
    if not claude or marks:
        sorts += [("cache_write", ""), ("cache_write", "5m")]
    if not claude or marks == "1h":
        sorts.append(("cache_write", "1h"))
    leaves: dict[tuple[str, str, str, str], int] = {}
    for most, direction, modalities, kinds in (
        (text, "input", ["text"], sorts),
        (media, "input", ["audio", "image", "video", "text"], sorts),
        (completion, "output", ["text", "audio", "image", "video"], [("", ""), ("reasoning", ""), ("citation", "")]),
    ):
        left = rng.choice((most, rng.randint(0, most)))
        cells = rng.sample([*product(modalities, kinds)], k=rng.randint(1, 3))
        for at, (modality, kind) in enumerate(cells):
            part = left if at == len(cells) - 1 else rng.randint(0, left)
            leaf = (direction, modality, *kind)
            leaves[leaf] = leaves.get(leaf, 0) + part
            left -= part
    moment = datetime.now(UTC) + timedelta(seconds=rng.uniform(0, (AHEAD - timedelta(minutes=5)).total_seconds()))
    return Drawn(marks, when, (text, media, completion), leaves, moment)
