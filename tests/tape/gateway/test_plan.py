"""The tool `plan`: the best variants under what is left, beside all that there are."""

from __future__ import annotations

import asyncio
import itertools
import math
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvers.check_proof import check
from tape.gateway.gateway import Gateway
from tests.profiles import examples
from tests.tape.gateway.helpers import OWN_TOOLS, ask, call, gateway_on

pytest.importorskip("mcp", reason="the extra mcp is not installed")

CONFIG = """
[gateway]
own_tools = ["plan"]
[resources.gateway_test_credits]
unit = "credit"
[budgets]
run = { usd = "$1" }
session = { usd = "$0.10", gateway_test_credits = 3, steps = 10 }
[python]
quick = { function = "FUNCTIONS:echo", kind = "search", price = { usd = "$0.01" }, quality = 0.6 }
[python.thorough]
function = "FUNCTIONS:echo"
kind = "search"
price = { usd = "$0.03", gateway_test_credits = 1 }
quality = 0.9
[python.write]
function = "FUNCTIONS:echo"
price = { each = { usd = "$0.001" }, per = "argument", argument = "text", at_most = 50 }
"""


async def planned(folder: Path, text: str, **arguments: Any) -> dict[str, Any]:
    async with gateway_on(folder, text) as gateway:
        return await ask(gateway, "plan", **arguments)


async def test_the_best_variants_that_fit(gateway: Gateway) -> None:
    answer = await ask(gateway, "plan", tools=["search", "quick", "write"])
    assert answer["fits"] is True
    first, second, last = (step["tool"] for step in answer["plan"])
    assert ({first, second}, last) == ({"quick", "thorough"}, "write")
    assert answer["cost_at_most"] == {"usd": 0.09, "gateway_test_credits": 1, "steps": 3}
    assert answer["left_after"] == {"usd": 0.01, "gateway_test_credits": 2, "steps": 7}
    assert answer["quality"] == 0.54
    assert answer["why"] == (
        "usd stood in the way of a plan of higher quality. "
        "With usd at $0.11 ($0.01 more) one of quality 0.81 would fit."
    )
    assert answer["more"] == {
        "usd": {
            "given": 0.1,
            "would_do": 0.11,
            "scopes": ["session"],
            "quality": 0.81,
            "tools": ["thorough", "thorough", "write"],
        }
    }
    assert len(answer["alternatives"]) == 2
    assert {item["quality"] for item in answer["alternatives"]} == {0.54, 0.36}


async def test_arguments_make_a_price_exact(gateway: Gateway) -> None:
    steps = [{"any_of": ["search"], "times": 2}, {"any_of": ["write"], "arguments": {"text": "short"}}]
    answer = await ask(gateway, "plan", goal_steps=steps)
    assert [step["tool"] for step in answer["plan"]] == ["thorough", "thorough", "write"]
    assert answer["cost_at_most"]["usd"] == 0.065
    assert answer["why"].startswith("No budget stood in the way")


async def test_where_nothing_fits_the_answer_is_what_would_do(gateway: Gateway) -> None:
    answer = await ask(gateway, "plan", tools=["write", "write", "search"])
    assert answer["fits"] is False
    assert answer["would_do"] == {"any_one_of": {"usd": {"given": 0.1, "would_do": 0.11, "scopes": ["session"]}}}
    assert answer["more"]["usd"]["tools"] == ["write", "write", "quick"]
    assert "usd" in answer["why"]
    answer = await ask(gateway, "plan", tools=["search"], budget={"usd": "$0.005"})
    assert answer["would_do"]["any_one_of"]["usd"] == {
        "given": 0.005,
        "would_do": 0.01,
        "scopes": ["the plan's budget"],
    }
    answer = await ask(gateway, "plan", tools=["search"] * 12)
    assert answer["would_do"]["all_of"].keys() == {"steps", "usd"}


