"""smolagents under a guard: what it has and other frameworks do not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("smolagents")

from smolagents import ChatMessage, ChatMessageStreamDelta, CodeAgent, Model, Tool, ToolCallingAgent, tool
from smolagents.models import REMOVE_PARAMETER, MessageRole

from tape.adapters.smolagents import BoundedModel, bounded_tools
from tape.errors import BudgetExceededError, ConfigError
from tape.guard.guard import Guard
from tests.tape.adapters.drivers.scripted import MODELS, TOOLS, USAGES, Turn, call, exactly, guard_of, truth_of
from tests.tape.adapters.drivers.smolagents import (
    AROUND,
    END,
    GO,
    ScriptedApi,
    ScriptedModel,
    ScriptedStream,
    agent_of,
    code,
    tools_of,
)


def coder(model: Model, tools: list[Tool], guard: Guard, **options: Any) -> CodeAgent:
    """An agent that acts by writing code, under a guard."""
    return CodeAgent(bounded_tools(tools, guard), BoundedModel(model, guard), verbosity_level=0, **options)


def test_a_limit_that_the_model_does_not_know_is_not_sent() -> None:
    truth, guard = truth_of(Turn("x")), guard_of("calls=1")
    inner, sent = ScriptedModel(truth, max_tokens=REMOVE_PARAMETER), []
    inner.generate = lambda messages, **options: sent.append(options) or ChatMessage(MessageRole.ASSISTANT, "x")
    BoundedModel(inner, guard).generate([ChatMessage(MessageRole.USER, "go")])
    assert sent == [{"max_completion_tokens": 20}]


def test_candidates_are_paid_for_together() -> None:
    guard = guard_of("calls=1, tokens=3000")
    truth = truth_of(Turn("x", completion=10**6))
    BoundedModel(ScriptedModel(truth, n=4), guard).generate([ChatMessage(MessageRole.USER, "go")])
    assert truth.limits == [5]


def test_an_amount_that_looks_like_a_status_is_not_retried() -> None:
    truth, guard = truth_of(), guard_of("tokens=429")
    with pytest.raises(BudgetExceededError, match="429"):
        BoundedModel(ScriptedApi(truth), guard).generate([ChatMessage(MessageRole.USER, "x" * 429)])
    assert truth.spent["calls"] == 0


def test_an_interrupted_tool_counts_as_its_worst_case() -> None:
    truth, guard = truth_of(), guard_of("usd=1")

    @tool
    def slow(query: str) -> str:
        """Search slowly.

        Args:
            query: What for.
        """
        truth.tool("slow")
        raise KeyboardInterrupt

    truth.script = [Turn(calls=(call("slow", query="x"),))]
    agent = ToolCallingAgent(bounded_tools([slow], guard), BoundedModel(ScriptedModel(truth), guard), verbosity_level=0)
    with pytest.raises(KeyboardInterrupt):
        agent.run("go")
    exactly(guard, truth)


def test_code_that_calls_tools_by_position_is_bounded() -> None:
    code = '<code>\nfor number in range(9):\n    print(quick("x"))\nfinal_answer(deep("y"))\n</code>'
    truth = truth_of(Turn(code), Turn("<code>\nfinal_answer('done')\n</code>"))
    price = {"each": {"usd": "$0.01"}, "per": "argument", "argument": "query", "at_most": 10}
    guard = Guard("usd=1, steps=5", tools={**TOOLS, "quick": price}, models=MODELS, most_tokens=20)
    model = ScriptedModel(truth)
    assert coder(model, tools_of(truth, counts=True), guard).run("go") == "done"
    assert truth.called.count("quick") == 5
    assert truth.called.count("deep") == 0
    assert "deep was not called" in model.heard[1]
    exactly(guard, truth)


def test_a_guarded_tool_cannot_leave_the_process() -> None:
    [tools, *_] = bounded_tools(tools_of(truth_of()), guard_of("usd=1"))
    with pytest.raises(ConfigError, match="the tool quick is under a guard"):
        tools.to_dict()


@pytest.mark.parametrize("line", AROUND)
def test_code_does_not_come_around_the_guard(line: str) -> None:
    """Whatever the line does, what was called is paid for, at its own price."""
    truth = truth_of(code(line), code("print(quick(query='b'))"), code("print(deep(query='c'))"), code(END))
    inner, guard = truth_of(Turn("x")), guard_of("usd=1")
    helper = agent_of(inner, guard, name="helper", description="Helps.")
    assert coder(ScriptedModel(truth), tools_of(truth), guard, managed_agents=[helper]).run("go") == "done"
    assert "quick" in truth.called
    exactly(guard, truth, inner)


def test_reports_of_a_stream_that_are_none_are_the_worst_case() -> None:
    class Reporting(ScriptedStream):
        def generate_stream(self, messages: Any, **options: Any) -> Any:
            yield ChatMessageStreamDelta(content=self.generate(messages, **options).content)
            for prompt, completion in (usage, (1, 1)):
                yield ChatMessageStreamDelta(
                    token_usage=SimpleNamespace(input_tokens=prompt, output_tokens=completion, total_tokens=0)
                )

    worst = guard_of("usd=1")
    list(BoundedModel(ScriptedStream(truth_of(Turn("x", reports=False))), worst).generate_stream(GO))
    for usage in USAGES:
        guard = guard_of("usd=1")
        stream = BoundedModel(Reporting(truth_of(Turn("x"))), guard).generate_stream(GO)
        assert "".join(item.content or "" for item in stream) == "x", usage
        assert guard.ledger.used["tokens"] == worst.ledger.used["tokens"], usage
        assert not guard.ledger.reserved["tokens"], usage


@pytest.mark.parametrize("limit", [1e4, "100", True, 0, -1])
def test_a_limit_that_is_no_number_is_refused(limit: Any) -> None:
    """smolagents puts a model's own limit before that of a call: one that is not understood would lift it."""
    with pytest.raises(ConfigError, match=r"the model's max_tokens is .*; give it as a whole number above 0"):
        BoundedModel(ScriptedModel(truth_of(), max_tokens=limit), guard_of("usd=1"))
