"""The OpenAI Agents SDK under a guard: what it has and other frameworks do not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("agents.testing")

from agents import Agent, ModelResponse, ModelSettings, Runner, WebSearchTool, function_tool, handoff
from agents.testing import ScriptedModel, assistant_message, function_call
from agents.usage import Usage

from tape.adapters.openai_agents import OutOfBudget, bounded_tools
from tape.errors import ConfigError
from tests.tape.adapters.drivers.openai_agents import QUIET, agent_of, answers_of
from tests.tape.adapters.drivers.scripted import Turn, call, exactly, functions_of, guard_of, truth_of


def run(agent: Agent[Any], **more: Any) -> Any:
    return asyncio.run(Runner.run(agent, "Where?", run_config=QUIET, max_turns=60, **more))


def test_a_tool_whose_time_is_up_costs_its_worst_case() -> None:
    @function_tool(timeout=0.01)
    async def slow(query: str) -> str:
        truth.tool("slow")
        await asyncio.Event().wait()
        return "never"

    truth, guard = truth_of(*[Turn(calls=(call("slow", query="a"),))] * 2, Turn("Oh.")), guard_of("usd=0.0195")
    timed_out, refused = answers_of(run(agent_of(truth, guard, tools=[slow])))
    assert "timed out" in timed_out
    assert "slow was not called" in refused
    assert truth.called == ["slow"]
    exactly(guard, truth)


def test_a_handoff_goes_on_under_the_same_budget() -> None:
    first = truth_of(Turn(calls=(("transfer_to_agent", {}),)))
    second, guard = truth_of(Turn(calls=(call("quick", query="a"),)), Turn("Done.")), guard_of("usd=1, calls=3")
    result = run(agent_of(first, guard, handoffs=[handoff(agent_of(second, guard))]))
    assert result.final_output == "Done."
    exactly(guard, first, second)


def test_what_the_provider_runs_or_keeps_is_refused() -> None:
    truth, guard = truth_of(Turn("Never.")), guard_of("calls=1")
    with pytest.raises(ConfigError, match="web_search is no function tool"):
        bounded_tools([WebSearchTool()], guard)
    with pytest.raises(ConfigError, match="not known before it"):
        run(agent_of(truth, guard), conversation_id="kept by the provider")
    assert not truth.limits


def test_malformed_arguments_reach_the_tool() -> None:
    truth, guard = truth_of(Turn("Done.")), guard_of("usd=1")
    call = function_call("quick", "{", call_id="broken")
    broken = ModelResponse(output=[call], usage=Usage(requests=1, input_tokens=1), response_id=None)
    model = ScriptedModel([broken, [assistant_message("Done.")]])
    [answer] = answers_of(run(agent_of(truth, guard, model=model, tools=[function_tool(functions_of(truth)["quick"])])))
    assert "error" in answer.lower()
    assert not truth.called


def test_what_the_provider_keeps_is_found_in_free_settings_too() -> None:
    truth, guard = truth_of(Turn("x")), guard_of("usd=1")
    settings = ModelSettings(extra_body={"previous_response_id": "resp-1"})
    with pytest.raises(OutOfBudget, match=r"holds previous_response_id .*settings\.extra_body"):
        run(agent_of(truth, guard, tools=[], model_settings=settings))
    assert truth.spent["calls"] == 0
