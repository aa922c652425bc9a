"""`tape.plan_fanout`: sub-agents are priced before they start."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

import tape
from tape.errors import ConfigError

PRICES = {"large": ("2.5", "10"), "small": ("0.15", "0.6"), "middle": ("1", "4")}
REVIEW = {
    "name": "review",
    "count": 500,
    "models": ["large", {"model": "small", "quality": 0.8}],
    "prompt": 8000,
    "completion": 1000,
    "calls": 3,
    "expected": {"completion": 400, "calls": 2},
}


def planned(agents: list[dict[str, Any]], budget: Any) -> tape.FanOut:
    return tape.plan_fanout(agents, budget, prices=PRICES)


def test_five_hundred_sub_agents_under_twenty_dollars_are_refused() -> None:
    fan_out = planned([REVIEW], "usd=20")
    assert not fan_out
    assert (fan_out.asked, fan_out.worst["usd"], fan_out.expected["usd"], fan_out.cheapest["usd"]) == (
        500,
        Decimal("45"),
        Decimal("24"),
        Decimal("2.7"),
    )
    assert fan_out.best is not None
    assert [(served.model, served.count) for served in fan_out.best] == [("large", 204), ("small", 296)]
    assert (fan_out.served, fan_out.value, fan_out.gap) == (500, 204 + 296 * 0.8, 0.0)
    assert fan_out.cost_at_most["usd"] == Decimal("0.09") * 204 + Decimal("0.0054") * 296
    assert fan_out.left_after == {"usd": 20 - Decimal("19.9584")}
    assert str(fan_out) == (
        "Refused: 500 sub-agents as asked take at most $45 ($20 given). The best that fits is 500 of 500: 204 review "
        "with large, 296 review with small; that takes at most $19.9584. All fit as asked with $45, and with the "
        "cheapest models with $2.70."
    )


def test_what_fits_is_said() -> None:
    fan_out = planned([REVIEW], {"usd": "$45"})
    assert fan_out
    assert (
        str(fan_out) == "All 500 sub-agents fit as asked: they take at most 1,500 calls and 13,500,000 tokens and $45."
    )
    assert fan_out.left_after == {"usd": 0}
    assert planned([REVIEW], {"usd": "$44.999999"}).fits is False
    assert planned([REVIEW], None).left_after == {}


def test_each_call_is_rounded_up_as_it_is_when_it_is_paid_for() -> None:
    mapping = {"name": "tiny", "count": 7, "models": "small", "prompt": 1, "completion": 0, "calls": 5}
    assert planned([mapping], None).worst == {"calls": 35, "tokens": 35, "usd": Decimal("0.000035")}


def test_the_subset_of_greatest_value_under_several_caps() -> None:
    agents = [
        REVIEW | {"count": 4, "value": 3, "at_least": 1, "models": ["large"]},
        REVIEW | {"name": "test", "count": 4, "models": ["middle", "small"], "cost": {"steps": 5}},
    ]
    fan_out = planned(agents, "usd=0.30, steps=12")
    assert fan_out.best is not None
    assert [(served.agent, served.model, served.count) for served in fan_out.best] == [
        ("review", "large", 3),
        ("test", "small", 2),
    ]
    assert fan_out.best[1].at_most == {
        "calls": 6, "steps": 10, "tokens": 54_000, "usd": Decimal("0.0108")
    }  # fmt: skip
    assert fan_out.value == 11
    assert fan_out.left_after == {"usd": Decimal("0.0192"), "steps": 2}
    assert "take at most" in str(fan_out)
    assert "20 steps (12 steps given)" in str(fan_out)


def test_what_has_to_be_served_may_not_fit() -> None:
    fan_out = planned([REVIEW | {"at_least": 500}], "usd=1")
    assert (fan_out.best, fan_out.served, fan_out.left_after) == (None, 0, {"usd": 1})
    assert "Not even those fit that have to be served: with the cheapest models they take $2.70 ($1 given)." in str(
        fan_out
    )
    kept = planned([REVIEW | {"at_least": 500}], "usd=2.70")
    assert kept.best is not None
    assert [(served.model, served.count) for served in kept.best] == [("small", 500)]
    assert planned([REVIEW], "usd=0.001").best == ()


def test_caps_that_no_sub_agent_names_are_named() -> None:
    assert "No sub-agent names steps in its cost" in str(planned([REVIEW], "usd=100, steps=3"))
    assert "No sub-agent" not in str(planned([REVIEW | {"cost": {"steps": 0}}], "usd=100, steps=3"))


def test_prices_are_those_of_the_table() -> None:
    fanout = tape.plan_fanout([REVIEW | {"models": "gpt-4o-mini"}], "tokens=1M")
    assert fanout.worst["usd"] == Decimal("2.7")
    unknown = tape.plan_fanout([REVIEW | {"models": "unheard-of"}], "tokens=1M")
    assert (unknown.worst["usd"], unknown.served) == (None, 37)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": 0}, "field 0.count: input should be greater than or equal to 1, got 0; one looks like"),
        ({"count": "5"}, "field 0.count: input should be a valid integer, got '5'"),
        ({"count": True}, "field 0.count: input should be a valid integer"),
        ({"count": 10**9}, "field 0.count: input should be less than or equal to 100000"),
        ({"models": []}, "field 0.models: list should have at least 1 item"),
        ({"models": [{"model": "large", "quality": 2}]}, "field 0.models.0.quality"),
        ({"models": ["large", {"quality": 1}]}, "field 0.models.1.model: field required"),
        ({"models": ["unheard-of"]}, "field 0.models.0: usd is capped, but the price of 'unheard-of' is unknown"),
        ({"prompt": -1}, "field 0.prompt"),
        ({"value": float("nan")}, "field 0.value: input should be a finite number"),
        ({"size": 3}, "field 0.size: extra inputs are not permitted"),
        ({"at_least": 501}, "field 0.at_least: there are only 500"),
        ({"expected": {"prompt": 9000}}, "field 0.expected.prompt: more than the 8000 at most; raise prompt"),
        ({"cost": {"gold": 3}}, "field 0.cost: resource 'gold' is not declared"),
        ({"cost": {"usd": None}}, "field 0.cost.usd: an unknown cost is not 0"),
        ({"cost": {3: 4}}, "field 0.cost.3"),
    ],
)
def test_what_is_malformed_is_named_by_its_path(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=r"^agents") as error:
        planned([REVIEW | change], "usd=20")
    assert message in str(error.value)


def test_sub_agents_have_names_of_their_own() -> None:
    with pytest.raises(ConfigError, match=r"field 1\.name: 'review' is there twice"):
        planned([REVIEW, REVIEW], "usd=20")
    for agents in ([], None, REVIEW, [3], [REVIEW | {"name": str(index)} for index in range(51)]):
        with pytest.raises(ConfigError, match=r"^agents: "):
            tape.plan_fanout(agents, "usd=20")  # type: ignore[arg-type]


def test_values_of_too_many_digits_are_refused() -> None:
    with pytest.raises(ConfigError, match="too many digits together"):
        planned([REVIEW | {"value": 0.123456789012345}, REVIEW | {"name": "test", "value": 12345.6}], "usd=20")
