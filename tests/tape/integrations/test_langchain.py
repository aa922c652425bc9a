"""LangChain and LangGraph under a guard: the real packages, with a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any, TypedDict

import pytest

pytest.importorskip("langchain.agents")
pytest.importorskip("langgraph.graph")

from langchain.agents import create_agent
from langchain.agents.middleware import ModelFallbackMiddleware, ModelRetryMiddleware, ToolRetryMiddleware
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.language_models.fake import FakeListLLM
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import BaseTool, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command
from pydantic import BaseModel

from tape.errors import BudgetExceededError, ConfigError
from tape.gateway.guard import Guard
from tape.integrations.langchain import GuardCallback, GuardMiddleware, plan_node
from tests.tape.integrations.scripted import (
    MODELS,
    TOOLS,
    ScriptError,
    Truth,
    Turn,
    call,
    exactly,
    image_is_bounded,
    no_overspend,
    truth_of,
)


class ScriptedModel(BaseChatModel):
    """A scripted chat model."""

    truth: Any
    model_name: str = "scripted"
    max_retries: int = 0
    gate: Any = None

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(tools=[convert_to_openai_tool(one) for one in tools], **kwargs)

    def _turn(self, kwargs: Any) -> tuple[Turn, AIMessage]:
        turn, completion = self.truth.model(kwargs.get("max_tokens"))
        if turn.fails:
            raise ScriptError
        calls = [{"name": name, "args": args, "id": f"{name}-{i}"} for i, (name, args) in enumerate(turn.calls)]
        total = turn.prompt + completion
        usage = {"input_tokens": turn.prompt, "output_tokens": completion, "total_tokens": total}
        return turn, AIMessage(turn.text, tool_calls=calls, usage_metadata=usage if turn.reports else None)

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._turn(kwargs)[1])])

    async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        result = self._generate(messages, **kwargs)
        if self.gate is not None:
            await self.gate()
        return result

    def _stream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        turn, answer = self._turn(kwargs)
        for word in turn.text.split():
            chunk = ChatGenerationChunk(message=AIMessageChunk(word))
            if run_manager:
                run_manager.on_llm_new_token(word, chunk=chunk)
            yield chunk
        last = AIMessageChunk("", tool_calls=answer.tool_calls, usage_metadata=answer.usage_metadata)
        yield ChatGenerationChunk(message=last)

    async def _astream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream(messages, **kwargs):
            yield chunk


def tools_of(truth: Truth) -> list[BaseTool]:
    """Tools that say the truth about their calls."""

    @tool
    def quick(q: str) -> str:
        """Search quickly."""
        return truth.tool("quick")

    @tool
    def deep(q: str) -> str:
        """Search deeply."""
        return truth.tool("deep")

    @tool
    def fails(q: str) -> str:
        """Fail."""
        truth.tool("fails")
        raise ScriptError(q)

    @tool
    async def slow(q: str) -> str:
        """Take for ever."""
        truth.tool("slow")
        await asyncio.Event().wait()
        return "never"

    return [quick, deep, fails, slow]


def guard_of(budget: str, **more: Any) -> Guard:
    return Guard(budget, tools=TOOLS, models=MODELS, most_tokens=20, **more)


def agent_of(truth: Truth, guard: Guard, *before: Any, **more: Any) -> Any:
    return create_agent(
        ScriptedModel(truth=truth),
        more.pop("tools", tools_of(truth)),
        middleware=[*before, GuardMiddleware(guard)],
        **more,
    )


ASK: dict[str, Any] = {"messages": [HumanMessage("Where?")]}


def told(result: dict[str, Any]) -> list[BaseMessage]:
    return [message for message in result["messages"] if isinstance(message, ToolMessage)]


def test_every_call_is_counted_exactly() -> None:
    truth, guard = (
        truth_of(Turn(calls=(call("quick", q="a"),)), Turn("Here.", completion=99)),
        guard_of("usd=1, steps=5"),
    )
    result = agent_of(truth, guard).invoke(ASK)
    assert result["messages"][-1].text == "Here."
    assert truth.limits == [20, 20]  # the model writes no more than what is paid for
    exactly(guard, truth)
    assert truth.spent == {"usd": 10_000 + 50 + 60, "tokens": 110, "calls": 2, "steps": 1}


def test_a_refused_tool_is_told_and_another_one_taken() -> None:
    turns = [Turn(calls=(call("deep", q="a"),)), Turn(calls=(call("quick", q="a"),)), Turn("Done.")]
    truth, guard = truth_of(*turns), guard_of("usd=0.04")
    result = agent_of(truth, guard).invoke(ASK)
    refused, answered = told(result)
    assert refused.status == "error"
    assert "deep was not called, nothing was spent" in refused.text
    assert "What would fit: quick" in refused.text
    assert answered.text == "quick found it"
    assert truth.called == ["quick"]
    exactly(guard, truth)


@pytest.mark.parametrize("budget", ["calls=1", "tokens=3000", "usd=0.003"])
def test_a_refused_model_call_ends_the_run(budget: str) -> None:
    turns = [Turn(calls=(call("ask", q="a"),), prompt=200) for _ in range(50)]
    truth, guard = truth_of(*turns), guard_of(budget)

    @tool
    def ask(q: str) -> str:
        """Ask."""
        return truth.tool("ask")

    last = agent_of(truth, guard, tools=[ask]).invoke(ASK, {"recursion_limit": 200})["messages"][-1]
    assert last.response_metadata == {"finish_reason": "budget"}
    assert "The model was not called, nothing was spent" in last.text
    assert 0 < truth.spent["calls"] < 50
    exactly(guard, truth)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_parallel_calls_share_the_budget(asynchronous: bool) -> None:
    turns = [Turn(calls=tuple(call("quick", q=str(i)) for i in range(8))), Turn("Done.")]
    truth, guard = truth_of(*turns), guard_of("usd=0.035, steps=5")
    agent = agent_of(truth, guard)
    result = asyncio.run(agent.ainvoke(ASK)) if asynchronous else agent.invoke(ASK)
    assert len(told(result)) == 8
    assert truth.called == ["quick"] * 3
    exactly(guard, truth)


@pytest.mark.parametrize("last", [True, False])
def test_each_attempt_of_a_retry_is_paid_for_wherever_the_middleware_stands(last: bool) -> None:
    truth = truth_of(Turn(fails=True), Turn(fails=True), Turn("Third."))
    guard, retry = guard_of("calls=3"), ModelRetryMiddleware(max_retries=5, initial_delay=0, jitter=False)
    middleware = [retry, GuardMiddleware(guard)] if last else [GuardMiddleware(guard), retry]
    result = create_agent(ScriptedModel(truth=truth), [], middleware=middleware).invoke(ASK)
    assert result["messages"][-1].text == "Third."
    assert truth.spent["calls"] == guard.ledger.used["calls"] == 3
    no_overspend(guard, truth)


def test_no_attempt_is_made_that_does_not_fit() -> None:
    truth, guard = truth_of(*[Turn(fails=True)] * 9), guard_of("calls=2")
    result = agent_of(truth, guard, ModelRetryMiddleware(max_retries=5, initial_delay=0, jitter=False)).invoke(ASK)
    assert result["messages"][-1].response_metadata == {"finish_reason": "budget"}
    assert truth.spent["calls"] == 2
    no_overspend(guard, truth)


def test_a_model_that_stands_in_is_paid_for() -> None:
    truth, guard = truth_of(Turn(fails=True), Turn("Stood in.")), guard_of("calls=5")
    spare = ScriptedModel(truth=truth, model_name="spare")
    agent = create_agent(
        ScriptedModel(truth=truth), [], middleware=[ModelFallbackMiddleware(spare), GuardMiddleware(guard)]
    )
    assert agent.invoke(ASK)["messages"][-1].text == "Stood in."
    assert truth.spent["calls"] == guard.ledger.used["calls"] == 2
    assert truth.limits == [20, 20]


def test_a_tool_that_fails_costs_its_worst_case_at_each_attempt() -> None:
    truth, guard = truth_of(Turn(calls=(call("fails", q="a"),)), Turn("Oh.")), guard_of("usd=0.025")
    retry = ToolRetryMiddleware(max_retries=5, initial_delay=0, jitter=False)
    result = agent_of(truth, guard, retry).invoke(ASK)
    assert "fails was not called" in told(result)[0].text
    assert truth.called == ["fails", "fails"]
    no_overspend(guard, truth)
    assert guard.ledger.used["steps"] == 2

    with pytest.raises(ScriptError):
        agent_of(truth_of(Turn(calls=(call("fails", q="a"),))), other := guard_of("usd=1")).invoke(ASK)
    assert other.ledger.used["usd"] == 10_000 + 50


def test_usage_that_is_not_reported_counts_as_the_worst_case() -> None:
    truth, guard = truth_of(Turn("Here.", reports=False)), guard_of("tokens=5000")
    agent_of(truth, guard).invoke(ASK)
    no_overspend(guard, truth)
    assert (guard.ledger.used["tokens"] or 0) > 100  # the bytes of the prompt, and the limit
    assert not guard.ledger.reserved["tokens"]


def test_a_nested_agent_has_to_fit_into_both() -> None:
    outer = truth_of(Turn(calls=(call("ask", q="a"),)), Turn(calls=(call("quick", q="b"),)), Turn("Done."))
    inner = truth_of(Turn(calls=(call("quick", q="c"), call("quick", q="d"))), Turn("Found one."))
    guard = guard_of("usd=0.025, calls=9")
    helper = agent_of(inner, guard.within("usd=0.015", name="helper"))

    @tool
    def ask(q: str) -> str:
        """Ask the helper."""
        outer.tool("ask")
        return str(helper.invoke({"messages": [HumanMessage(q)]})["messages"][-1].text)

    result = agent_of(outer, guard, tools=[ask, *tools_of(outer)]).invoke(ASK)
    assert told(result)[0].text == "Found one."
    assert inner.called == ["quick"]  # 0.015 of its own
    assert outer.called == ["ask", "quick"]
    exactly(guard, outer, inner)


def test_streaming() -> None:
    truth = truth_of(Turn(calls=(call("quick", q="a"),)), Turn("Here it is."), Turn("More"))
    guard = guard_of("calls=2, usd=1")
    agent = agent_of(truth, guard)
    words = [part.text for part, _ in agent.stream(ASK, stream_mode="messages") if isinstance(part, AIMessageChunk)]
    assert [word for word in words if word] == ["Here", "it", "is."]
    exactly(guard, truth)
    assert agent.invoke(ASK)["messages"][-1].response_metadata == {"finish_reason": "budget"}

    async def cut_off() -> None:
        async for part, _ in agent_of(other, cut).astream(ASK, stream_mode="messages"):
            assert part.text == "Long"
            break

    other, cut = truth_of(Turn("Long text that nobody reads")), guard_of("tokens=5000")
    asyncio.run(cut_off())
    no_overspend(cut, other)
    assert not cut.ledger.reserved["tokens"]


def test_a_cancelled_call_costs_its_worst_case() -> None:
    async def cancelled(agent: Any) -> None:
        task = asyncio.create_task(agent.ainvoke(ASK))
        while not started():
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    truth, guard = truth_of(Turn(calls=(call("slow", q="a"), call("quick", q="b")))), guard_of("usd=1")
    started = lambda: "slow" in truth.called  # noqa: E731
    asyncio.run(cancelled(agent_of(truth, guard)))
    no_overspend(guard, truth)
    assert not guard.ledger.reserved["usd"]

    asking, asked = truth_of(Turn("Never.")), guard_of("tokens=5000")
    started = lambda: bool(asking.limits)  # noqa: E731
    model = ScriptedModel(truth=asking, gate=lambda: asyncio.Event().wait())
    asyncio.run(cancelled(create_agent(model, [], middleware=[GuardMiddleware(asked)])))
    no_overspend(asked, asking)
    assert not asked.ledger.reserved["tokens"]
    assert (asked.ledger.used["tokens"] or 0) > 50


def test_formats_and_tools_are_part_of_what_is_paid_for() -> None:
    class Wide(BaseModel):
        """A format with a long description."""

        place: str

    Wide.__doc__ = "x" * 3000
    truth, guard = truth_of(Turn(calls=(("Wide", {"place": "Bern"}),))), guard_of("tokens=3000")
    result = agent_of(truth, guard, response_format=Wide).invoke(ASK)
    assert result["messages"][-1].response_metadata == {"finish_reason": "budget"}
    assert not truth.limits
    wider = guard_of("tokens=9000")
    assert agent_of(truth, wider, response_format=Wide).invoke(ASK)["structured_response"].place == "Bern"
    exactly(wider, truth)


def test_a_client_that_repeats_calls_is_refused() -> None:
    model = ScriptedModel(truth=truth_of(), max_retries=2)
    with pytest.raises(ConfigError, match="max_retries=2: its client repeats calls"):
        create_agent(model, [], middleware=[GuardMiddleware(guard_of("calls=2"))]).invoke(ASK)


def test_several_completions_are_paid_for_and_plain_models_refused() -> None:
    guard = guard_of("tokens=9000")
    asked = {"callbacks": [GuardCallback(guard)]}
    model = ScriptedModel(truth=truth_of(Turn("One.", reports=False), Turn("Three.", reports=False)))
    model.bind(max_tokens=100).invoke("Where?", asked)
    one = guard.ledger.used["tokens"] or 0
    model.bind(max_tokens=100, n=3).invoke("Where?", asked)
    assert (guard.ledger.used["tokens"] or 0) - one >= one + 200
    with pytest.raises(ConfigError, match="use a chat model"):
        FakeListLLM(responses=["Never."]).invoke("Where?", asked)


def test_tools_of_the_provider_are_refused() -> None:
    truth = truth_of(Turn("Never."))
    with pytest.raises(ConfigError, match=r"the provider runs .*web_search"):
        agent_of(truth, guard_of("calls=1"), tools=[{"type": "web_search"}]).invoke(ASK)
    assert not truth.limits


def test_what_nobody_can_price_is_refused() -> None:
    truth, guard = truth_of(Turn(calls=(call("quick", q="a"),)), Turn("Done.")), Guard("usd=1", models=MODELS)
    assert "declare it" in told(agent_of(truth, guard).invoke(ASK))[0].text
    assert not truth.called
    unpriced = Guard("usd=1", tools=TOOLS)
    assert "declare it" in agent_of(truth, unpriced).invoke(ASK)["messages"][-1].text


def test_what_a_tool_reports_is_what_it_cost() -> None:
    @tool(response_format="content_and_artifact")
    def metered(q: str) -> tuple[str, dict[str, float]]:
        """Say what it cost."""
        return "found", {"cost": 0.02}

    price = {"worst": {"usd": "$0.10"}, "reported": "cost"}
    truth = truth_of(Turn(calls=(call("metered", q="a"),)), Turn("Done."))
    guard = Guard("usd=1", tools={"metered": price}, models=MODELS)
    agent_of(truth, guard, tools=[metered]).invoke(ASK)
    assert guard.ledger.used["usd"] == 20_000 + truth.spent["usd"]


def test_a_tool_that_raises_a_budget_error_of_its_own_has_been_called() -> None:
    @tool
    def quick(q: str) -> str:
        """Run out of a budget that is nobody else's."""
        truth.tool("quick")
        raise BudgetExceededError("usd", 1, 1, 1, "own")

    truth, guard = truth_of(Turn(calls=(call("quick", q="a"),))), guard_of("usd=1")
    with pytest.raises(BudgetExceededError, match="1 requested"):
        agent_of(truth, guard, tools=[quick]).invoke(ASK)
    exactly(guard, truth)


