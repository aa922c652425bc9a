"""Random requests, and calls that they can reach."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import product
from unittest.mock import patch

from genai_prices import Usage
from genai_prices.data_units import unit_data

from tape.lm import listed_prices
from tape.lm.listed_prices import AHEAD, Listed
from tape.lm.price import Marks

TOKENS = {name: unit["dimensions"] for name, unit in unit_data.items() if unit["dimensions"]["family"] == "tokens"}
NAMES = ("direction", "modality", "token_type", "cache_ttl")
SIZES = (1, 40, 900, 31_999, 100_001, 199_999, 200_000, 200_001, 272_001, 600_000)
MARKS: tuple[Marks, ...] = ("", "5m", "1h")


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
        counts = dict.fromkeys(TOKENS, 0)
        for leaf, n in self.leaves.items():
            for name in _counted_in(leaf):
                counts[name] += n
        return Usage(**counts)

    def tokens(self, **wanted: str) -> int:
        """The tokens of these dimensions."""
        at = [(NAMES.index(key), value) for key, value in wanted.items() if key != "family"]
        return sum(n for leaf, n in self.leaves.items() if all(leaf[place] == value for place, value in at))


@contextmanager
def frozen(moment: datetime) -> Iterator[None]:
    """The table is asked at this moment."""
    clock = type("Clock", (datetime,), {"now": classmethod(lambda _, tz: moment.astimezone(tz))})
    with patch.object(listed_prices, "datetime", clock):
        yield


@cache
def _counted_in(leaf: tuple[str, str, str, str]) -> tuple[str, ...]:
    """The usages that tokens of these dimensions are part of."""
    about = dict(zip(NAMES, leaf, strict=True)) | {"family": "tokens"}
    return tuple(name for name, dimensions in TOKENS.items() if dimensions.items() <= about.items())


@cache
def _knows(name: str, rate: str, marks: Marks = "") -> bool:
    listed = listed_prices.find(name)
    price = None if listed is None else listed.price(marks=marks)
    return price is not None and getattr(price, rate) is not None


def draw(listed: Listed, rng: random.Random, *, variants: bool = True) -> Drawn:
    """A request of any size and kind, and a call that it can reach."""
    marks = rng.choice([item for item in MARKS if _knows(listed.name, "written", item)])
    when = dict(rng.choice([{}, *listed.variants()])) if variants else {}
    text, media, completion = rng.choice(SIZES), rng.choice((0, 0, 1600, 250_000)), rng.choice((1, 300, 64_000))
    sorts = [("", ""), ("cache_read", ""), ("tool", "")]
    if not listed.has_marks or marks:
        sorts += [("cache_write", ""), ("cache_write", "5m")]
    if not listed.has_marks or marks == "1h":
        sorts.append(("cache_write", "1h"))
    leaves = dict[tuple[str, str, str, str], int]()
    shown = ["audio", "image", "video", "text"] if _knows(listed.name, "media") else ["image", "text"]
    for most, direction, modalities, kinds in (
        (text, "input", ["text"], sorts),
        (media, "input", shown, sorts),
        (completion, "output", ["text", "audio", "image", "video"], [("", ""), ("reasoning", ""), ("citation", "")]),
    ):
        left = rng.choice((most, rng.randint(0, most)))
        cells = rng.sample([*product(modalities, kinds)], k=rng.randint(1, 3))
        for modality, kind in cells[1:]:
            part = rng.randint(0, left)
            leaves[direction, modality, *kind] = leaves.get((direction, modality, *kind), 0) + part
            left -= part
        modality, kind = cells[0]
        leaves[direction, modality, *kind] = leaves.get((direction, modality, *kind), 0) + left
    later = timedelta(seconds=rng.uniform(0, (AHEAD - timedelta(hours=1)).total_seconds()))
    return Drawn(marks, when, (text, media, completion), leaves, datetime.now(UTC) + later)
