"""A guard: model and tool calls of one program under one budget."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tape.budget import amount_of
from tape.errors import BudgetExceededError, ChargeError, ConfigError, UnknownCostError
from tape.guard.guard import OVERHEAD_TOKENS, Guard
from tests.tape.gateway.helpers import paid, refused

TOOLS = {
    "quick": {"price": {"usd": "$0.01"}, "quality": 0.6, "kind": "search"},
    "deep": {"price": {"usd": "$0.05"}, "quality": 0.9, "kind": "search"},
    "pages": {"each": {"usd": "$0.01"}, "per": "argument", "argument": "n", "at_most": 3},
    "metered": {"worst": {"usd": "$0.10"}, "reported": "cost"},
}
MODELS = {"m": ("1", "2")}


def usd(guard: Guard) -> Decimal:
    return amount_of("usd", guard.ledger.used["usd"] or 0)


def test_tools_are_paid_for_before_they_are_called() -> None:
    by_token = {"price": {"each": {"usd": "$0.01"}, "per": "input_tokens"}, "kind": "search"}
    guard = Guard("usd=0.06, steps=3", tools={**TOOLS, "long": by_token})
    with guard.tool("deep", {"q": "x"}) as charge:
        assert guard.ledger.reserved["usd"] == 50_000
        charge.answered("found")
    assert usd(guard) == Decimal("0.05")
    message = guard.refusal(refused(guard.tool("deep"), BudgetExceededError), "deep")
    assert "deep was not called" in message
    assert message.endswith('What would fit: quick ({"steps": 1, "usd": 0.01})')
    paid(guard.tool("quick"))
    assert guard.left()["left"] == {"steps": 1, "usd": 0}


def test_what_is_reported_counts_and_what_is_not_is_the_worst_case() -> None:
    guard = Guard("usd=1", tools=TOOLS)
    paid(guard.tool("metered"), structured={"cost": "0.02"})
    assert usd(guard) == Decimal("0.02")
    paid(guard.tool("metered"), "no report")
    assert usd(guard) == Decimal("0.12")
    with pytest.raises(ZeroDivisionError), guard.tool("metered"):
        raise ZeroDivisionError
    assert usd(guard) == Decimal("0.22")
    with guard.tool("quick") as charge:
        charge.answered()
        with pytest.raises(ConfigError, match="settled already"):
            charge.answered()
    refused(guard.tool("pages", {"n": 4}), ChargeError, "at most 3")
    refused(guard.tool("nobody knows"), UnknownCostError, "declare it")
    assert guard.ledger.overspent() == ()


def test_models_are_paid_for_by_the_bytes_of_the_prompt_and_their_limit() -> None:
    guard = Guard("usd=1, tokens=1000, calls=2", models=MODELS, most_tokens=50)
    with guard.model("m", "x" * 100) as charge:
        assert charge.most_tokens == 50
        assert guard.ledger.reserved["tokens"] == 100 + OVERHEAD_TOKENS + 50
        charge.used(30, 20)
    assert dict(guard.ledger.used) == {"calls": 1, "tokens": 50, "usd": 70}
    paid(guard.model("m", [{"role": "user", "content": "ä"}], most_tokens=7), None, 3)
    assert guard.ledger.used["tokens"] == 50 + len('[{"role": "user", "content": "ä"}]'.encode()) + OVERHEAD_TOKENS + 7
    refused(guard.model("m", ""), BudgetExceededError, "calls")
    rough = Guard("tokens=3000", bytes_per_token=3)
    with rough.model("m", b"1234"):
        assert rough.ledger.reserved["tokens"] == 2 + OVERHEAD_TOKENS + 1024
    refused(rough.model("m", "", most_tokens=0), ConfigError, "most_tokens=0")


def test_plans_are_those_of_the_gateway() -> None:
    guard = Guard("usd=0.06", tools=TOOLS)
    plan = guard.plan(tools=["search", "search"])
    assert sorted(step["tool"] for step in plan["plan"]) == ["deep", "quick"]
    assert plan["cost_at_most"]["usd"] == 0.06
    assert not guard.plan(tools=["search"] * 7)["fits"]
    with pytest.raises(ConfigError, match="no tool or kind"):
        guard.plan(tools=["nothing"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tools": {"a": {"usd": "-1"}}}, "tools.a"),
        ({"tools": {"a": {"price": {"usd": 1}, "cost": 2}}}, "tools.a.cost"),
        ({"tools": {"a": {"quality": 2}}}, "tools.a.quality"),
        ({"tools": {"a": {"quality": "0.9"}}}, "tools.a.quality"), ({"tools": {"a": {"kind": 2}}}, "tools.a.kind"),
        ({"tools": {"a": {}}}, "tools.a: it names no amount"),
        ({"tools": {"a": {"price": {}}}}, "tools.a.price: it names no amount"), ({"models": {"a": "free"}}, "models.a"),
        ({"models": {"a": ("1", "-2")}}, "models.a"), ({"models": {"a": "15"}}, "models.a"),
        ({"models": {"a": {"1", "5"}}}, "models.a"), ({"models": {"a": ("1", "1e999999999")}}, "models.a"),
        ({"most_tokens": 0}, "most_tokens"), ({"most_tokens": float("nan")}, "most_tokens"),
        ({"bytes_per_token": 0}, "bytes_per_token"), ({"bytes_per_token": 2.5}, "bytes_per_token"),
    ],
)  # fmt: skip
def test_malformed_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Guard("usd=1", **arguments)


def test_a_price_is_that_of_the_arguments_before_the_call() -> None:
    guard, pages = Guard("usd=1", tools=TOOLS), [1, 2, 3]
    with guard.tool("pages", {"n": pages}) as charge:
        pages.clear()  # as a tool does that works a list off
        charge.answered("read")
    assert usd(guard) == Decimal("0.03")
    for answer, units in (("3", 3), ("2.5", 3), ("ab", 2), ("-5", 2)):  # a tool may take "3" for 3
        with guard.tool("pages", {"n": answer}) as charge:
            assert charge.worst["usd"] == units * 10_000
    for answer in ("9999", "1e9", "inf"):
        refused(guard.tool("pages", {"n": answer}), ChargeError)
    by_token = Guard("usd=1", tools={"t": {"each": {"usd": "$0.01"}, "per": "input_tokens"}})
    with by_token.tool("t", {"path": Path("x" * 40)}) as charge:
        assert (charge.worst["usd"] or 0) > 100_000
    texts, letters = ["a"], {"a"}
    with by_token.tool("t", {"pages": (texts, letters)}) as charge:
        texts += map(str, range(1000))
        letters.update(texts)
        charge.answered("read")
    assert not by_token.ledger.violations
    endless: list[Any] = []
    endless.append(endless)
    refused(by_token.tool("t", {"n": endless}), ChargeError, "hold themselves")


def test_all_that_is_sent_counts() -> None:
    class Wide(BaseModel):
        __doc__ = "x" * 3000

    guard = Guard("usd=1", models=MODELS)
    for request, least in ((chr(0xD83D) * 100, 300), ({"format": Wide}, 3000)):
        with guard.model("m", request) as charge:
            assert (charge.worst["tokens"] or 0) >= least + charge.most_tokens
    used = guard.ledger.used["tokens"] or 0
    with guard.model("m", "hello") as charge:
        charge.used(0, 0)  # what some servers say that do not count
    assert guard.ledger.used["tokens"] == used + 5 + OVERHEAD_TOKENS + 1024