class Search(TypedDict, total=False):
    """The state of a graph that plans."""

    tools: list[str]
    plan: dict[str, Any]
    found: list[str]


def test_a_node_plans_and_a_graph_follows() -> None:
    truth, guard = truth_of(), guard_of("usd=0.06")
    by_name = {one.name: one for one in tools_of(truth)}

    def follow(state: Search) -> Search:
        found = []
        for step in state["plan"]["plan"]:
            with guard.tool(step["tool"], {"q": "a"}) as charge:
                found.append(by_name[step["tool"]].invoke({"q": "a"}))
                charge.answered(found[-1])
        return {"found": found}

    graph = StateGraph(Search)
    graph.add_node("plan", plan_node(guard))
    graph.add_node("follow", follow)
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", lambda state: "follow" if state["plan"]["fits"] else END)
    graph.add_edge("follow", END)
    compiled = graph.compile()
    done = compiled.invoke({"tools": ["search", "search"]})
    assert sorted(truth.called) == ["deep", "quick"]
    assert len(done["found"]) == 2
    exactly(guard, truth)
    nothing = compiled.invoke({"tools": ["search"]})
    assert nothing["plan"]["fits"] is False
    assert "found" not in nothing
    assert plan_node(guard_of("usd=1"), ["deep"])({})["plan"]["cost_at_most"]["usd"] == 0.05


