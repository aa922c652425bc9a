"""What a guard books for calls of models: by the table, a price file and two numbers, however the model is spelled."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tape.errors import ConfigError, UnknownCostError
from tape.gateway.guard import OVERHEAD_TOKENS, Guard
from tests.tape.gateway.helpers import paid, refused


def test_prices_of_models_are_looked_up() -> None:
    for one in ("openai:gpt-4o-mini", "openai/gpt-4o-mini", "gpt-4o-mini", "gpt-4o-mini-2024-07-18"):
        with Guard("usd=1").model(one, "", 10) as charge:
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
        ({"cached": 400, "written": 90}, 400 * 0.3 + 90 * rate + 10 * 3),
        ({"cached": 400, "written": 190}, 500 * rate),
        ({"cached": -1}, 500 * rate),
    ):
        before = guard.ledger.used["usd"] or 0
        with guard.model(CLAUDE, request, 10) as charge:
            assert charge.worst["usd"] == math.ceil(prompt * rate + 150)
            charge.used(500, 10, **split)
        assert (guard.ledger.used["usd"] or 0) - before == math.ceil(booked + 150)


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