async def test_a_plan_is_handed_over_with_its_proof(gateway: Gateway) -> None:
    for tools, claim in ((["search", "quick", "write"], "proven: best"), (["search"] * 12, "proven: nothing fits")):
        proof = (await ask(gateway, "plan", tools=tools, proof=True))["proof"]
        assert check(proof["problem"], proof["proof"]).startswith(claim)
    assert "proof" not in await ask(gateway, "plan", tools=["search"])


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "either tools"), ({"tools": ["search"], "goal_steps": []}, "either tools"), ({"tools": []}, "1 to 50"),
    ({"tools": ["search"] * 51}, "1 to 50"), ({"tools": "search"}, "1 to 50"),
    ({"tools": [3]}, "names of tools or kinds"),
    ({"tools": ["serch"]}, "step 1: there is no tool or kind 'serch'; there is: quick"),
    ({"tools": ["search"], "limit": 3}, "no argument 'limit'"),
    ({"goal_steps": [{"any_of": ["search"], "times": 0}]}, "from 1 to 50"),
    ({"goal_steps": [{"any_of": ["search"], "times": 30}] * 2}, "these steps have 60"),
    ({"goal_steps": [{"any_of": ["write"], "arguments": {"text": "x" * 51}}]}, "at most 50 are priced"),
    ({"goal_steps": [{"any_of": ["write"], "arguments": 3}]}, "arguments is an object"),
    ({"goal_steps": ["search"]}, "step 1 is no object"),
    ({"tools": ["search"], "budget": {"gold": 3}}, "budget: resource 'gold' is not declared"),
    ({"tools": ["search"], "budget": {"usd": "half a cent"}}, "budget"),
    ({"tools": ["search"], "budget": 3}, "budget: expected amounts by resource"),
]  # fmt: skip


async def test_what_cannot_be_planned(gateway: Gateway) -> None:
    for arguments, message in WRONG:
        mapping = await call(gateway, "plan", **arguments)
        assert mapping["isError"] is True
        assert mapping["structuredContent"]["error"] == "invalid_arguments"
        assert message in mapping["structuredContent"]["message"]


async def test_tools_without_a_price_are_no_part_of_a_plan(tmp_path: Path) -> None:
    text = CONFIG.replace('price = { usd = "$0.01" }, ', "")
    answer = await planned(tmp_path, text, tools=["quick"])
    assert [step["tool"] for step in answer["plan"]] == ["thorough"]
    answer = await planned(
        tmp_path, text.replace('kind = "search"\n', "").replace('kind = "search", ', ""), tools=["quick"]
    )
    assert answer["fits"] is False
    assert "the price of the tools of step 1 is not declared" in answer["why"]


@given(seed=st.integers(0, 2**32))
@examples(24)
def test_no_plan_that_fits_is_better(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    rng = random.Random(seed)
    qualities, draw = [None, 0.5, 0.7, 0.9, 1.0], rng.randrange
    tools = {f"t{n}": (f"k{draw(3)}", draw(1, 9), draw(1, 9), rng.choice(qualities)) for n in range(draw(1, 7))}
    caps = draw(1, 30), draw(1, 30)
    text = OWN_TOOLS + "[resources.gateway_test_credits]\nunit = 'credit'\n[budgets]\n"
    text += f"session = {{ tokens = {caps[0]}, gateway_test_credits = {caps[1]} }}\n"
    for name, (kind, tokens, credits, quality) in tools.items():
        text += f'[python.{name}]\nfunction = "FUNCTIONS:echo"\nkind = "{kind}"\n'
        text += f"price = {{ tokens = {tokens}, gateway_test_credits = {credits} }}\n"
        text += f"quality = {quality}\n" if quality else ""
    steps = [rng.choice([*tools.values()])[0] for _ in range(draw(1, 5))]
    answer = asyncio.run(planned(tmp_path_factory.mktemp("p"), text, tools=steps))
    best = -1.0
    for chosen in itertools.product(*([name for name in tools if tools[name][0] == kind] for kind in steps)):
        if all(sum(tools[name][1 + k] for name in chosen) <= caps[k] for k in (0, 1)):
            best = max(best, math.prod(tools[name][3] or 1.0 for name in chosen))
    assert answer["fits"] == (best >= 0)
    if answer["fits"]:
        assert math.isclose(answer["quality"], best, rel_tol=1e-6)
        names = [step["tool"] for step in answer["plan"]]
        assert [tools[name][0] for name in names] == steps
        assert math.isclose(math.prod(tools[name][3] or 1.0 for name in names), best, rel_tol=1e-6)
        assert all(amount >= 0 for amount in answer["left_after"].values())
