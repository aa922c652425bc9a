"""LangChain and LangGraph under a guard: what they have and other frameworks do not."""

from __future__ import annotations

import asyncio
from typing import Any, TypedDict

import pytest

pytest.importorskip("langchain.agents")
pytest.importorskip("langgraph.graph")

from langchain.agents import create_agent
from langchain.agents.middleware import ModelFallbackMiddleware, ModelRetryMiddleware, ToolRetryMiddleware
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models.fake import FakeListLLM
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command

from tape.adapters.langchain import GuardCallback, GuardMiddleware, plan_node
from tape.errors import BudgetExceededError, ConfigError
from tape.guard.guard import Guard
from tests.tape.adapters.drivers.langchain import ASK, ScriptedModel, agent_of, answers_of, tools_of
from tests.tape.adapters.drivers.scripted import MODELS, Turn, call, exactly, guard_of, no_overspend, truth_of


@pytest.mark.parametrize("last", [True, False])
def test_each_attempt_of_a_retry_is_paid_for_wherever_the_middleware_stands(last: bool) -> None:
    truth = truth_of(Turn(fails=True), Turn(fails=True), Turn("Third."))
    guard, retry = guard_of("calls=3"), ModelRetryMiddleware(max_retries=5, initial_delay=0, jitter=False)
    middleware = [retry, GuardMiddleware(guard)] if last else [GuardMiddleware(guard), retry]
    result = create_agent(ScriptedModel(truth=truth), [], middleware=middleware).invoke(ASK)
    assert result["messages"][-1].text == "Third."
    assert truth.spent["calls"] == guard.ledger.used["calls"] == 3
    no_overspend(guard, truth)


def test_a_model_that_stands_in_is_paid_for() -> None:
    truth, guard = truth_of(Turn(fails=True), Turn("Stood in.")), guard_of("calls=5")
    spare = ScriptedModel(truth=truth, model_name="spare")
    middleware = [ModelFallbackMiddleware(spare), GuardMiddleware(guard)]
    agent = create_agent(ScriptedModel(truth=truth), [], middleware=middleware)
    assert agent.invoke(ASK)["messages"][-1].text == "Stood in."
    assert truth.spent["calls"] == guard.ledger.used["calls"] == 2
    assert truth.limits == [20, 20]


def test_a_tool_that_fails_costs_its_worst_case_at_each_attempt() -> None:
    truth, guard = truth_of(Turn(calls=(call("fails", query="a"),)), Turn("Oh.")), guard_of("usd=0.025")
    retry = ToolRetryMiddleware(max_retries=5, initial_delay=0, jitter=False)
    result = agent_of(truth, guard, retry).invoke(ASK)
    assert "fails was not called" in answers_of(result)[0].text
    assert truth.called == ["fails", "fails"]
    no_overspend(guard, truth)
    assert guard.ledger.used["steps"] == 2


def test_a_client_that_repeats_calls_is_refused() -> None:
    model = ScriptedModel(truth=truth_of(), max_retries=2)
    with pytest.raises(ConfigError, match="max_retries=2: its client repeats calls"):
        create_agent(model, [], middleware=[GuardMiddleware(guard_of("calls=2"))]).invoke(ASK)


def test_several_completions_are_paid_for_and_plain_models_refused() -> None:
    guard = guard_of("tokens=9000")
    asked = {"callbacks": [GuardCallback(guard)]}
    model = ScriptedModel(truth=truth_of(Turn("One.", reports=False), Turn("Three.", reports=False)))
    model.bind(max_tokens=100).invoke("Where?", asked)
    use = guard.ledger.used["tokens"] or 0
    model.bind(max_tokens=100, n=3).invoke("Where?", asked)
    assert (guard.ledger.used["tokens"] or 0) - use >= use + 200
    with pytest.raises(ConfigError, match="use a chat model"):
        FakeListLLM(responses=["Never."]).invoke("Where?", asked)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_refused_model_call_is_not_logged_as_an_error_of_a_callback(
    asynchronous: bool, caplog: pytest.LogCaptureFixture
) -> None:
    agent = agent_of(truth_of(Turn("Never.")), guard_of("calls=0"))
    result = asyncio.run(agent.ainvoke(ASK)) if asynchronous else agent.invoke(ASK)
    assert result["messages"][-1].response_metadata["finish_reason"] == "budget"
    assert caplog.records == []

    class Broken(BaseCallbackHandler):
        def on_chat_model_start(self, *_: Any, **__: Any) -> None:
            raise ValueError("a callback of the user")

    ScriptedModel(truth=truth_of(Turn("Bern."))).bind(max_tokens=20).invoke("Where?", {"callbacks": [Broken()]})
    assert "a callback of the user" in caplog.text


class Search(TypedDict, total=False):
    """The state of a graph that plans."""

    tools: list[str]
    plan: dict[str, Any]
    found: list[str]


def test_a_node_plans_and_a_graph_follows() -> None:
    truth, guard = truth_of(), guard_of("usd=0.06")
    by_name = {item.name: item for item in tools_of(truth)}

    def follow(state: Search) -> Search:
        result = []
        for step in state["plan"]["plan"]:
            with guard.tool(step["tool"], {"query": "a"}) as charge:
                result.append(by_name[step["tool"]].invoke({"query": "a"}))
                charge.answered(result[-1])
        return {"found": result}

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

    truth = truth_of(Turn(calls=(call("quick", query="a"), call("deep", query="b"))), Turn("Done."))
    guard = guard_of("usd=0.03, calls=2")
    middleware, model = GuardMiddleware(guard), ScriptedModel(truth=truth).bind(max_tokens=20)
    graph = StateGraph(State)
    graph.add_node("model", lambda state: {"messages": [*state["messages"], model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode(tools_of(truth), wrap_tool_call=middleware.wrap_tool_call))
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
    def quick(query: str) -> Command[Any]:
        """Answer by a command."""
        truth.tool("quick")
        return Command(update={"messages": [ToolMessage("by command", tool_call_id="quick-0")]})

    truth, guard = truth_of(Turn(calls=(call("quick", query="a"),)), Turn("Done.")), guard_of("usd=1")
    assert answers_of(agent_of(truth, guard, tools=[quick]).invoke(ASK))[0].text == "by command"
    exactly(guard, truth)


def test_a_limit_by_another_name_is_the_one_that_is_paid_for() -> None:
    guard = guard_of("tokens=100000")
    model = ScriptedModel(truth=truth_of(Turn("x", reports=False))).bind(max_tokens=20, max_completion_tokens=5000)
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
    refused, answered = answers_of(agent_of(truth, guard, tools=[pages]).invoke(ASK))
    assert "at most 50 are priced" in refused.text
    assert (answered.text, read) == ("read", [3])
    assert guard.ledger.used["usd"] == 30_000 + truth.spent["usd"]