def test_a_graph_of_ones_own() -> None:
    class State(TypedDict):
        messages: list[Any]

    truth = truth_of(Turn(calls=(call("quick", q="a"), call("deep", q="b"))), Turn("Done."))
    guard = guard_of("usd=0.03, calls=2")
    middleware, model = GuardMiddleware(guard), ScriptedModel(truth=truth).bind(max_tokens=20)
    graph = StateGraph(State)
    graph.add_node("model", lambda state: {"messages": [*state["messages"], model.invoke(state["messages"])]})
    node = ToolNode(tools_of(truth), wrap_tool_call=middleware.wrap_tool_call)
    graph.add_node("tools", node)
    graph.add_edge(START, "model")
    graph.add_edge("model", "tools")
    graph.add_edge("tools", END)
    done = graph.compile().invoke(ASK, {"callbacks": [GuardCallback(guard)]})
    assert [message.status for message in done["messages"] if isinstance(message, ToolMessage)] == ["success", "error"]
    assert truth.called == ["quick"]
    exactly(guard, truth)
    model.invoke("Again", {"callbacks": [GuardCallback(guard)]})
    with pytest.raises(BudgetExceededError):
        model.invoke("And again", {"callbacks": [GuardCallback(guard)]})
    with pytest.raises(ConfigError, match="give the model max_tokens"):
        ScriptedModel(truth=truth).invoke("Again", {"callbacks": [GuardCallback(guard_of("calls=1"))]})
    exactly(guard, truth)


