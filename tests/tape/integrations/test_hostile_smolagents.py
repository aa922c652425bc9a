"""smolagents under a guard, attacked: code that goes around the tools, absurd reports, streams left half-read."""

from __future__ import annotations

import gc
import os
from contextlib import suppress
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("smolagents")

from smolagents import ChatMessage, ChatMessageStreamDelta, CodeAgent, LogLevel, Model, ToolCallingAgent, tool
from smolagents.models import REMOVE_PARAMETER, MessageRole

from tape.errors import ConfigError
from tape.gateway.guard import Guard
from tape.integrations.smolagents import BoundedModel, bounded_tools
from tests.tape.integrations.hostile import BUDGETS, USAGES, Usage, judged, swept
from tests.tape.integrations.scripted import MODELS, TOOLS, Turn, call, exactly, truth_of
from tests.tape.integrations.test_smolagents import DONE, ScriptedModel, ScriptedStream, agent_of, guarded, tools_of

GO = [ChatMessage(MessageRole.USER, "go")]
END = "final_answer('done')"


def code(*lines: str) -> Turn:
    return Turn("<code>\n" + "\n".join(lines) + "\n</code>")


AROUND = (
    "print(quick._tool(query='a'))",
    "print(getattr(quick, '_tool')(query='a'))",
    "quick._guard = None",
    "quick.name = 'ask'",
    "quick.inputs = {}",
    "quick.price = 0",
    "helper.model._inner.generate([{'role': 'user', 'content': 'x'}])",
    "helper.model._guard.ledger.budget = None",
    "helper.model.model_id = 'free'",
    "helper.tools['quick']._tool(query='a')",
    "quick.forward = deep.forward",
    "quick.forward._guard = None",
    "quick, deep = deep, quick",
)
"""What a model may write to come by a tool or a model without paying."""


@pytest.mark.parametrize("line", AROUND)
def test_code_does_not_come_around_the_guard(line: str) -> None:
    """Whatever the line does, what was called is paid for, at its own price."""
    truth = truth_of(code(line), code("print(quick(query='b'))"), code("print(deep(query='c'))"), code(END))
    inner, guard = truth_of(Turn("x")), guarded("usd=1")
    helper = agent_of(inner, guard, name="helper", description="Helps.")
    model = BoundedModel(ScriptedModel(truth), guard)
    agent = CodeAgent(bounded_tools(tools_of(truth), guard), model, managed_agents=[helper], verbosity_level=0)
    assert agent.run("go") == "done"
    assert "quick" in truth.called
    exactly(guard, truth, inner)


class Reporting(ScriptedStream):
    """A scripted model that reports what it likes, in several pieces."""

    def __init__(self, truth: Any, *usages: Usage) -> None:
        super().__init__(truth)
        self.usages = [SimpleNamespace(input_tokens=one[0], output_tokens=one[1], total_tokens=0) for one in usages]

    def generate(self, messages: Any, stop_sequences: Any = None, **options: Any) -> Any:
        message = super().generate(messages, stop_sequences, **options)
        message.token_usage = self.usages[0]
        return message

    def generate_stream(self, messages: Any, **options: Any) -> Any:
        yield ChatMessageStreamDelta(content=super().generate(messages, **options).content)
        for usage in self.usages:
            yield ChatMessageStreamDelta(token_usage=usage)


@pytest.mark.parametrize("usage", USAGES)
@pytest.mark.parametrize("streams", [True, False])
def test_a_report_that_is_none_is_the_worst_case_and_the_answer_arrives(usage: Usage, streams: bool) -> None:
    truth, guard = truth_of(Turn("x")), guarded("usd=1")
    model = BoundedModel(Reporting(truth, usage, (1, 1)) if streams else Reporting(truth, usage), guard)
    said = [one.content for one in model.generate_stream(GO)] if streams else [model.generate(GO).content]
    assert said[0] == "x"
    assert guard.ledger.used["tokens"] == truth_worst()
    assert not guard.ledger.reserved["tokens"]


def truth_worst() -> int:
    """The worst case of one call, by a model that reports nothing."""
    truth, guard = truth_of(Turn("x", reports=False)), guarded("usd=1")
    BoundedModel(ScriptedModel(truth), guard).generate(GO)
    return guard.ledger.used["tokens"] or 0


