"""pydantic-ai under a guard: what it has and other frameworks do not."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

pytest.importorskip("pydantic_ai.capabilities")

from pydantic_ai import Agent, ModelRetry, Tool, ToolReturn
from pydantic_ai.capabilities import Hooks
from pydantic_ai.messages import ImageUrl
from pydantic_ai.models.fallback import FallbackModel

from tape.adapters.pydantic_ai import BoundedModel, GuardCapability, OutOfBudget
from tape.errors import ConfigError
from tape.guard.guard import Guard
from tests.tape.adapters.drivers.pydantic_ai import ScriptedModel, agent_of, answers_of
from tests.tape.adapters.drivers.scripted import MODELS, Turn, call, exactly, guard_of, no_overspend, truth_of


def test_models_that_stand_in_are_paid_for() -> None:
    truth, guard = truth_of(Turn(fails=True), Turn("Stood in.")), guard_of("calls=5")
    first, second = ScriptedModel(truth), ScriptedModel(truth)
    with pytest.raises(ConfigError, match="bound each"):
        agent_of(truth, guard, model=FallbackModel(first, second)).run_sync("Where?")
    both = FallbackModel(BoundedModel(first, guard), BoundedModel(second, guard))
    assert agent_of(truth, guard, model=both).run_sync("Where?").output == "Stood in."
    assert truth.spent["calls"] == guard.ledger.used["calls"] == 2


def test_a_tool_that_fails_costs_its_worst_case_at_each_attempt() -> None:
    async def fails(query: str) -> str:
        truth.tool("fails")
        raise ModelRetry(query)

    turns = [Turn(calls=(call("fails", query="again"),)) for _ in range(4)]
    truth, guard = truth_of(*turns, Turn("Oh.")), guard_of("usd=0.0295")
    answers = answers_of(agent_of(truth, guard, tools=[Tool(fails, max_retries=9)]).run_sync("Where?"))
    assert [part.outcome for part in answers] == ["retried", "retried", "failed", "failed"]
    assert "fails was not called" in str(answers[-1].content)
    assert truth.called == ["fails", "fails"]
    no_overspend(guard, truth)


def test_each_call_of_a_tool_that_a_hook_repeats_is_paid_for() -> None:
    async def twice(ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
        await handler(args)
        return await handler(args)

    truth, guard = truth_of(Turn(calls=(call("quick", query="a"),)), Turn("Done.")), guard_of("usd=1")
    agent_of(truth, guard, Hooks(tool_execute=twice)).run_sync("Where?")
    assert truth.called == ["quick", "quick"]
    exactly(guard, truth)


def test_what_the_provider_keeps_or_runs_later_is_refused() -> None:
    truth, guard = truth_of(Turn("Never.")), guard_of("calls=1")
    guarded = BoundedModel(ScriptedModel(truth), guard)
    agent = Agent(ScriptedModel(truth), model_settings={"openai_conversation_id": "x"})  # type: ignore[typeddict-unknown-key]
    with pytest.raises(ConfigError, match="not known before it"):
        agent.run_sync("Where?", capabilities=[GuardCapability(guard)])
    with pytest.raises(ConfigError, match="batches"):
        asyncio.run(guarded.batch_create([]))
    with pytest.raises(ConfigError, match="shorter"):
        asyncio.run(guarded.compact_messages(None))
    assert not truth.limits


def test_results_of_all_kinds_are_priced() -> None:
    async def metered(query: str) -> Any:
        return ToolReturn({"cost": 0.02, "when": datetime(2026, 1, 1, tzinfo=UTC), "raw": b"\xff"}, content="more")

    price = {"worst": {"usd": "$0.10"}, "reported": "cost"}
    guard = Guard("usd=1", tools={"metered": price}, models=MODELS)
    truth = truth_of(Turn(calls=(call("metered", query="a"),)), Turn("Done."))
    agent_of(truth, guard, tools=[Tool(metered)]).run_sync("Where?")
    assert guard.ledger.used["usd"] == 20_000 + truth.spent["usd"]


def test_an_image_that_a_tool_returns_is_refused() -> None:
    def photo(query: str) -> Any:
        seen = ImageUrl("https://example.org/river.png")
        return ToolReturn({"type": "image", "file_id": "data of its own"}, content=["seen:", seen])

    truth = truth_of(Turn(calls=(call("photo", query="a"),)), Turn("never"))
    guard = Guard("usd=1", tools={"photo": {"usd": 0}}, models=MODELS)
    with pytest.raises(OutOfBudget, match="holds image-url"):
        Agent(ScriptedModel(truth), tools=[photo], capabilities=[GuardCapability(guard)]).run_sync("go")
    assert truth.spent["calls"] == 1


def test_settings_that_the_provider_bills_are_seen() -> None:
    truth, guard = truth_of(Turn("x")), guard_of("usd=1")
    settings: Any = {"anthropic_cache_instructions": True}
    with pytest.raises(OutOfBudget, match="holds anthropic_cache_instructions"):
        Agent(ScriptedModel(truth), capabilities=[GuardCapability(guard)], model_settings=settings).run_sync("go")
    assert truth.spent["calls"] == 0