def test_a_tool_that_answers_by_a_command_costs_its_worst_case() -> None:
    @tool
    def quick(q: str) -> Command[Any]:
        """Answer by a command."""
        truth.tool("quick")
        return Command(update={"messages": [ToolMessage("by command", tool_call_id="quick-0")]})

    truth, guard = truth_of(Turn(calls=(call("quick", q="a"),)), Turn("Done.")), guard_of("usd=1")
    assert told(agent_of(truth, guard, tools=[quick]).invoke(ASK))[0].text == "by command"
    exactly(guard, truth)


def test_a_limit_by_another_name_is_the_one_that_is_paid_for() -> None:
    truth = truth_of(Turn("x", reports=False))
    guard = guard_of("tokens=100000")
    model = ScriptedModel(truth=truth).bind(max_tokens=20, max_completion_tokens=5000)
    model.invoke("Go", {"callbacks": [GuardCallback(guard)]})
    assert (guard.ledger.used["tokens"] or 0) > 5000


def test_a_number_that_is_sent_as_a_text_costs_what_the_tool_takes_it_for() -> None:
    @tool
    def pages(n: int) -> str:
        """Read so many."""
        read.append(n)
        return "read"

    read: list[int] = []
    truth = truth_of(Turn(calls=(call("pages", n="99"), call("pages", n="3"))), Turn("Done."))
    price = {"each": {"usd": "$0.01"}, "per": "argument", "argument": "n", "at_most": 50}
    guard = Guard("usd=1", tools={"pages": price}, models=MODELS, most_tokens=20)
    refused, answered = told(agent_of(truth, guard, tools=[pages]).invoke(ASK))
    assert "at most 50 are priced" in refused.text
    assert (answered.text, read) == ("read", [3])
    assert guard.ledger.used["usd"] == 30_000 + truth.spent["usd"]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "https://example.org/river.png"}},
        {"type": "image", "url": "https://example.org/river.png"},
        {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"},
        {"type": "image", "source": {"type": "file", "file_id": "file-1"}},
    ],
)
def test_an_image_is_refused_or_bounded(part: dict[str, Any]) -> None:
    def ask(truth: Truth, guard: Guard) -> str:
        content = [{"type": "text", "text": "Where?"}, part]
        messages = [HumanMessage("Before."), HumanMessage(content)]
        return str(agent_of(truth, guard, tools=[]).invoke({"messages": messages})["messages"][-1].text)

    image_is_bounded(ask)
