"""What the proxy of LiteLLM is asked, and what its list says that a model costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tape import Guard
from tape.adapters import litellm_requests as requests
from tape.adapters.usage import Meter, ProviderUsage
from tape.errors import ConfigError, UnknownCostError
from tests.tape.adapters.litellm_router import CHEAP, DEAR, Router


def test_prices_of_the_proxy_hold_the_dearest_one(monkeypatch: pytest.MonkeyPatch) -> None:
    router = Router(
        ("a", "openai/x", CHEAP), ("b", "openai/x", DEAR), ("c", "azure/mine", {"base_model": "gpt-4o"}),
        ("d", "azure/other", {"base_model": "nothing-of-that-name"}),
    )  # fmt: skip
    monkeypatch.setattr(requests, "_router", lambda: router)
    prices = requests.declared()
    assert (prices["openai/x"].prompt * 10**6, prices["openai/x"].completion * 10**6) == (5, 20)
    assert (len(prices), prices["azure/mine"]) == (2, "gpt-4o")
    assert requests.deployments("b") == ["openai/x"]
    assert requests.deployments("unknown") == ["unknown"]


CACHES = {
    "cache_read_input_token_cost": 1e-7, "cache_creation_input_token_cost": 1.25e-6,
    "cache_creation_input_token_cost_above_1hr": 2e-6, "input_cost_per_token_above_200k_tokens": 2e-6,
    "output_cost_per_reasoning_token": 3e-6, "input_cost_per_request": 0.001, "input_cost_per_token_batches": 5e-7,
    "search_context_cost_per_query": {"search_context_size_low": 0.03}, "input_cost_per_second": 0,
}  # fmt: skip


def booked(
    info: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch, usage: ProviderUsage, name: str = "openai/x"
) -> Any:
    """Millionths of a dollar of a call, and of its worst case, by what the proxy's list says."""
    monkeypatch.setattr(requests, "_router", lambda: Router(("x", name, info)))
    guard = Guard("$99", models=requests.declared())
    with guard.model(name, "x" * 2000, 100) as charge:
        worst = charge.worst["usd"]
        usage.settle(charge)
    return guard.ledger.used["usd"], worst


def test_costs_of_a_deployment_are_those_of_the_proxys_list(monkeypatch: pytest.MonkeyPatch) -> None:
    cached = ProviderUsage(2000, 0, 800, None)
    assert booked(CHEAP | {"cache_read_input_token_cost": 1e-7}, monkeypatch, cached)[0] == 1280
    assert booked(CHEAP | {"input_cost_per_request": 0.01}, monkeypatch, cached) == (12_000, 12_264)
    longer = CHEAP | {"input_cost_per_token_above_1k_tokens": 4e-6}
    assert (
        booked(longer, monkeypatch, cached)[0] == booked(longer, monkeypatch, ProviderUsage(2000, 0, 0, 800))[0] == 8000
    )
    usual, name = CHEAP | CACHES, "anthropic/claude-y"
    assert booked(usual, monkeypatch, ProviderUsage(2000, 10, 800, 0), name) == (
        80 + 1200 + 30 + 1000,
        2064 + 300 + 1000,
    )
    assert booked(usual, monkeypatch, ProviderUsage(2000, 10, 0, 800, 0), name)[0] == 1000 + 1200 + 30 + 1000
    assert booked(usual, monkeypatch, ProviderUsage(2000, 10, 0, 800, 800), name)[0] == 1600 + 1200 + 30 + 1000
    assert booked(usual, monkeypatch, cached) == (80 + 2400 + 1000, 2 * 2064 + 300 + 1000), "it may write unasked"
    assert booked(CACHES, monkeypatch, ProviderUsage(1000, 0, 1000, 0), "openai/gpt-4o") == (1100, 5160 + 1000 + 1000)


