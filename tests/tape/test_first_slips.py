"""What a new user writes first: budgets as text, tools without parentheses, and slips that get one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tape import Budget, TapeAgent
from tape.budget import Resources, declare, undeclared
from tape.budget.price_reading import read_price
from tape.errors import ConfigError, TapeError, UnknownCostError
from tape.guard.guard import Guard
from tape.lm.scripted import ScriptedLM
from tape.tools import Tool, ToolEnvironment, tool
from tape.trace import read_trace


@tool
def look(place: str) -> str:
    """Look at a place."""
    return f"nothing at {place}"


@tool(usd=0)
def free(place: str) -> str:
    """Look at a place, free of charge."""
    return f"nothing at {place}"


ANSWERS = ['{"plan": [{"tool": "answer", "arguments": {"value": 1}}]}'] * 4


def test_a_tool_without_parentheses_is_still_a_function() -> None:
    assert isinstance(look, Tool)
    assert look("home") == free(place="home") == "nothing at home"
    assert (look.worst["usd"], free.worst["usd"], look.worst["steps"]) == (None, 0, 1)


@pytest.mark.parametrize("cap", ["$0.05", "usd=0.05"])
def test_under_a_cap_on_money_a_tool_without_a_price_is_refused_before_the_first_call(cap: str) -> None:
    model = ScriptedLM(ANSWERS, price=None)
    with pytest.raises(UnknownCostError):
        TapeAgent(model).run(ToolEnvironment("t", [look], budget=cap))
    assert model.requests == []


def test_agents_guards_and_the_gateway_take_an_undeclared_price_alike() -> None:
    assert undeclared() == Resources({"usd": None})
    guard = Guard("calls=1, tokens=100, seconds=10, steps=2", tools={"slow": {"seconds": 2}})
    for name in ("look", "slow"):  # none of these caps concerns money
        with guard.tool(name) as charge:
            charge.answered()
    capped = Guard("$0.05", tools={"slow": {"seconds": 2}, "free": {"usd": 0}})
    for name in ("look", "slow"):
        with pytest.raises(UnknownCostError), capped.tool(name):
            pass
    with capped.tool("free") as charge:
        charge.answered()
    assert read_price({"seconds": 2}, ()).worst()["usd"] is read_price([{"seconds": 2}], ()).worst()["usd"] is None
    assert read_price([{"seconds": 2}, {"each": {"usd": 1}, "per": "input_tokens"}], ()).worst({})["usd"] == 10**6
    assert tool(seconds=2)(look.function).worst["usd"] is None


def test_a_currency_of_ones_own_is_money_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from tape.budget import resources

    monkeypatch.setattr(resources, "_KINDS", dict(resources._KINDS))
    declare("eur", "euro", "1e-6", money=True)
    assert undeclared() == Resources({"usd": None, "eur": None})
    assert tool(eur=1)(look.function).worst["usd"] == 0  # a price in one currency is a price


@pytest.mark.parametrize(
    ("given", "caps"),
    [
        (None, {}),
        ("$0.05, 20 steps", {"usd": 50_000, "steps": 20}),
        ("5 cents,1,000 tokens, 3 calls", {"usd": 50_000, "tokens": 1000, "calls": 3}),
        ("usd=$0.05, wall_seconds = 2 min, 1 step", {"usd": 50_000, "wall_seconds": 120_000, "steps": 1}),
        ({"usd": "$0.05", "steps": 2}, {"usd": 50_000, "steps": 2}),
        (Budget.of(steps=2), {"steps": 2}),
    ],
)
def test_budgets_are_read_wherever_they_are_taken(given: Any, caps: dict[str, int]) -> None:
    assert dict(Budget.read(given)) == dict(ToolEnvironment("t", [free], budget=given).budget) == caps
    ledger = Guard(given).ledger
    assert {kind: ledger.remaining(kind) for kind in ledger.capped()} == caps


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("30 s", "say which time: wall_seconds=30 s is real time, seconds=30 s what tools declare"),
        ("20", "expected AMOUNT UNIT or KIND=AMOUNT"),
        ("usd=", "expected AMOUNT UNIT or KIND=AMOUNT"),
        ("$1, usd=2", "usd is given twice"),
        ("USD=1", "did you mean 'usd'"),
        ("3 apples", "expected AMOUNT UNIT or KIND=AMOUNT"),
        (0.05, 'budget is 0.05; write "$0.05, 8 steps"'),
    ],
)
def test_what_is_no_budget_is_refused(given: Any, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ToolEnvironment("t", [free], budget=given)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (
            lambda: ToolEnvironment("t", [len]),
            "[0] is <built-in function len>, which is no tool; put @tool above it",
        ),
        (lambda: ToolEnvironment("t", ["look"]), "tools[0] is 'look', which is no tool"),
        (lambda: TapeAgent(ScriptedLM([])).run([look]), "a list is no environment; write ToolEnvironment(task, tools)"),
    ],
)
def test_common_slips_get_a_sentence(make: Any, says: str) -> None:
    with pytest.raises(TapeError) as caught:
        make()
    assert says in str(caught.value)


def test_a_trace_may_be_named_by_a_text(tmp_path: Path) -> None:
    file = str(tmp_path / "trace.jsonl")
    TapeAgent(ScriptedLM(ANSWERS)).run(ToolEnvironment("t", [free]), trace=file)
    assert next(iter(read_trace(Path(file)))).type == "started"
