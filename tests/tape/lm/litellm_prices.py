"""LiteLLM's own map of prices, read from its package without importing it, beside ours.

``python -m tests.tape.lm.litellm_prices`` writes what it has dearer into ``litellm_dearer.json``.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from importlib.metadata import distribution, version
from pathlib import Path
from typing import Any

from tape.lm.listed_prices import PACKAGE, Listed, find
from tests.tape.lm.drawn_calls import Drawn, frozen

MAP = "litellm/model_prices_and_context_window_backup.json"
FILE = Path(__file__).with_name("litellm_dearer.json")
MOMENT = datetime(2026, 11, 28, tzinfo=UTC)
"""Of the comparison: some prices depend on the date."""

MODES = ("chat", "completion", "responses", "embedding")
KINDS = {
    "input_cost_per_token": "prompt",
    "input_cost_per_token_cache_hit": "cached",
    "cache_read_input_token_cost": "cached",
    "cache_creation_input_token_cost": "written",
    "output_cost_per_token": "completion",
    "output_cost_per_reasoning_token": "completion",
    "output_cost_per_audio_token": "completion",
    "output_cost_per_image_token": "completion",
    "input_cost_per_audio_token": "media",
    "input_cost_per_image_token": "media",
    "cache_creation_input_audio_token_cost": "media",
    "cache_read_input_audio_token_cost": "media",
    "cache_read_input_image_token_cost": "media",
    "input_cost_per_request": "call",
}
_KEY = re.compile(r"(?P<rate>.+?)(?P<hour>_above_1hr)?(?:_above_(?P<above>\d+)k_tokens)?")


@dataclass(frozen=True)
class Difference:
    """A rate that LiteLLM has dearer than our worst case of it.

    Attributes:
        theirs: LiteLLM's name of the model.
        name: Ours.
        rate: LiteLLM's name of the rate.
        usd: US dollars per million tokens: LiteLLM's, and at most by ours.
    """

    theirs: str
    name: str
    rate: str
    usd: tuple[str, str]


@dataclass(frozen=True)
class Compared:
    """What the comparison found.

    Attributes:
        versions: Of the packages.
        models: How many are in both.
        differences: Rates that LiteLLM has dearer.
    """

    versions: dict[str, str]
    models: int
    differences: tuple[Difference, ...]


@lru_cache(maxsize=1)
def _map() -> dict[str, dict[str, Any]]:
    text = Path(str(distribution("litellm").locate_file(MAP))).read_text(encoding="utf-8")
    values: dict[str, dict[str, Any]] = json.loads(text, parse_float=Decimal)
    return values


def both() -> Iterator[tuple[str, dict[str, Any], Listed]]:
    """The models that both have prices of tokens of, by LiteLLM's name."""
    for name, entry in _map().items():
        if entry.get("mode") not in MODES or entry.get("input_cost_per_token") is None:
            continue
        provider = entry["litellm_provider"].partition("-")[0]
        listed = find(name if name.startswith(f"{provider}/") else f"{provider}/{name}")
        if listed is not None and listed.price() is not None:
            yield name, entry, listed


def compare() -> Compared:
    """Every rate of every model of both, at :data:`MOMENT`."""
    models, differences = 0, list[Difference]()
    with frozen(MOMENT):
        for name, entry, listed in both():
            models += 1
            for key, rate in entry.items():
                ours = _ours(key, listed)
                if ours is not None and rate is not None and rate > ours:
                    differences.append(Difference(name, listed.name, key, (_million(rate), _million(ours))))
    return Compared({package: version(package) for package in ("litellm", PACKAGE)}, models, tuple(differences))


def _ours(key: str, listed: Listed) -> Decimal | None:
    """The most that a token costs which LiteLLM has this rate for; None for other rates."""
    match = _KEY.fullmatch(key)
    if match is None or match["rate"] not in KINDS:
        return None
    kind = KINDS[match["rate"]]
    price = listed.price(marks=("1h" if match["hour"] else "5m") if kind == "written" else "")
    price = price.at(int(match["above"] or 0) * 1000 + 1)
    if kind in ("completion", "call"):
        return Decimal(getattr(price, kind))
    if (kind == "written" and price.written is None) or (kind == "media" and price.media is None and "audio" in key):
        return None  # a guard refuses that without an amount of money
    return max(price.dearest, price.media or price.dearest) if kind == "media" else price.dearest


def cost(entry: Mapping[str, Any], drawn: Drawn) -> Decimal:
    """What LiteLLM's rates make of a usage."""
    prompt = drawn.tokens(direction="input")
    total = Decimal(entry.get("input_cost_per_request") or 0)
    for (direction, modality, sort, ttl), tokens in drawn.leaves.items():
        side = "input" if direction == "input" else "output"
        names = [f"{side}_cost_per_token"]
        if sort == "cache_read":
            names = ["cache_read_input_token_cost", *names]
        if sort == "cache_write":
            names = ["cache_creation_input_token_cost", *names]
            names = ["cache_creation_input_token_cost_above_1hr", *names] if ttl == "1h" else names
        if sort == "reasoning":
            names = ["output_cost_per_reasoning_token", *names]
        if modality in ("audio", "image"):
            names = [f"{side}_cost_per_{modality}_token", *names]
            names = [f"cache_read_input_{modality}_token_cost", *names] if sort == "cache_read" else names
        total += tokens * next(rate for name in names if (rate := _rate(entry, name, prompt)) is not None)
    return total


def _rate(entry: Mapping[str, Any], name: str, prompt: int) -> Decimal | None:
    for above in (272, 256, 200, 128):
        if prompt > above * 1000 and (rate := entry.get(f"{name}_above_{above}k_tokens")) is not None:
            return Decimal(rate)
    rate = entry.get(name)
    return Decimal(0) if rate is None and name == "output_cost_per_token" else rate


def _million(rate: Decimal) -> str:
    return f"{(Decimal(rate) * 1_000_000).normalize():f}"


def read() -> Compared:
    """The list that is written."""
    record = json.loads(FILE.read_text(encoding="utf-8"))
    differences = (
        Difference(theirs, name, rate, (first, second)) for theirs, name, rate, first, second in record["dearer"]
    )
    return Compared(record["versions"], record["models"], tuple(differences))


def write(compared: Compared) -> None:
    """Write the list, a line a difference."""
    rows = [
        [difference.theirs, difference.name, difference.rate, *difference.usd] for difference in compared.differences
    ]
    about = {"versions": compared.versions, "models": compared.models, "day": f"{MOMENT:%Y-%m-%d}"}
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    FILE.write_text(f'{json.dumps(about)[:-1]}, "dearer": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    write(compare())
