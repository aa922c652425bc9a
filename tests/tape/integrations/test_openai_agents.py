"""The OpenAI Agents SDK under a guard: the real package, with its own scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

pytest.importorskip("agents.testing")

import openai
from agents import (
    Agent,
    ModelResponse,
    ModelRetrySettings,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    Tool,
    WebSearchTool,
    function_tool,
    handoff,
    retry_policies,
)
from agents.exceptions import AgentsException, UserError
from agents.items import ToolCallOutputItem
from agents.models._retry_runtime import should_disable_provider_managed_retries
from agents.models.interface import ModelTracing
from agents.retry import ModelRetryAdvice
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call
from agents.usage import Usage
from openai.types.responses import ResponseTextDeltaEvent
from pydantic import BaseModel

from tape.errors import BudgetExceededError, ConfigError
from tape.gateway.guard import Guard
from tape.integrations.openai_agents import BoundedModel, OutOfBudget, bounded_tools, say_why
from tests.tape.integrations.scripted import (
    MODELS,
    TOOLS,
    ScriptError,
    Truth,
    Turn,
    call,
    exactly,
    failing_client,
    image_is_bounded,
    no_overspend,
    truth_of,
)

QUIET = RunConfig(tracing_disabled=True)


def scripted(truth: Truth, gate: Callable[[], Any] | None = None) -> ScriptedModel:
    """The SDK's scripted model, which says what the truth has next."""

    async def respond(asked: ModelCall) -> Any:
        assert should_disable_provider_managed_retries()
        turn, completion = truth.model(asked.model_settings.max_tokens)
        if gate is not None:
            await gate()
        if turn.fails:
            return ModelStep.raise_error(
                ScriptError(), retry_advice=ModelRetryAdvice(suggested=True, replay_safety="safe")
            )
        calls = [function_call(name, args, call_id=f"{id(turn)}-{i}") for i, (name, args) in enumerate(turn.calls)]
        usage = Usage(
            requests=1, input_tokens=turn.prompt, output_tokens=completion, total_tokens=turn.prompt + completion
        )
        output = [*([assistant_message(turn.text)] if turn.text else []), *calls]
        return ModelStep(output=output, usage=usage if turn.reports else Usage(requests=1))

    return ScriptedModel([ModelStep.respond(respond) for _ in range(60)])


def tools_of(truth: Truth) -> list[Tool]:
    """Tools that say the truth about their calls."""

    @function_tool
    async def quick(q: str) -> str:
        return truth.tool("quick")

    @function_tool
    def deep(q: str) -> str:
        return truth.tool("deep")

    @function_tool(failure_error_function=None)
    async def fails(q: str) -> str:
        truth.tool("fails")
        raise ScriptError(q)

    @function_tool(timeout=0.01)
    async def slow(q: str) -> str:
        truth.tool("slow")
        await asyncio.Event().wait()
        return "never"

    return [quick, deep, fails, slow]


def guard_of(budget: str) -> Guard:
    return Guard(budget, tools=TOOLS, models=MODELS, most_tokens=20)


def agent_of(truth: Truth, guard: Guard, **more: Any) -> Agent[Any]:
    model = BoundedModel(more.pop("model", None) or scripted(truth), guard, name="scripted")
    return Agent("agent", model=model, tools=bounded_tools(more.pop("tools", None) or tools_of(truth), guard), **more)


def run(agent: Agent[Any], **more: Any) -> Any:
    return asyncio.run(Runner.run(agent, "Where?", run_config=QUIET, max_turns=60, **more))


def told(result: Any) -> list[str]:
    return [str(item.output) for item in result.new_items if isinstance(item, ToolCallOutputItem)]


def test_every_call_is_counted_exactly() -> None:
    truth, guard = (
        truth_of(Turn(calls=(call("quick", q="a"),)), Turn("Here.", completion=99)),
        guard_of("usd=1, steps=5"),
    )
    assert run(agent_of(truth, guard)).final_output == "Here."
    assert truth.limits == [20, 20]  # the model writes no more than what is paid for
    exactly(guard, truth)
    assert truth.spent == {"usd": 10_000 + 50 + 60, "tokens": 110, "calls": 2, "steps": 1}