@pytest.mark.parametrize("cost", ["input_cost_per_second", "output_cost_per_image", "tiered_pricing", "cost_of_moons"])
def test_costs_that_no_call_is_held_to_are_refused_by_name(cost: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = [{"range": [0, 1000]}] if cost == "tiered_pricing" else 0.01
    for name in ("openai/gpt-4o", "openai/x"):
        monkeypatch.setattr(
            requests, "_router", lambda name=name: Router(("x", name, CHEAP | {cost: given}), ("x", name, CHEAP))
        )
        with (
            pytest.raises(UnknownCostError, match=f"{cost} is no price"),
            Guard("$9", models=requests.declared()).model(name, "x"),
        ):
            pass
        with Guard("9 calls", models=requests.declared()).model(name, "x") as charge:
            charge.used(1, 1)
        with Guard("$9", models={**requests.declared(), name: ("1", "2")}).model(name, "x") as charge:
            charge.used(1, 1)


def test_of_several_deployments_of_a_name_each_rate_is_the_dearest(monkeypatch: pytest.MonkeyPatch) -> None:
    longer = DEAR | {"input_cost_per_token_above_1k_tokens": 6e-6}
    monkeypatch.setattr(
        requests, "_router", lambda: Router(("a", "openai/x", CHEAP | CACHES), ("b", "openai/x", longer))
    )
    price = requests.declared()["openai/x"]
    for prompt, usd in ((1000, 0.006), (1001, 0.007006), (200_001, 1.201006)):
        assert float(price.usd(prompt, 0, cached=0, written=0)) == pytest.approx(usd)
    assert float(price.usd(10, 10, written=10, written_1h=0)) == pytest.approx(10 * 5e-6 + 10 * 2e-5 + 0.001)


@pytest.mark.parametrize(
    ("sort", "body", "limit", "choices"),
    [
        ("acompletion", {}, 77, 1),
        ("acompletion", {"max_tokens": 9, "max_completion_tokens": 5, "n": 3}, 5, 3),
        ("acompletion", {"max_tokens": 9.0}, 9, 1),
        ("acompletion", {"fallbacks": ["a", {"b": ["c"]}], "service_tier": "flex"}, 77, 1),
        ("atext_completion", {"prompt": ["a", "b"], "n": 2, "best_of": 3}, 77, 6),
        ("atext_completion", {"prompt": [1, 2, 3]}, 77, 1),
        ("aembedding", {"input": ["a", "b"]}, 0, 1),
    ],
)
def test_a_request_is_read(sort: str, body: dict[str, Any], limit: int, choices: int) -> None:
    asked = requests.asked_of(sort, {"model": "m", **body}, 77)
    assert (asked.limit, asked.choices) == (limit, choices)


@pytest.mark.parametrize(
    "body",
    [
        {"max_tokens": 0}, {"max_tokens": -1}, {"max_tokens": "9"}, {"max_tokens": True}, {"n": 0}, {"n": "2"},
        {"best_of": 1.5}, {"model": "a,b"}, {"model": ["a"]}, {"model": None}, {"extra_body": {"n": 2}},
        {"additional_drop_params": ["max_tokens"]}, {"max_output_tokens": 9}, {"num_predict": 9},
        {"service_tier": "priority"}, {"speed": "fast"}, {"inference_geo": "us"}, {"prompt_id": "p"},
        {"context_management": {"edits": [{"type": "compact_20260112"}]}}, {"fallbacks": [{"model": "a", "n": 3}]},
    ],
)  # fmt: skip
def test_a_request_that_nothing_bounds_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises((UnknownCostError, ConfigError)):
        requests.asked_of("acompletion", {"model": "m", **body}, 77)


def test_usage_is_read_from_pieces_of_one_byte() -> None:
    events = (
        b'event: message_start\ndata: {"type": "message_start", "message": {"usage": {"input_tokens": 9, '
        b'"cache_read_input_tokens": 4, "output_tokens": 1}}}\n\n'
        b'event: message_delta\ndata: {"type": "message_delta", "usage": {"output_tokens": 7}}\n\n'
    )
    meter = Meter()
    for byte in events:
        meter.take(bytes([byte]))
    assert meter.usage == ProviderUsage(13, 7, 4, None)
