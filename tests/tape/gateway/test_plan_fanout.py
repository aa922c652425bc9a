"""The tool `plan` for sub-agents: what they take at most, under what is left, before one of them starts."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from tape import FanOut
from tape.errors import ConfigError
from tape.guard.guard import Guard
from tape.guard.planning import SCHEMA
from tape.lm.fanout import _Agent
from tests.tape.gateway.helpers import OWN_TOOLS, ask, call, gateway_on, paid

REVIEW: dict[str, Any] = {
    "name": "review",
    "count": 500,
    "models": ["gpt-4o", {"model": "gpt-4o-mini", "quality": 0.8}],
    "prompt": 8000,
    "completion": 1000,
    "calls": 3,
}


def test_a_guard_refuses_five_hundred_sub_agents_under_twenty_dollars() -> None:
    guard = Guard("usd=25", tools={"search": {"usd": "$5"}})
    paid(guard.tool("search"))
    plan = guard.plan(agents=[REVIEW])
    assert plan.keys() == {field.name for field in fields(FanOut)}
    assert plan["fits"] is False
    assert plan["worst"] == plan["expected"] == {"calls": 1500, "tokens": 13_500_000, "usd": 45}
    assert plan["cheapest"]["usd"] == 2.7
    assert [(item["model"], item["count"]) for item in plan["best"]] == [("gpt-4o", 204), ("gpt-4o-mini", 296)]
    assert plan["best"][0]["at_most"] == {"calls": 612, "tokens": 5_508_000, "usd": 18.36}
    assert (plan["served"], plan["cost_at_most"]["usd"], plan["left_after"]) == (500, 19.9584, {"usd": 0.0416})
    assert plan["why"].startswith("Refused: 500 sub-agents as asked take at most $45 ($20 given).")
    assert guard.plan(agents=[REVIEW], budget={"usd": "$1"})["served"] == 185


def test_a_guard_has_prices_of_its_own() -> None:
    guard = Guard("usd=20", models={"gpt-4o": ("1", "1"), "mine": "openai:gpt-4o-mini", "own": ("0", "0")})
    models = ["gpt-4o", "mine", "own"]
    values = [guard.plan(agents=[REVIEW | {"models": model}])["worst"].get("usd", 0) for model in models]
    assert values == [13.5, 2.7, 0]
    with pytest.raises(
        ConfigError, match=r'agents: field 0\.models\.0: usd is capped.*models={"unheard-of": \("0\.15"'
    ):
        guard.plan(agents=[REVIEW | {"models": ["unheard-of"]}])


def test_what_a_plan_says_fits_is_let_through() -> None:
    guard = Guard("tokens=100000, usd=1, calls=20", bytes_per_token=1)
    prompt = "x" * 1000
    mapping = {"name": "a", "count": 500, "models": ["gpt-4o-mini"], "prompt": 1064, "completion": 100}
    served = guard.plan(agents=[mapping])["served"]
    for _ in range(served):
        with guard.model("gpt-4o-mini", prompt, 100):
            pass
    assert served == 20
    assert guard.plan(agents=[mapping])["best"] == []


async def test_the_gateway_answers_from_the_table_under_what_is_left(tmp_path: Path) -> None:
    text = OWN_TOOLS + '[budgets]\nsession = { usd = "$20", steps = 10 }\n'
    text += '[python.echo]\nfunction = "FUNCTIONS:echo"\nprice = { usd = 0 }\n'
    async with gateway_on(tmp_path, text) as gateway:
        answer = await ask(gateway, "plan", agents=[REVIEW | {"cost": {"steps": 2}}])
        assert (answer["fits"], answer["served"], answer["value"]) == (False, 5, 5)
        assert "1,000 steps (10 steps given)" in answer["why"]
        await ask(gateway, "echo", text="hello")
        answer = await ask(gateway, "plan", agents=[REVIEW | {"cost": {"steps": 2}}])
        assert (answer["served"], answer["left_after"]["steps"]) == (4, 1)
        for arguments, message in (
            (
                {"agents": [REVIEW], "tools": ["echo"]},
                "agents: they are planned alone, with a budget; leave 'tools' out",
            ),
            ({"agents": [REVIEW], "budget": {"gold": 3}}, "budget: resource 'gold' is not declared"),
            ({}, "or agents"),
        ):
            mapping = await call(gateway, "plan", **arguments)
            assert mapping["structuredContent"]["error"] == "invalid_arguments"
            assert message in mapping["structuredContent"]["message"]


def test_the_schema_is_what_is_taken() -> None:
    agent = SCHEMA["properties"]["agents"]["items"]
    assert agent["properties"].keys() == _Agent.model_fields.keys()
    assert agent["required"] == [name for name, field in _Agent.model_fields.items() if field.is_required()]
    whole = REVIEW | {"expected": {"prompt": 10, "calls": 1}, "value": 2, "at_least": 3, "cost": {"usd": "$0.01"}}
    assert whole.keys() == agent["properties"].keys()
    assert Guard("usd=20").plan(agents=[whole])["served"] >= 3