def test_a_refused_tool_is_told_and_another_one_taken() -> None:
    turns = [Turn(calls=(call("deep", q="a"),)), Turn(calls=(call("quick", q="a"),)), Turn("Done.")]
    truth, guard = truth_of(*turns), guard_of("usd=0.04")
    refused, answered = told(run(agent_of(truth, guard)))
    assert "deep was not called, nothing was spent" in refused
    assert "What would fit: quick" in refused
    assert answered == "quick found it"
    assert truth.called == ["quick"]
    exactly(guard, truth)


@pytest.mark.parametrize("budget", ["calls=1", "tokens=3000", "usd=0.003"])
def test_a_refused_model_call_ends_the_run(budget: str) -> None:
    @function_tool
    async def ask(q: str) -> str:
        return truth.tool("ask")

    truth, guard = truth_of(*[Turn(calls=(call("ask", q="a"),), prompt=200) for _ in range(50)]), guard_of(budget)
    with pytest.raises(AgentsException, match="was not called, nothing was spent") as ended:
        run(agent_of(truth, guard, tools=[ask]))
    assert isinstance(ended.value, OutOfBudget)
    assert ended.value.run_data is not None
    assert ended.value.run_data.new_items
    assert 0 < truth.spent["calls"] < 50
    exactly(guard, truth)


def test_parallel_calls_share_the_budget() -> None:
    turns = [Turn(calls=tuple(call("deep" if i % 2 else "quick", q=str(i)) for i in range(8))), Turn("Done.")]
    truth, guard = truth_of(*turns), guard_of("usd=0.0895, steps=7")
    assert len(told(run(agent_of(truth, guard)))) == 8
    assert sorted(truth.called) == ["deep", "quick", "quick", "quick"]
    exactly(guard, truth)


def test_each_attempt_of_a_retry_is_paid_for() -> None:
    again = ModelSettings(
        retry=ModelRetrySettings(
            max_retries=5, policy=retry_policies.provider_suggested(), backoff={"initial_delay": 0, "jitter": False}
        )
    )
    truth, guard = truth_of(Turn(fails=True), Turn(fails=True), Turn("Third.")), guard_of("calls=3")
    assert run(agent_of(truth, guard, model_settings=again)).final_output == "Third."
    assert truth.spent["calls"] == guard.ledger.used["calls"] == 3
    no_overspend(guard, truth)

    failing, two = truth_of(*[Turn(fails=True)] * 9), guard_of("calls=2")
    with pytest.raises(OutOfBudget):
        run(agent_of(failing, two, model_settings=again))
    assert failing.spent["calls"] == two.ledger.used["calls"] == 2


def test_the_clients_own_retries_are_off() -> None:
    asked: list[str] = []
    for kind in (OpenAIChatCompletionsModel, OpenAIResponsesModel):
        guard = guard_of("calls=9")
        with pytest.raises(openai.InternalServerError):
            run(agent_of(truth_of(), guard, model=kind("scripted", failing_client(asked))))
        assert guard.ledger.used["calls"] == 1
    assert len(asked) == 2


def test_a_tool_that_fails_costs_its_worst_case() -> None:
    truth, guard = truth_of(Turn(calls=(call("fails", q="a"),))), guard_of("usd=1")
    with pytest.raises(UserError, match="fails"):
        run(agent_of(truth, guard))
    exactly(guard, truth)

    late, other = (
        truth_of(Turn(calls=(call("slow", q="a"),)), Turn(calls=(call("slow", q="a"),)), Turn("Oh.")),
        guard_of("usd=0.0195"),
    )
    timed_out, refused = told(run(agent_of(late, other)))
    assert "timed out" in timed_out
    assert "slow was not called" in refused
    assert late.called == ["slow"]
    exactly(other, late)


def test_usage_that_is_not_reported_counts_as_the_worst_case() -> None:
    truth, guard = truth_of(Turn("Here.", reports=False)), guard_of("tokens=5000")
    run(agent_of(truth, guard))
    no_overspend(guard, truth)
    assert (guard.ledger.used["tokens"] or 0) > 100  # the bytes of the prompt, and the limit
    assert not guard.ledger.reserved["tokens"]


