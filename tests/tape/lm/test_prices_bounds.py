"""Worst cases of the table's prices: no usage that fits a request costs more, by genai-prices' and LiteLLM's reckoning.

``python -m tests.tape.lm.litellm_prices`` writes the list of what LiteLLM has dearer.
"""

import json
import random
from dataclasses import replace
from decimal import Decimal
from functools import cache
from importlib.metadata import PackageNotFoundError, version

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.lm.listed_prices import PACKAGE, Listed, entries, find
from tape.lm.price import Marks, TokenPrice
from tests.tape.lm import litellm_prices
from tests.tape.lm.drawn_calls import Drawn, draw

PRICED = [item for item in (Listed(provider, model) for provider, model in entries()) if item.price() is not None]
SHARES = [(0, 400), *(pytest.param(seed, 100_000, marks=pytest.mark.soak) for seed in range(1, 11))]


@cache
def price_of(listed_name: str, request: str, marks: Marks) -> TokenPrice:
    listed = find(listed_name)
    price = None if listed is None else listed.price(request, marks)
    assert price is not None
    return price


def bounds(price: TokenPrice, drawn: Drawn) -> tuple[Decimal, Decimal, Decimal]:
    """The worst case, and what is booked of the usage: of its totals, and with what the cache had."""
    text, media, completion = drawn.bounds
    worst = price.usd(text + media, completion, media=media)
    prompt, answer = drawn.tokens(direction="input"), drawn.tokens(direction="output")
    booked = price.usd(prompt, answer, media=min(media, prompt))
    cached, written = (drawn.tokens(token_type=sort) for sort in ("cache_read", "cache_write"))
    split = booked if media else price.usd(prompt, answer, cached=cached, written=written or None)
    return worst, booked, split


@pytest.mark.parametrize(("seed", "n"), SHARES)
def test_no_usage_that_fits_costs_more_than_the_worst_case(seed: int, n: int) -> None:
    rng = random.Random(seed)
    for _ in range(n):
        listed = rng.choice(PRICED)
        drawn = draw(listed, rng)
        worst, booked, split = bounds(price_of(listed.name, json.dumps(drawn.when), drawn.marks), drawn)
        usage, when = drawn.usage(), drawn.when or None
        cost = listed.model.calc_price(
            usage, listed.provider, genai_request_timestamp=drawn.moment, price_context=when
        ).total_price
        assert cost <= split <= booked <= worst, (listed.name, drawn)


def test_what_has_no_price_of_tokens_is_unknown_and_all_else_is_found_by_its_name() -> None:
    names = {listed.name for listed in PRICED}
    for provider, model in entries():
        listed = Listed(provider, model)
        result = find(listed.name)
        assert result.model is model
        prices = [model.prices] if not isinstance(model.prices, list) else [price.prices for price in model.prices]
        keys = {key for price in prices for key, rate in vars(price).items() if rate is not None}
        assert (listed.name in names) == any(key.startswith(("input_mtok", "output_mtok")) for key in keys), listed.name


@pytest.fixture(scope="module")
def compared() -> litellm_prices.Compared:
    try:
        versions_by_name = {name: version(name) for name in ("litellm", PACKAGE)}
    except PackageNotFoundError:
        pytest.skip("LiteLLM is not installed")
    written = litellm_prices.read()
    if versions_by_name != written.versions:
        pytest.skip(f"the list is of {written.versions}, here are {versions_by_name}")
    return written


def test_what_litellm_has_dearer_is_listed(compared: litellm_prices.Compared) -> None:
    assert litellm_prices.compare() == compared


@pytest.mark.parametrize(("seed", "n"), SHARES)
def test_litellm_reckons_no_more_than_the_worst_case_but_where_that_is_listed(
    seed: int, n: int, compared: litellm_prices.Compared
) -> None:
    listed_as_dearer = {difference.theirs for difference in compared.differences}
    both = [(entry, item) for name, entry, item in litellm_prices.both() if name not in listed_as_dearer]
    assert len(both) == compared.models - len(listed_as_dearer)
    rng = random.Random(seed)
    for _ in range(n):
        entry, listed = rng.choice(both)
        drawn = draw(listed, rng, variants=False)
        worst, _, _ = bounds(price_of(listed.name, "", drawn.marks), drawn)
        assert litellm_prices.cost(entry, drawn) <= worst, (listed.name, drawn)


rates = st.decimals(0, 1, places=6)
prices = st.builds(TokenPrice, rates, rates, st.none() | rates, st.none() | rates, st.none() | rates, rates)
counts = st.integers(0, 10**6)


@given(prices, prices, st.integers(0, 10**6), st.tuples(counts, counts), st.tuples(counts, counts), counts, counts)
def test_more_tokens_cost_no_less(
    low: TokenPrice,
    more: TokenPrice,
    start: int,
    less: tuple[int, int],
    further: tuple[int, int],
    cached: int,
    media: int,
) -> None:
    names = ("prompt", "completion", "cached", "written", "media", "call")
    rates = [(getattr(low, name) or low.prompt) + (getattr(more, name) or 0) for name in names]
    price = replace(low, tiers=((start, TokenPrice(*rates)),))
    (prompt, completion), cached = less, min(cached, less[0])
    worst = price.usd(prompt + further[0], completion + further[1], media=min(media, prompt))
    assert price.usd(prompt, completion, cached=cached, written=(prompt - cached) // 2) <= worst
    assert price.usd(prompt, completion, media=min(media, prompt)) <= worst