@pytest.mark.parametrize("limit", [1e4, "100", True, 0, -1])
def test_a_limit_that_is_no_number_is_refused(limit: Any) -> None:
    """smolagents puts a model's own limit before that of a call: one that is not understood would lift it."""
    with pytest.raises(ConfigError, match=r"the model's max_tokens is .*; give it as a whole number above 0"):
        BoundedModel(ScriptedModel(truth_of(), max_tokens=limit), guarded("usd=1"))


def test_a_limit_of_none_is_none() -> None:
    truth, guard = truth_of(Turn("x", completion=10**6)), guarded("usd=1")
    model = ScriptedModel(truth, max_tokens=None, max_completion_tokens=REMOVE_PARAMETER)
    BoundedModel(model, guard).generate(GO)
    assert truth.limits == [20]
    exactly(guard, truth)


@pytest.mark.parametrize("pages", ["{'a'}", "('a', ['b'])", "['a']", "{'a': ['b']}"])
def test_a_tool_that_changes_its_arguments_pays_for_those_of_the_call(pages: str) -> None:
    truth = truth_of(code(f"print(quick({pages}))"), code(END))

    @tool
    def quick(pages: Any) -> str:
        """Search.

        Args:
            pages: Where.
        """
        inner = pages[1] if isinstance(pages, tuple) else pages
        for number in range(1000):
            if isinstance(inner, set):
                inner.add(f"more {number}")
            elif isinstance(inner, dict):
                inner["a"].append("more")
            else:
                inner.append("more")
        return truth.tool("quick")

    price = {"each": {"usd": "$0.0001"}, "per": "input_tokens"}
    guard = Guard("usd=0.1", tools={"quick": price}, models=MODELS, most_tokens=20)
    agent = CodeAgent(bounded_tools([quick], guard), BoundedModel(ScriptedModel(truth), guard), verbosity_level=0)
    agent.run("go")
    assert truth.called == ["quick"]
    assert not guard.ledger.violations
    assert not guard.ledger.overspent()


# --- the sweep ------------------------------------------------------------------------------------


def scenario(seed: int) -> dict[str, int]:
    """One guard, and whatever a model, code and a reader may do under it."""
    chance = Random(seed)
    truth, inner = truth_of(), truth_of()
    guard = Guard(chance.choice(BUDGETS), tools=TOOLS, models=MODELS, most_tokens=20)
    calls = [call(name, query="x") for name in ("quick", "deep", "fails")]
    for _ in range(4):
        model: Model = (
            Reporting(truth, *chance.choices(USAGES, k=2)) if chance.random() < 0.4 else ScriptedStream(truth)
        )
        truth.script = [turn(chance, calls) for _ in range(chance.randint(1, 5))]
        inner.script = [turn(chance, calls) for _ in range(3)]
        with suppress(Exception):
            play(chance, truth, inner, guard, model)
        gc.collect()
    return judged(guard, truth, inner)


def turn(chance: Random, calls: list[Any]) -> Turn:
    if chance.random() < 0.5:
        lines = chance.choices([*AROUND, "print(quick('x'))", "for i in range(9): print(deep(query='x'))", END], k=3)
        return Turn(code(*lines).text, reports=chance.random() < 0.8)
    some = chance.choices([*calls, *DONE.calls], k=chance.randint(1, 4))
    return Turn(calls=tuple(some), completion=chance.randint(0, 60), fails=chance.random() < 0.1)


def play(chance: Random, truth: Any, inner: Any, guard: Guard, model: Model) -> None:
    bounded, tools = BoundedModel(model, guard), bounded_tools(tools_of(truth), guard)
    helper = agent_of(inner, guard.within("calls=3, usd=0.05"), name="helper", description="Helps.", max_steps=3)
    how = chance.choice(["tools", "code", "streams", "left half-read"])
    if how == "left half-read":
        stream = bounded.generate_stream(GO)
        for _ in range(chance.randint(0, 3)):
            next(stream)
        return
    kind: Any = CodeAgent if how == "code" else ToolCallingAgent
    agent = kind(tools, bounded, managed_agents=[helper], max_steps=3, stream_outputs=how == "streams")
    for one in (agent, helper):
        one.logger.level = LogLevel.OFF  # it takes longer than all the rest
    agent.run("go")


@pytest.mark.slow
def test_nothing_is_overspent_by_what_smolagents_may_do() -> None:
    swept("smolagents", scenario, 3)


@pytest.mark.soak
def test_nothing_is_overspent_by_what_smolagents_may_do_40_times() -> None:
    swept("smolagents", scenario, 40, os.environ.get("TAPE_SOAK_RESULTS"))
