"""Inspect AI under a guard, attacked: reports that are none, cancellation, tools in parallel, agents within agents."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from random import Random
from typing import Any

import pytest

pytest.importorskip("inspect_ai")

from inspect_ai.agent import as_tool, run
from inspect_ai.model import Model, ModelOutput, ModelUsage, get_model
from inspect_ai.tool import ToolDef

from tape.gateway.guard import Guard
from tape.integrations.inspect_agent import bounded_agent, bounded_model, bounded_tools
from tests.tape.integrations.hostile import BUDGETS, USAGES, Usage, judged, swept
from tests.tape.integrations.scripted import MODELS, TOOLS, Truth, Turn, call, truth_of
from tests.tape.integrations.scripted_inspect import scripted, tools_of
from tests.tape.integrations.test_inspect_agent import QUICKLY, guarded


def reporting(usage: Usage, cached: Any = None) -> Model:
    output = ModelOutput.from_content("scripted", "x")
    output.usage = ModelUsage.model_construct(
        input_tokens=usage[0], output_tokens=usage[1], total_tokens=0, input_tokens_cache_read=cached
    )
    return get_model("mockllm/scripted", custom_outputs=[output], memoize=False)


@pytest.mark.parametrize("usage", [one for one in USAGES if all(isinstance(n, int | float) for n in one)])
def test_a_report_that_is_none_is_the_worst_case_and_the_answer_arrives(usage: Usage) -> None:
    guard = guarded("usd=1")
    assert asyncio.run(bounded_model(reporting(usage), guard).generate("go")).completion == "x"
    assert 64 < (guard.ledger.used["tokens"] or 0) < 2000


@pytest.mark.parametrize("cached", [-39, float("nan")])
def test_cached_tokens_that_are_no_count_make_a_prompt_no_smaller(cached: Any) -> None:
    guard = guarded("usd=1")
    asyncio.run(bounded_model(reporting((40, 10), cached), guard).generate("go"))
    assert 64 < (guard.ledger.used["tokens"] or 0) < 2000


# --- the sweep ------------------------------------------------------------------------------------


def scenario(seed: int) -> dict[str, int]:
    """One guard, and whatever agents may do under it."""
    chance, truth, inner = Random(seed), truth_of(), truth_of()
    guard = Guard(chance.choice(BUDGETS), tools=TOOLS, models=MODELS, most_tokens=20)
    calls = [call(name, query="x") for name in ("quick", "deep", "fails")]
    for _ in range(4):
        for one in (truth, inner):
            one.script = [
                Turn(calls=tuple(chance.choices([*calls, call("ask", input="x")], k=chance.randint(0, 4))),
                     completion=chance.randint(0, 60), reports=chance.random() < 0.7, fails=chance.random() < 0.15)
                for _ in range(chance.randint(1, 4))
            ] + [Turn(calls=(call("submit", answer="done"),))] * 3  # fmt: skip
        with suppress(Exception):
            asyncio.run(asyncio.wait_for(play(chance, truth, inner, guard), 60))
    return judged(guard, truth, inner)


async def play(chance: Random, truth: Truth, inner: Truth, guard: Guard) -> None:
    how = chance.choice(["loop", "agent", "cancelled", "together"])
    helper = bounded_agent(guard.within("calls=3, usd=0.05", name="helper"), tools_of(inner), scripted(inner))
    asked = ToolDef(as_tool(helper, description="Helps."), name="ask").as_tool()
    tools, model = bounded_tools([*tools_of(truth), asked], guard), scripted(truth)
    if how == "agent":
        await run(bounded_agent(guard, [*tools_of(truth), asked], model, budget="calls=3"), "go")
        return
    bounded = bounded_model(model, guard)
    tasks = [
        asyncio.create_task(bounded.generate_loop("go", tools=tools, config=QUICKLY))
        for _ in range(3 if how == "together" else 1)
    ]
    if how == "cancelled":
        for _ in range(chance.randint(0, 30)):
            await asyncio.sleep(0)
        tasks[0].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.slow
def test_nothing_is_overspent_by_what_inspect_may_do() -> None:
    swept("inspect", scenario, 3)


@pytest.mark.soak
def test_nothing_is_overspent_by_what_inspect_may_do_40_times() -> None:
    swept("inspect", scenario, 40, os.environ.get("TAPE_SOAK_RESULTS"))
