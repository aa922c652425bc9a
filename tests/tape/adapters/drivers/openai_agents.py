"""The OpenAI Agents SDK with its own scripted model."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import openai
import pytest
from agents import (
    Agent,
    ModelRetrySettings,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    Tool,
    WebSearchTool,
    function_tool,
    retry_policies,
)
from agents.items import ToolCallOutputItem
from agents.models._retry_runtime import should_disable_provider_managed_retries
from agents.retry import ModelRetryAdvice
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call
from agents.usage import Usage
from openai.types.responses import ResponseTextDeltaEvent

from tape.adapters.openai_agents import BoundedModel, OutOfBudget, bounded_tools, explain_refusal
from tape.guard.guard import Guard
from tests.tape.adapters.drivers.base import Ask, Driver, Played
from tests.tape.adapters.drivers.scripted import NUMBERS, ScriptError, Truth, Wide, awaited_functions_of

NUMBER = itertools.count()
QUIET = RunConfig(tracing_disabled=True)
AGAIN = ModelRetrySettings(
    max_retries=5, policy=retry_policies.provider_suggested(), backoff={"initial_delay": 0, "jitter": False}
)


def scripted(truth: Truth, gate: Callable[[], Any] | None = None) -> ScriptedModel:
    """The SDK's scripted model, which answers what the truth has next."""

    async def respond(asked: ModelCall) -> Any:
        assert should_disable_provider_managed_retries()
        turn, completion = truth.model(asked.model_settings.max_tokens)
        if gate is not None:
            await gate()
        if turn.fails:
            return ModelStep.raise_error(
                ScriptError(), retry_advice=ModelRetryAdvice(suggested=True, replay_safety="safe")
            )
        calls = [function_call(name, args, call_id=f"{next(NUMBER)}") for name, args in turn.calls]
        usage = Usage(requests=1)
        if reported := turn.reported(completion):
            usage.input_tokens, usage.output_tokens = reported
        return ModelStep(output=[*([assistant_message(turn.text)] if turn.text else []), *calls], usage=usage)

    return ScriptedModel([ModelStep.respond(respond) for _ in range(60)])


def tools_of(truth: Truth) -> list[Tool]:
    """Scripted tools, whose failures end the run."""
    return [
        function_tool(function, failure_error_function=None, strict_mode=name != "metered")
        for name, function in awaited_functions_of(truth).items()
    ]


def agent_of(truth: Truth, guard: Guard, **more: Any) -> Agent[Any]:
    """An agent under a guard."""
    tools, model = more.pop("tools", None), more.pop("model", None) or scripted(truth)
    tools = bounded_tools(tools_of(truth) if tools is None else tools, guard)
    return Agent("agent", model=BoundedModel(model, guard, name="scripted"), tools=tools, **more)


def answers_of(result: Any) -> list[str]:
    """What tools have answered."""
    return [str(item.output) for item in result.new_items if isinstance(item, ToolCallOutputItem)]


async def _played(agent: Agent[Any], asked: Any = "Where?") -> Played:
    try:
        result = await Runner.run(agent, asked, run_config=QUIET, max_turns=60)
    except OutOfBudget as error:
        if error.run_data is None:  # what the run did so far
            pytest.fail("a run that was ended does not report what it did")
        raise
    return Played(str(result.final_output), answers_of(result))


class OpenAIAgents(Driver):
    """Agents of the SDK."""

    failed = ScriptError
    ended = OutOfBudget
    usages = tuple(pair for pair in NUMBERS if pair[0] == pair[0])  # no NaN
    hosted = "not known before it"
    parts = ({"image_url": "https://example.org/river.png"}, {"file_id": "file-1"})

    async def run(self, truth: Truth, guard: Guard, *, retries: int = 0, gate: Any = None) -> Played:
        again = ModelSettings(retry=AGAIN if retries else None)
        return await _played(agent_of(truth, guard, model=scripted(truth, gate), model_settings=again))

    async def call(self, truth: Truth, guard: Guard, ask: Ask) -> Played:
        parts = [{"type": "input_image", "detail": "auto", **ask.part}] if ask.part else []
        settings = ModelSettings(max_tokens=ask.limit)
        agent = agent_of(truth, guard, tools=[], model_settings=settings, output_type=Wide if ask.wide else None)
        agent.tools += [WebSearchTool()] if ask.hosted else []
        content = [{"type": "input_text", "text": "Where?"}, *parts]
        return await _played(agent, [{"role": "user", "content": content}])

    async def nested(self, truth: Truth, guard: Guard, inner: Truth, own: Guard) -> Played:
        ask = agent_of(inner, own).as_tool("ask", "Ask.", run_config=QUIET, failure_error_function=explain_refusal)
        call = ask.on_invoke_tool

        async def invoke(context: Any, arguments: str) -> Any:
            truth.tool("ask")
            return await call(context, '{"input": "go"}')

        ask.on_invoke_tool = invoke
        return await _played(agent_of(truth, guard, tools=[ask]))

    async def stream(self, truth: Truth, guard: Guard, most: int | None = None) -> str:
        result, text = Runner.run_streamed(agent_of(truth, guard), "Where?", run_config=QUIET), ""
        async for event in result.stream_events():
            if event.type == "raw_response_event" and isinstance(event.data, ResponseTextDeltaEvent):
                text += event.data.delta
                if most is not None:
                    result.cancel()
        return text

    async def client(self, kind: str, url: str, guard: Guard) -> None:
        model = {"chat": OpenAIChatCompletionsModel, "responses": OpenAIResponsesModel}[kind]
        client = openai.AsyncOpenAI(base_url=url, api_key="none")
        bounded = BoundedModel(model("scripted", client), guard, name="scripted")
        await Runner.run(Agent("agent", model=bounded), "Where?", run_config=QUIET)


DRIVER = OpenAIAgents