def test_a_nested_agent_has_to_fit_into_both() -> None:
    outer = truth_of(Turn(calls=(call("ask", input="a"),)), Turn(calls=(call("ask", input="b"),)), Turn("Done."))
    inner = truth_of(Turn(calls=(call("quick", q="c"), call("quick", q="d"))), Turn("Found one."), Turn("Never."))
    guard = guard_of("usd=0.025, calls=9")
    helper = agent_of(inner, guard.within("usd=0.015, calls=2", name="helper"))
    ask = helper.as_tool("ask", "Ask the helper.", run_config=QUIET, failure_error_function=say_why)
    found, out = told(run(agent_of(outer, guard, tools=[ask])))
    assert found == "Found one."
    assert "calls of the helper ledger" in out
    assert inner.called == ["quick"]  # 0.015 of its own
    assert guard.ledger.used["calls"] == outer.spent["calls"] + inner.spent["calls"] == 5
    assert guard.ledger.used["usd"] == outer.spent["usd"] + inner.spent["usd"]


def test_a_handoff_goes_on_under_the_same_budget() -> None:
    first = truth_of(Turn(calls=(("transfer_to_agent", {}),)))
    second, guard = truth_of(Turn(calls=(call("quick", q="a"),)), Turn("Done.")), guard_of("usd=1, calls=3")
    result = run(agent_of(first, guard, handoffs=[handoff(agent_of(second, guard))]))
    assert result.final_output == "Done."
    exactly(guard, first, second)


def test_streaming() -> None:
    async def streamed(agent: Agent[Any], most: int = 1000) -> str:
        result, said = Runner.run_streamed(agent, "Where?", run_config=QUIET), ""
        async for event in result.stream_events():
            if event.type == "raw_response_event" and isinstance(event.data, ResponseTextDeltaEvent):
                said += event.data.delta
                if len(said) >= most:
                    result.cancel()
        return said

    truth = truth_of(Turn(calls=(call("quick", q="a"),)), Turn("Here it is."), Turn("More"))
    guard = guard_of("calls=2, usd=1")
    assert asyncio.run(streamed(agent_of(truth, guard))) == "Here it is."
    exactly(guard, truth)
    with pytest.raises(OutOfBudget):
        asyncio.run(streamed(agent_of(truth, guard)))
    exactly(guard, truth)

    other, cut = truth_of(Turn("Long text that nobody reads")), guard_of("tokens=5000")
    asyncio.run(streamed(agent_of(other, cut), most=1))
    no_overspend(cut, other)
    assert (cut.ledger.used["tokens"] or 0) >= 50
    assert not cut.ledger.reserved["tokens"]


def test_a_stream_that_is_left_is_closed_and_costs_its_worst_case() -> None:
    closed: list[bool] = []

    async def words(asked: ModelCall) -> AsyncIterator[Any]:
        try:
            for delta in ("Long", "text"):
                yield ResponseTextDeltaEvent.model_construct(type="response.output_text.delta", delta=delta)
        finally:
            closed.append(True)

    async def left(model: BoundedModel) -> None:
        rest = {"previous_response_id": None, "conversation_id": None, "prompt": None}
        stream = model.stream_response(None, "Where?", ModelSettings(), [], None, [], ModelTracing.DISABLED, **rest)
        assert (await anext(stream)).delta == "Long"
        assert guard.ledger.reserved["tokens"]
        await stream.aclose()  # type: ignore[attr-defined]
        assert closed

    guard = guard_of("tokens=5000")
    asyncio.run(left(BoundedModel(ScriptedModel([ModelStep.stream(words)]), guard, name="scripted")))
    assert not guard.ledger.reserved["tokens"]
    assert (guard.ledger.used["tokens"] or 0) > 50


def test_a_cancelled_call_costs_its_worst_case() -> None:
    async def cancelled(agent: Agent[Any], truth: Truth) -> None:
        task = asyncio.create_task(Runner.run(agent, "Where?", run_config=QUIET))
        while not (truth.called or (truth.limits and not truth.script)):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    @function_tool
    async def slow(q: str) -> str:
        truth.tool("slow")
        await asyncio.Event().wait()
        return "never"

    truth, guard = truth_of(Turn(calls=(call("slow", q="a"),)), Turn()), guard_of("usd=1")
    asyncio.run(cancelled(agent_of(truth, guard, tools=[slow]), truth))
    assert truth.called
    no_overspend(guard, truth)
    assert not guard.ledger.reserved["usd"]

    asking, asked = truth_of(Turn("Never.")), guard_of("tokens=5000")
    asyncio.run(cancelled(agent_of(asking, asked, model=scripted(asking, asyncio.Event().wait)), asking))
    no_overspend(asked, asking)
    assert not asked.ledger.reserved["tokens"]
    assert (asked.ledger.used["tokens"] or 0) > 100


