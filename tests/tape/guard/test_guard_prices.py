"""What a guard books for calls of models: by the table, a price file and two numbers, however the model is spelled."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.errors import BudgetExceededError, ConfigError, UnknownCostError
from tape.guard.guard import OVERHEAD_TOKENS, Guard
from tests.profiles import examples
from tests.tape.gateway.helpers import paid, refused


def test_prices_of_models_are_looked_up() -> None:
    for name in ("openai:gpt-4o-mini", "openai/gpt-4o-mini", "gpt-4o-mini", "gpt-4o-mini-2024-07-18"):
        with Guard("usd=1").model(name, "", 10) as charge:
            assert charge.worst["usd"] == -(-(OVERHEAD_TOKENS * 15 + 10 * 60) // 100), "$0.15 and $0.60 per million"
    refused(Guard("usd=1").model("gpt-4o-minii", "hello"), UnknownCostError, "nearest names .* openai:gpt-4o-mini, ")
    refused(Guard("usd=1").model("unheard-of", "hello"), UnknownCostError, r'models={"unheard-of": \("0.15", "0.60"\)}')
    paid(Guard("tokens=2000").model("unheard-of", "hello"), 1, 1)


def test_a_model_is_one_however_it_is_spelled(tmp_path: Path) -> None:
    entry = {"prompt": 2, "completion": 3, "cached_input": 1, "cache_write": 4}
    file = tmp_path / "prices.json"
    file.write_text(json.dumps({"schema": 1, "date": "2026-01-31", "per_tokens": 10**6, "models": {"gpt-4o": entry}}))
    for guard in (
        Guard("usd=1", models={"openai:gpt-4o": ("4", "3"), "mine": "openai:gpt-4o"}),
        Guard("usd=1", models={"mine": "openai/gpt-4o"}, prices=file),
    ):
        for name in ("gpt-4o", "openai/gpt-4o", "openai:gpt-4o", "mine"):
            with guard.model(name, "", 10) as charge:
                assert charge.worst["usd"] == 4 * OVERHEAD_TOKENS + 30
    with guard.model("mine", b"12345678", 10) as charge:
        charge.used(20, 10, cached=8, written=10)
    assert guard.ledger.used["usd"] - 4 * (4 * OVERHEAD_TOKENS + 30) == 8 * 1 + 10 * 4 + 2 * 2 + 30
    with pytest.raises(ConfigError, match=r"models\.mine: no prices, and no known model is called 'free'"):
        Guard("usd=1", models={"mine": "free"})


CLAUDE = "claude-sonnet-4-5"
"""3 and 15 dollars per million tokens, 3.75 and 6 for what is written to the cache, 0.3 for what is read from it."""


@pytest.mark.parametrize(
    ("mark", "rate"),
    [(None, 3), ({"type": "ephemeral"}, 3.75), ({"ttl": "5m"}, 3.75), ({"ttl": "1h"}, 6), ({"ttl": "3600s"}, 6)],
)
def test_marks_for_a_cache_cost_what_is_written_to_it(mark: dict[str, str] | None, rate: float) -> None:
    text = {"type": "text", "text": "x" * 1000} | ({"cache_control": mark} if mark else {})
    request = {"messages": [{"role": "user", "content": [text]}]}
    prompt = len(json.dumps(request)) + OVERHEAD_TOKENS
    guard = Guard("usd=1")
    for split, booked in (
        ({}, 500 * rate),
        ({"cached": 0, "written": 0}, 500 * rate),
        ({"cached": 400, "written": 0}, 400 * 0.3 + 100 * rate),
        ({"cached": 400, "written": 190}, 500 * rate),
        ({"cached": -1}, 500 * rate),
        # without a mark, and where it is not said for how long: the dearest
        ({"cached": 400, "written": 90}, 400 * 0.3 + 90 * (rate if mark else 6) + 10 * 3),
    ):
        before = guard.ledger.used["usd"] or 0
        with guard.model(CLAUDE, request, 10) as charge:
            assert charge.worst["usd"] == math.ceil(prompt * rate + 150)
            charge.used(500, 10, **split)  # type: ignore[arg-type]
        assert (guard.ledger.used["usd"] or 0) - before == math.ceil(booked + 150)


@pytest.mark.parametrize(("hours", "calls", "spent"), [(0, 13, 487_500), (10_000, 8, 480_000), (None, 8, 480_000)])
def test_what_a_provider_writes_to_its_cache_unasked_does_not_break_a_cap(
    hours: int | None, calls: int, spent: int
) -> None:
    guard, made = Guard("$0.50"), 0
    with suppress(BudgetExceededError):
        while made < 20:
            with guard.within("$1").model(CLAUDE, "x" * 9_800, 500) as charge:
                made += 1
                charge.used(10_000, 0, written=10_000, written_1h=hours)
    assert (made, guard.ledger.used["usd"]) == (calls, spent)
    assert guard.ledger.violations["usd"] == 1, "only the first one was not foreseen"


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 600), st.none() | st.integers(0, 600)), max_size=9))
@examples(60)
def test_what_is_reported_is_booked_exactly_and_no_less_than_the_bill(calls: list[tuple[int, int, int | None]]) -> None:
    guard = Guard("usd=1")
    for cached, written, drawn in calls:
        before, hours = guard.ledger.used["usd"] or 0, None if drawn is None else min(drawn, written)
        with guard.model(CLAUDE, "x" * 1000, 10) as charge:
            charge.used(1000, 10, cached=cached, written=written, written_1h=hours)
        kept = written if hours is None else hours  # not said: the dearest
        bill = cached * 0.3 + (written - kept) * 3.75 + kept * 6 + (1000 - cached - written) * 3 + 150
        assert (guard.ledger.used["usd"] or 0) - before == math.ceil(round(bill, 6))


def test_a_declared_worst_case_of_marks_pays_for_what_they_write() -> None:
    text = {"type": "text", "text": "x", "cache_control": {"ttl": "5m"}}
    guard = Guard("usd=1", content={"cache": {"usd": "$0.01"}})
    for request, booked in (({"messages": [text]}, 100 * 3 + 10_000), ({"messages": "x"}, 90 * 3.75 + 10 * 3)):
        before = guard.ledger.used["usd"] or 0
        with guard.model(CLAUDE, request, 10) as charge:
            charge.used(100, 0, written=90, written_1h=0)
        assert (guard.ledger.used["usd"] or 0) - before == math.ceil(booked)


def test_writes_beside_images_cost_what_they_cost() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://x/y.png"}}
    guard = Guard("usd=1", content={"image": 1600})
    with guard.model(CLAUDE, {"messages": [{"role": "user", "content": [image]}]}, 10) as charge:
        charge.used(1000, 0, cached=100, written=800, written_1h=0)
    assert guard.ledger.used["usd"] == 800 * 3.75 + 200 * 3


def answered_by_the_dearer_one(guard: Guard, most: int) -> None:
    """A call of $0.0375 that is answered by a model of which it is $0.1875."""
    with guard.model(CLAUDE, "x" * 10_000, 500) as charge:
        assert charge.worst["usd"] == most
        charge.used(10_000, 500, model="claude-opus-4-1-20250805")


@pytest.mark.parametrize("shared", [False, True])
def test_an_answer_of_a_dearer_model_costs_what_that_costs_and_the_next_call_is_refused(
    shared: bool, tmp_path: Path
) -> None:
    where = {"journal": f"file://{tmp_path / 'ledger'}", "scope": "org"} if shared else {}
    guard = Guard("$1", **where)  # type: ignore[arg-type]
    answered_by_the_dearer_one(guard, 3 * (10_000 + OVERHEAD_TOKENS) + 7_500)
    assert guard.left()["left"] == {"usd": 0.8125}
    refused(guard.model(CLAUDE, "x"), UnknownCostError, r"by claude-opus-4-1-20250805, .* substitutes={\"claude-sonnet")
    assert guard.left()["left"] == {"usd": 0.8125}
    with guard.model("claude-haiku-4-5", "x") as charge:
        charge.used(1, 1, model="claude-haiku-4-5-20251001")
    guard.close()


def test_a_dearer_model_that_may_answer_is_set_aside() -> None:
    guard = Guard("$1", substitutes={CLAUDE: ["claude-opus-4-1"]})
    for _ in range(2):
        answered_by_the_dearer_one(guard, 15 * (10_000 + OVERHEAD_TOKENS) + 37_500)
    with guard.model(CLAUDE, "x", 500) as charge:
        charge.grow(100)
        assert charge.worst["usd"] == 15 * (OVERHEAD_TOKENS + 1) + 75 * 600
        charge.used(60, 500, model="claude-sonnet-4-5-20250929")
    assert guard.ledger.used["usd"] == 2 * 187_500 + 3 * 60 + 7_500
    assert not guard.ledger.violations


def test_names_of_answers_that_are_no_dearer_model_change_nothing() -> None:
    own = Guard("usd=9", models={"mine": ("1", "2"), "other": ("2", "4")})
    for name, answer, booked in (
        ("mine", "gpt-4o", 3_000),  # a deployment, at the price that was given, whatever model it has
        ("mine", "other", 6_000),
        ("gpt-4o", "gpt-4o-2024-08-06", 12_500), ("gpt-4o", "gpt-4o-mini", 12_500), ("gpt-4o", "unheard of", 12_500),
    ):  # fmt: skip
        before = own.ledger.used["usd"] or 0
        with own.model(name, "x", 1000) as charge:
            charge.used(1000, 1000, model=answer)
        assert (own.ledger.used["usd"] or 0) - before == booked
    paid(Guard("calls=2").model("unheard-of", "x"), 1, 1)
    free = Guard("calls=2")
    for _ in range(2):  # money is not capped
        with free.model(CLAUDE, "x") as charge:
            charge.used(1, 1, model="claude-opus-4-1")


def test_marks_for_an_hour_have_to_be_declared_where_the_table_has_no_price_of_them() -> None:
    text = {"type": "text", "text": "x", "cache_control": {"ttl": "1h"}}
    request, model = {"messages": [{"role": "user", "content": [text]}]}, "openrouter/anthropic/claude-sonnet-4"
    refused(Guard("usd=1").model(model, request), UnknownCostError, r'content={"cache": {"usd": "\$0.01"}}')
    with Guard("usd=1", content={"cache": {"usd": "$0.01"}}).model(model, request, 10) as charge:
        assert charge.worst["usd"] == 10_000 + 3 * ((charge.worst["tokens"] or 0) - 10) + 150


def test_long_prompts_service_tiers_and_media_cost_what_they_reach() -> None:
    guard = Guard("usd=9", content={"audio": 1000})
    with guard.model(CLAUDE, "x" * 200_000, 10) as charge:  # above 200,000 with what a template adds
        assert charge.worst["usd"] == 6 * (200_000 + OVERHEAD_TOKENS) + 225
        charge.grow(10)
        assert charge.worst["usd"] == 6 * (200_000 + OVERHEAD_TOKENS) + 450
        charge.used(200_000, 20)
    assert guard.ledger.used["usd"] == 3 * 200_000 + 300
    usual, fast = ({"input": "hello", "service_tier": tier} for tier in ("default", "priority"))
    worst = []
    for request in (usual, fast):
        with guard.model("gpt-4o-mini", request, 1000) as charge:
            worst.append(charge.worst["usd"] or 0)
    assert worst[1] - worst[0] > 390, "completions cost $1 instead of $0.60"
    sound = {"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AAAA"}}]}]}
    with guard.model("gemini-2.5-flash", sound, 10) as charge:
        text = (charge.worst["tokens"] or 0) - 1010
        assert charge.worst["usd"] == math.ceil(1000 + 0.3 * text + 25), "$1 a million tokens of sound, $0.30 of text"
    refused(
        guard.model("gpt-4o-audio-preview", sound), UnknownCostError, r'{"audio": {"tokens": 1600, "usd": "\$0.01"}}'
    )
