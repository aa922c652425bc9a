"""pydantic-ai under a guard: the real package, with a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

pytest.importorskip("pydantic_ai.capabilities")

from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry, Tool, ToolReturn, WebSearchTool, capture_run_messages
from pydantic_ai.capabilities import Hooks, NativeTool
from pydantic_ai.exceptions import ModelHTTPError, RetryModelRequest, UsageLimitExceeded
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UploadedFile,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from tape.errors import BudgetExceededError, ConfigError
from tape.gateway.guard import Guard
from tape.integrations.pydantic_ai import BoundedModel, GuardCapability, OutOfBudget
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


class ScriptedModel(Model):
    """A scripted model."""

    def __init__(self, truth: Truth, gate: Any = None) -> None:
        super().__init__()
        self.truth, self.gate = truth, gate
        self.given: list[ModelSettings] = []

    @property
    def model_name(self) -> str:
        return "scripted"

    @property
    def system(self) -> str:
        return "scripted"

    @classmethod
    def supported_native_tools(cls) -> frozenset[type[Any]]:
        return frozenset({WebSearchTool})

    def _answer(self, given: ModelSettings | None) -> ModelResponse:
        self.given.append(given or {})
        turn, completion = self.truth.model((given or {}).get("max_tokens"))
        if turn.fails:
            raise ModelHTTPError(500, "scripted")
        parts = [TextPart(turn.text)] if turn.text else []
        calls = [ToolCallPart(name, args, f"{name}-{i}") for i, (name, args) in enumerate(turn.calls)]
        usage = RequestUsage(input_tokens=turn.prompt, output_tokens=completion) if turn.reports else RequestUsage()
        return ModelResponse([*parts, *calls], usage=usage, model_name="scripted")

    async def request(
        self, messages: list[ModelMessage], model_settings: ModelSettings | None, parameters: ModelRequestParameters
    ) -> ModelResponse:
        answer = self._answer(model_settings)
        if self.gate is not None:
            await self.gate()
        return answer

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        parameters: ModelRequestParameters,
        run_context: Any = None,
    ) -> AsyncIterator[StreamedResponse]:
        yield ScriptedStream(parameters, answer=self._answer(model_settings))


@dataclass
class ScriptedStream(StreamedResponse):
    """What a scripted model says, word by word, with the usage at the end."""

    answer: ModelResponse = field(kw_only=True)
    model_name: str = "scripted"  # type: ignore[misc]
    provider_name: str = "scripted"  # type: ignore[misc]
    provider_url: None = None  # type: ignore[misc]
    timestamp: datetime = datetime(2026, 1, 1, tzinfo=UTC)  # type: ignore[misc]

    async def _get_event_iterator(self) -> AsyncIterator[Any]:
        if self.answer.usage.input_tokens:  # as providers do that count as they go
            self._usage = RequestUsage(input_tokens=self.answer.usage.input_tokens, output_tokens=1)
        for index, part in enumerate(self.answer.parts):
            if isinstance(part, TextPart):
                for word in part.content.split(" "):
                    for event in self._parts_manager.handle_text_delta(vendor_part_id=index, content=f"{word} "):
                        yield event
            else:
                yield self._parts_manager.handle_part(vendor_part_id=index, part=part)
        self._usage = self.answer.usage

    async def close_stream(self) -> None:
        """Nothing to close."""


def tools_of(truth: Truth) -> list[Tool[Any]]:
    """Tools that say the truth about their calls."""

    async def quick(q: str) -> str:
        return truth.tool("quick")

    def deep(q: str) -> str:
        return truth.tool("deep")

    async def fails(q: str) -> str:
        truth.tool("fails")
        raise ModelRetry(q) if q == "again" else ScriptError(q)

    async def slow(q: str) -> str:
        truth.tool("slow")
        await asyncio.Event().wait()
        return "never"

    return [Tool(one, max_retries=9) for one in (quick, deep, fails, slow)]


def guard_of(budget: str) -> Guard:
    return Guard(budget, tools=TOOLS, models=MODELS, most_tokens=20)


def agent_of(truth: Truth, guard: Guard, *before: Any, **more: Any) -> Agent[Any, Any]:
    tools = more.pop("tools", tools_of(truth))
    model = more.pop("model", None) or ScriptedModel(truth)
    return Agent(model, tools=tools, capabilities=[GuardCapability(guard), *before], **more)


def told(result: Any) -> list[ToolReturnPart]:
    return [part for message in result.all_messages() for part in message.parts if isinstance(part, ToolReturnPart)]


def test_every_call_is_counted_exactly() -> None:
    truth, guard = (
        truth_of(Turn(calls=(call("quick", q="a"),)), Turn("Here.", completion=99)),
        guard_of("usd=1, steps=5"),
    )
    model = ScriptedModel(truth)
    assert agent_of(truth, guard, model=model).run_sync("Where?").output == "Here."
    assert truth.limits == [20, 20]  # the model writes no more than what is paid for
    assert all(given["max_retries"] == 0 for given in model.given)
    exactly(guard, truth)
    assert truth.spent == {"usd": 10_000 + 50 + 60, "tokens": 110, "calls": 2, "steps": 1}


def test_a_refused_tool_is_told_and_another_one_taken() -> None:
    turns = [Turn(calls=(call("deep", q="a"),)), Turn(calls=(call("quick", q="a"),)), Turn("Done.")]
    truth, guard = truth_of(*turns), guard_of("usd=0.04")
    refused, answered = told(agent_of(truth, guard).run_sync("Where?"))
    assert refused.outcome == "failed"
    assert "deep was not called, nothing was spent" in str(refused.content)
    assert "What would fit: quick" in str(refused.content)
    assert answered.content == "quick found it"
    assert truth.called == ["quick"]
    exactly(guard, truth)


@pytest.mark.parametrize("budget", ["calls=1", "tokens=3000", "usd=0.003"])
def test_a_refused_model_call_ends_the_run(budget: str) -> None:
    turns = [Turn(calls=(call("ask", q="a"),), prompt=200) for _ in range(50)]
    truth, guard = truth_of(*turns), guard_of(budget)

    async def ask(q: str) -> str:
        return truth.tool("ask")

    with (
        capture_run_messages() as messages,
        pytest.raises(UsageLimitExceeded, match="was not called, nothing was spent"),
    ):
        agent_of(truth, guard, tools=[Tool(ask)]).run_sync("Where?")
    assert messages
    assert 0 < truth.spent["calls"] < 50
    exactly(guard, truth)


def test_parallel_calls_share_the_budget() -> None:
    turns = [Turn(calls=tuple(call("deep" if i % 2 else "quick", q=str(i)) for i in range(8))), Turn("Done.")]
    truth, guard = truth_of(*turns), guard_of("usd=0.0895, steps=7")
    assert len(told(agent_of(truth, guard).run_sync("Where?"))) == 8
    assert sorted(truth.called) == ["deep", "quick", "quick", "quick"]
    exactly(guard, truth)


def test_each_attempt_of_a_retry_is_paid_for() -> None:
    async def again(ctx: Any, *, request_context: Any, error: Exception) -> Any:
        raise RetryModelRequest

    truth, guard = truth_of(Turn(fails=True), Turn(fails=True), Turn("Third.")), guard_of("calls=3")
    assert agent_of(truth, guard, Hooks(model_request_error=again)).run_sync("Where?").output == "Third."
    assert truth.spent["calls"] == guard.ledger.used["calls"] == 3
    no_overspend(guard, truth)

    failing, two = truth_of(*[Turn(fails=True)] * 9), guard_of("calls=2")
    with pytest.raises((OutOfBudget, ModelHTTPError)):
        agent_of(failing, two).run_sync("Where?")
    assert failing.spent["calls"] == two.ledger.used["calls"] == 1


def test_the_clients_own_retries_are_off() -> None:
    openai = pytest.importorskip("pydantic_ai.models.openai")
    provider = pytest.importorskip("pydantic_ai.providers.openai")
    asked: list[str] = []
    for kind in (openai.OpenAIChatModel, openai.OpenAIResponsesModel):
        model = kind("scripted", provider=provider.OpenAIProvider(openai_client=failing_client(asked)))
        guard = guard_of("calls=9")
        with pytest.raises(ModelHTTPError):
            agent_of(truth_of(), guard, model=model).run_sync("Where?")
        assert guard.ledger.used["calls"] == 1
    assert len(asked) == 2


def test_models_that_stand_in_are_paid_for() -> None:
    truth, guard = truth_of(Turn(fails=True), Turn("Stood in.")), guard_of("calls=5")
    first, second = ScriptedModel(truth), ScriptedModel(truth)
    with pytest.raises(ConfigError, match="bound each"):
        agent_of(truth, guard, model=FallbackModel(first, second)).run_sync("Where?")
    both = FallbackModel(BoundedModel(first, guard), BoundedModel(second, guard))
    assert agent_of(truth, guard, model=both).run_sync("Where?").output == "Stood in."
    assert truth.spent["calls"] == guard.ledger.used["calls"] == 2


def test_a_tool_that_fails_costs_its_worst_case_at_each_attempt() -> None:
    turns = [Turn(calls=(call("fails", q="again"),)) for _ in range(4)]
    truth, guard = truth_of(*turns, Turn("Oh.")), guard_of("usd=0.0295")
    result = agent_of(truth, guard).run_sync("Where?")
    assert [part.outcome for part in told(result)] == ["retried", "retried", "failed", "failed"]
    assert "fails was not called" in str(told(result)[-1].content)
    assert truth.called == ["fails", "fails"]
    no_overspend(guard, truth)
    assert guard.ledger.used["steps"] == 2

    broken, other = truth_of(Turn(calls=(call("fails", q="a"),))), guard_of("usd=1")
    with pytest.raises(ScriptError):
        agent_of(broken, other).run_sync("Where?")
    exactly(other, broken)


def test_each_call_of_a_tool_that_a_hook_repeats_is_paid_for() -> None:
    async def twice(ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
        await handler(args)
        return await handler(args)

    truth, guard = truth_of(Turn(calls=(call("quick", q="a"),)), Turn("Done.")), guard_of("usd=1")
    agent_of(truth, guard, Hooks(tool_execute=twice)).run_sync("Where?")
    assert truth.called == ["quick", "quick"]
    exactly(guard, truth)


def test_usage_that_is_not_reported_counts_as_the_worst_case() -> None:
    truth, guard = truth_of(Turn("Here.", reports=False)), guard_of("tokens=5000")
    agent_of(truth, guard).run_sync("Where?")
    no_overspend(guard, truth)
    assert (guard.ledger.used["tokens"] or 0) > 100  # the bytes of the prompt, and the limit
    assert not guard.ledger.reserved["tokens"]


def test_a_nested_agent_has_to_fit_into_both() -> None:
    outer = truth_of(*[Turn(calls=(call("ask", q="a"),)), Turn(calls=(call("ask", q="b"),)), Turn("Done.")])
    inner = truth_of(Turn(calls=(call("quick", q="c"), call("quick", q="d"))), Turn("Found one."), Turn("Never."))
    guard = guard_of("usd=0.025, calls=9")
    helper = agent_of(inner, guard.within("usd=0.015, calls=2", name="helper"))

    async def ask(q: str) -> str:
        outer.tool("ask")
        return str((await helper.run(q)).output)

    found, out = told(agent_of(outer, guard, tools=[Tool(ask)]).run_sync("Where?"))
    assert found.content == "Found one."
    assert out.outcome == "failed"
    assert "ask ran out of its own budget: calls" in str(out.content)
    assert inner.called == ["quick"]  # 0.015 of its own
    exactly(guard, outer, inner)


def test_streaming() -> None:
    async def streamed(agent: Agent[Any, Any]) -> list[str]:
        async with agent.run_stream("Where?") as result:
            return [word async for word in result.stream_text(delta=True, debounce_by=None)]

    truth = truth_of(Turn(calls=(call("quick", q="a"),)), Turn("Here it is."), Turn("More"))
    guard = guard_of("calls=2, usd=1")
    assert "".join(asyncio.run(streamed(agent_of(truth, guard)))) == "Here it is. "
    exactly(guard, truth)
    with pytest.raises(OutOfBudget):
        asyncio.run(streamed(agent_of(truth, guard)))
    exactly(guard, truth)

    async def cut_off(agent: Agent[Any, Any]) -> None:
        async with agent.run_stream("Where?") as result:
            async for _ in result.stream_text(delta=True, debounce_by=None):
                break
            await result.cancel()

    other, cut = truth_of(Turn("Long text that nobody reads")), guard_of("tokens=5000")
    asyncio.run(cut_off(agent_of(other, cut)))
    no_overspend(cut, other)
    assert (cut.ledger.used["tokens"] or 0) > 100
    assert not cut.ledger.reserved["tokens"]


def test_a_stream_that_is_left_costs_its_worst_case() -> None:
    async def left(model: BoundedModel) -> None:
        async with model.request_stream([], None, ModelRequestParameters()) as stream:
            async for _ in stream:
                break

    truth, guard = truth_of(Turn("Long text that nobody reads")), guard_of("tokens=5000")
    asyncio.run(left(BoundedModel(ScriptedModel(truth), guard)))
    no_overspend(guard, truth)
    assert not guard.ledger.reserved["tokens"]


def test_a_cancelled_call_costs_its_worst_case() -> None:
    async def cancelled(agent: Agent[Any, Any], truth: Truth) -> None:
        task = asyncio.create_task(agent.run("Where?"))
        while not (truth.called or (truth.limits and not truth.script)):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    truth, guard = truth_of(Turn(calls=(call("slow", q="a"), call("quick", q="b"))), Turn()), guard_of("usd=1")
    asyncio.run(cancelled(agent_of(truth, guard), truth))
    assert truth.called
    no_overspend(guard, truth)
    assert not guard.ledger.reserved["usd"]

    asking, asked = truth_of(Turn("Never.")), guard_of("tokens=5000")
    model = ScriptedModel(asking, gate=lambda: asyncio.Event().wait())
    asyncio.run(cancelled(agent_of(asking, asked, model=model), asking))
    no_overspend(asked, asking)
    assert not asked.ledger.reserved["tokens"]
    assert (asked.ledger.used["tokens"] or 0) > 100


def test_formats_are_part_of_what_is_paid_for() -> None:
    class Wide(BaseModel):
        __doc__ = "x" * 3000
        place: str

    truth = truth_of(Turn(calls=(("final_result", {"place": "Bern"}),)))
    with pytest.raises(OutOfBudget):
        agent_of(truth, guard_of("tokens=3000"), output_type=Wide).run_sync("Where?")
    assert not truth.limits
    wider = guard_of("tokens=9000")
    assert agent_of(truth, wider, output_type=Wide).run_sync("Where?").output.place == "Bern"
    exactly(wider, truth)


def test_what_the_provider_does_by_itself_is_refused() -> None:
    truth = truth_of(Turn("Never."))
    model = ScriptedModel(truth)
    for more in ({"capabilities": [NativeTool(WebSearchTool())]}, {"model_settings": {"openai_conversation_id": "x"}}):
        agent = Agent(model, **{"capabilities": [], **more})
        with pytest.raises(ConfigError, match="not known before it"):
            agent.run_sync("Where?", capabilities=[GuardCapability(guard_of("calls=1"))])
    guarded = BoundedModel(model, guard_of("calls=1"))
    with pytest.raises(ConfigError, match="batches"):
        asyncio.run(guarded.batch_create([]))
    with pytest.raises(ConfigError, match="shorter"):
        asyncio.run(guarded.compact_messages(None))
    assert not truth.limits


def test_results_of_all_kinds_are_priced() -> None:
    async def metered(q: str) -> Any:
        return ToolReturn({"cost": 0.02, "when": datetime(2026, 1, 1, tzinfo=UTC), "raw": b"\xff"}, content="more")

    price = {"worst": {"usd": "$0.10"}, "reported": "cost"}
    guard = Guard("usd=1", tools={"metered": price}, models=MODELS)
    truth = truth_of(Turn(calls=(call("metered", q="a"),)), Turn("Done."))
    agent_of(truth, guard, tools=[Tool(metered)]).run_sync("Where?")
    assert guard.ledger.used["usd"] == 20_000 + truth.spent["usd"]


def test_a_tool_that_raises_a_budget_error_of_its_own_has_been_called() -> None:
    async def quick(q: str) -> str:
        truth.tool("quick")
        raise BudgetExceededError("usd", 1, 1, 1, "own")

    truth, guard = truth_of(Turn(calls=(call("quick", q="a"),))), guard_of("usd=1")
    with pytest.raises(BudgetExceededError, match="1 requested"):
        agent_of(truth, guard, tools=[Tool(quick)]).run_sync("Where?")
    exactly(guard, truth)


def test_what_nobody_can_price_is_refused() -> None:
    truth, guard = truth_of(Turn(calls=(call("quick", q="a"),)), Turn("Done.")), Guard("usd=1", models=MODELS)
    assert "declare it" in str(told(agent_of(truth, guard).run_sync("Where?"))[0].content)
    assert not truth.called
    with pytest.raises(OutOfBudget, match="declare it"):
        agent_of(truth, Guard("usd=1", tools=TOOLS)).run_sync("Where?")


@pytest.mark.parametrize(
    "part",
    [
        ImageUrl("https://example.org/river.png"),
        BinaryContent(b"png", media_type="image/png"),
        UploadedFile("f", "openai", media_type="image/png"),
    ],
)
def test_an_image_is_refused_or_bounded(part: Any) -> None:
    def ask(truth: Truth, guard: Guard) -> str:
        agent = Agent(ScriptedModel(truth), capabilities=[GuardCapability(guard)])
        return str(agent.run_sync(["Where?", part]).output)

    image_is_bounded(ask)


def test_an_image_that_a_tool_returns_is_refused() -> None:
    def photo(q: str) -> Any:
        return ToolReturn(
            {"type": "image", "file_id": "data of its own"},
            content=["seen:", ImageUrl("https://example.org/river.png")],
        )

    truth = truth_of(Turn(calls=(call("photo", q="a"),)), Turn("never"))
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