def test_formats_are_part_of_what_is_paid_for() -> None:
    class Wide(BaseModel):
        __doc__ = "x" * 3000
        place: str

    truth = truth_of(Turn('{"place": "Bern"}'))
    with pytest.raises(OutOfBudget):
        run(agent_of(truth, guard_of("tokens=3000"), output_type=Wide))
    assert not truth.limits
    wider = guard_of("tokens=9000")
    assert run(agent_of(truth, wider, output_type=Wide)).final_output.place == "Bern"
    exactly(wider, truth)


def test_what_the_provider_does_by_itself_is_refused() -> None:
    truth, guard = truth_of(Turn("Never.")), guard_of("calls=1")
    with pytest.raises(ConfigError, match="web_search is no function tool"):
        bounded_tools([WebSearchTool()], guard)
    agent = agent_of(truth, guard)
    with pytest.raises(ConfigError, match="not known before it"):
        run(agent, conversation_id="kept by the provider")
    agent.tools.append(WebSearchTool())
    with pytest.raises(ConfigError, match="not known before it"):
        run(agent)
    assert not truth.limits


def test_malformed_arguments_are_the_tools_business() -> None:
    truth = truth_of(Turn("Done."))
    guard = guard_of("usd=1")
    broken = ModelResponse(
        output=[function_call("quick", "{", call_id="broken")],
        usage=Usage(requests=1, input_tokens=1),
        response_id=None,
    )
    model = ScriptedModel([broken, [assistant_message("Done.")]])
    (said,) = told(run(agent_of(truth, guard, model=model)))
    assert "error" in said.lower()
    assert not truth.called


def test_what_a_tool_reports_is_what_it_cost() -> None:
    @function_tool
    async def metered(q: str) -> dict[str, float]:
        return {"cost": 0.02}

    price = {"worst": {"usd": "$0.10"}, "reported": "cost"}
    truth = truth_of(Turn(calls=(call("metered", q="a"),)), Turn("Done."))
    guard = Guard("usd=1", tools={"metered": price}, models=MODELS)
    run(agent_of(truth, guard, tools=[metered]))
    assert guard.ledger.used["usd"] == 20_000 + truth.spent["usd"]


def test_a_tool_that_raises_a_budget_error_of_its_own_has_been_called() -> None:
    @function_tool(failure_error_function=None)
    async def quick(q: str) -> str:
        truth.tool("quick")
        raise BudgetExceededError("usd", 1, 1, 1, "own")

    truth, guard = truth_of(Turn(calls=(call("quick", q="a"),))), guard_of("usd=1")
    with pytest.raises(UserError, match="quick"):
        run(agent_of(truth, guard, tools=[quick]))
    exactly(guard, truth)


def test_what_nobody_can_price_is_refused() -> None:
    truth, guard = truth_of(Turn(calls=(call("quick", q="a"),)), Turn("Done.")), Guard("usd=1", models=MODELS)
    assert "declare it" in told(run(agent_of(truth, guard)))[0]
    assert not truth.called
    with pytest.raises(OutOfBudget, match="declare it"):
        run(agent_of(truth, Guard("usd=1", tools=TOOLS)))


@pytest.mark.parametrize("said", [{"image_url": "https://example.org/river.png"}, {"file_id": "file-1"}])
def test_an_image_is_refused_or_bounded(said: dict[str, str]) -> None:
    def ask(truth: Truth, guard: Guard) -> str:
        agent = Agent("agent", model=BoundedModel(scripted(truth), guard, name="scripted"))
        content = [{"type": "input_text", "text": "Where?"}, {"type": "input_image", "detail": "auto", **said}]
        items: Any = [{"role": "user", "content": content}]
        return str(asyncio.run(Runner.run(agent, items, run_config=QUIET)).final_output)

    image_is_bounded(ask)


def test_what_the_provider_keeps_is_found_in_free_settings_too() -> None:
    truth, guard = truth_of(Turn("x")), guard_of("usd=1")
    settings = ModelSettings(extra_body={"previous_response_id": "resp-1"})
    with pytest.raises(OutOfBudget, match=r"holds previous_response_id .*settings\.extra_body"):
        run(agent_of(truth, guard, tools=[], model_settings=settings))
    assert truth.spent["calls"] == 0
