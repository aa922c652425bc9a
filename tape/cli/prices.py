"""``tape prices``: what models cost, from when that is known, and what a call costs at worst."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from tape.cli.numbers import whole

if TYPE_CHECKING:
    from tape.lm.listed_prices import Listed
    from tape.lm.price import Marks, TokenPrice

_UNITS = "US dollars per million tokens"
_TIMES: dict[Marks, str] = {"5m": "5 minutes", "1h": "1 hour"}


def main(argv: Sequence[str]) -> int:
    """Run the subcommand; exit code 0, or 1 where no name has the text."""
    args = _parser().parse_args(argv)
    from tape.errors import ConfigError
    from tape.lm.listed_prices import edition, find, why_unknown
    from tape.lm.price_table import PriceTable

    if args.model is None:
        return _list(args.find)
    own = None if args.prices is None else PriceTable.load(args.prices)
    if own is not None and (price := own.price(args.model)) is not None:
        name = next(name for name, token_price in own.prices.items() if token_price is price)
        print(f"{name}, from {args.prices} of {own.dates[name]}; it goes before {edition()}\n")
        return _show(args, [("a call", price)])
    listed = find(args.model)
    if listed is None or listed.price() is None:
        raise ConfigError(
            f"the price of {args.model} is unknown: {why_unknown(args.model)}. `tape prices --find TEXT` lists names; "
            "what it costs can be put into a file, --prices FILE (docs/reference/budgets.md)"
        )
    since = f", since {listed.since}" if listed.since else ""
    print(f"{listed.name}{since}, from {edition()}\n")
    return _show(args, [(words, price) for words, price in _calls(listed) if price is not None])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tape prices",
        description="What models cost, since when, and what a call costs at worst (docs/reference/budgets.md).",
    )
    parser.add_argument("model", nargs="?", metavar="MODEL", help="in any spelling: openai:NAME, openai/NAME or NAME")
    parser.add_argument("--find", metavar="TEXT", help="list the models whose names have this text")
    parser.add_argument("--prompt", type=whole(0), default=1000, metavar="N", help="its tokens (default: 1000)")
    parser.add_argument("--completion", type=whole(0), default=1000, metavar="N", help="the same")
    parser.add_argument("--prices", type=Path, help="a JSON file with prices of models; goes before the table")
    return parser


def _list(text: str | None) -> int:
    from tape.lm.listed_prices import Listed, edition, entries

    if text is None:
        counts = Counter(provider.id for provider, _ in entries())
        _print([("provider", "models"), *((name, str(count)) for name, count in counts.items())])
        print(f"\n{edition()}. `tape prices --find TEXT` lists models, `tape prices MODEL` shows one.")
        return 0
    rows = [("model", "prompt", "completion", "above", "prompt", "completion")]
    for listed in (Listed(provider, model) for provider, model in entries()):
        if text.lower() in listed.name.lower():
            price = listed.price()
            first = ("?", "?") if price is None else (_rate(price.dearest), _rate(price.completion))
            start, last = price.tiers[-1] if price is not None and price.tiers else (None, None)
            more = ("", "", "") if last is None else (f"{start:,}", _rate(last.dearest), _rate(last.completion))
            rows.append((listed.name, *first, *more))
    if len(rows) == 1:
        print(f"no name in {edition()} has {text!r} in it; `tape prices` lists the providers", file=sys.stderr)
        return 1
    _print(rows)
    print(f"\n{_UNITS} at most, without marks for a cache; ?: no price of tokens. {edition()}")
    return 0


def _calls(listed: Listed) -> Iterator[tuple[str, TokenPrice | None]]:
    """What can be asked for, and its price."""
    yield "a call", (usual := listed.price())
    for marks, words in _TIMES.items():
        if (marked := listed.price(marks=marks)) != usual:
            yield f"marked for the cache, {words}", marked
    for when in listed.variants():
        yield ", ".join(f"{key}={value}" for key, value in when.items()), listed.price(json.dumps(when))


def _show(args: argparse.Namespace, calls: Sequence[tuple[str, TokenPrice]]) -> int:
    """The rates of the first of the calls, and what those cost that cost more."""
    from tape.budget.resources import in_units
    from tape.lm.price import cost_of

    price = calls[0][1]
    starts = [f"above {start:,}" for start, _ in price.tiers]
    rows = [(_UNITS, f"up to {price.tiers[0][0]:,}" if starts else "any prompt", *starts)]
    written = [("  written to the cache", price), *((f"  {words}", item) for words, item in calls if "marked" in words)]
    for words, name, token_price in (
        ("prompt", "prompt", price),
        ("  read from the cache", "cached", price),
        *((words, "written", item) for words, item in written),
        ("  images, sound, video", "media", price),
        ("completion", "completion", price),
    ):
        levels = [token_price.at(0), *(above for _, above in token_price.tiers)]
        rates = [getattr(level, name) for level in levels]
        if name in ("prompt", "completion") or rates not in ([level.prompt for level in levels], [None] * len(levels)):
            rows.append((words, *map(_rate, rates)))
    if price.call:
        rows.append(("a call, beside its tokens", f"${price.call}"))
    _print(rows)
    costs = [(words, cost_of(item, args.prompt, args.completion)["usd"] or 0) for words, item in calls]
    media = cost_of(price, args.prompt, args.completion, media=args.prompt)["usd"] or 0
    costs.append(("all of the prompt images, sound or video", media))
    dearer = [costs[0], *(cost for cost in costs[1:] if cost[1] > costs[0][1])]
    size = f"{args.prompt:,} tokens of prompt, {args.completion:,} of completion"
    print()
    _print([(size, "at most"), *((words, in_units("usd", count)) for words, count in dearer)])
    return 0


def _rate(usd: Decimal) -> str:
    return f"{(usd * 1_000_000).normalize():f}"


def _print(rows: Sequence[Sequence[str]]) -> None:
    """A table, as wide as the terminal, or as it needs where there is none."""
    from tape.show.console import GuardedConsole
    from tape.show.progress import plain_table

    console = GuardedConsole()
    if not console.is_terminal:
        console.width = 1_000
    console.print(plain_table(rows, first=1))
