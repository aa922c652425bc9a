"""Inspect with its mock model, scripted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageTool,
    ChatMessageUser,
    ContentImage,
    ContentText,
    GenerateConfig,
    Model,
    ModelOutput,
    ModelUsage,
    ResponseSchema,
    get_model,
)
from inspect_ai.model._model import RetryDecision
from inspect_ai.tool import Tool, ToolCall, ToolDef, ToolInfo
from inspect_ai.util import JSONSchema, LimitExceededError
from tenacity import RetryError, wait_none

from tape.adapters.inspect_agent import bounded_model, bounded_tools
from tape.errors import UnknownCostError
from tape.guard.guard import Guard
from tests.tape.adapters.drivers.base import Ask, Driver, Played
from tests.tape.adapters.drivers.scripted import NUMBERS, ScriptError, Truth, awaited, awaited_functions_of


def scripted(truth: Truth, gate: Callable[[], Awaitable[Any]] | None = None) -> Model:
    """Inspect's mock model, scripted."""

    async def answer(messages: Any, tools: Any, choice: Any, config: GenerateConfig) -> ModelOutput:
        turn, completion = truth.model(config.max_tokens)
        if gate is not None:
            await gate()
        if turn.fails:
            raise ScriptError("overloaded")
        calls = [ToolCall(f"call-{number}", name, given) for number, (name, given) in enumerate(turn.calls)]
        output = ModelOutput.from_message(ChatMessageAssistant(content=turn.text, tool_calls=calls or None))
        # The mock makes up a usage where there is none: where none is reported, it is taken out again below.
        prompt, written = turn.reported(completion) or (0, 0)
        output.usage = ModelUsage.model_construct(input_tokens=prompt, output_tokens=written, total_tokens=0)
        output.metadata = {"silent": not turn.reports}
        return output

    model = get_model("mockllm/scripted", custom_outputs=answer)
    api = model.api
    plain = type(api).generate

    class Scripted(type(api)):  # type: ignore[misc]
        """Its failures may be retried at once, and its usage may be missing."""

        async def generate(self, *args: Any, **options: Any) -> Any:
            output, sent = await plain(self, *args, **options)
            if (output.metadata or {}).get("silent"):
                output.usage = None
            return output, sent

        def should_retry(self, ex: Exception) -> RetryDecision:
            return RetryDecision.transient(0.0) if isinstance(ex, ScriptError) else RetryDecision.no()

        def retry_wait(self) -> Any:
            return wait_none()

    api.__class__ = Scripted
    return model


def tools_of(truth: Truth) -> list[Tool]:
    """Scripted tools; one of them may be called while others are."""

    async def quick(query: str, pages: list[int] | None = None) -> str:
        """Search.

        Args:
            query: What for.
            pages: Where.
        """
        answer = truth.tool("quick")
        await asyncio.sleep(0)
        return answer

    async def fails(query: str) -> str:
        """Search in vain.

        Args:
            query: What for.
        """
        truth.tool("fails")
        raise TimeoutError

    functions = awaited_functions_of(truth)
    functions |= {"quick": quick, "fails": fails, "deep": awaited(functions["deep"])}
    return [ToolDef(function, name=name, parallel=True).as_tool() for name, function in functions.items()]


def answers_of(messages: Iterable[ChatMessage]) -> list[str]:
    """What tools have answered, refusals included."""
    return [
        message.error.message if message.error else message.text
        for message in messages
        if isinstance(message, ChatMessageTool)
    ]


async def loop(model: Model, tools: Any, guard: Guard, retries: int = 0) -> list[ChatMessage]:
    """Inspect's own loop of model and tools under a guard, without an evaluation around it."""
    bounded = bounded_tools(tools, guard)
    config = GenerateConfig(max_retries=retries + 1)
    messages, _ = await bounded_model(model, guard).generate_loop("go", tools=bounded, config=config)
    return messages


class Inspect(Driver):
    """Inspect's loop of model and tools."""

    failed = RetryError
    ended = (LimitExceededError, UnknownCostError)
    parts = ("data:image/png;base64,iVBORw0KGgo=",)  # Inspect sends no addresses
    usages = NUMBERS

    async def run(self, truth: Truth, guard: Guard, *, retries: int = 0, gate: Any = None) -> Played:
        messages = await loop(scripted(truth, gate), tools_of(truth), guard, retries)
        return Played(messages[-1].text, answers_of(messages))

    async def call(self, truth: Truth, guard: Guard, ask: Ask) -> Played:
        schema = ResponseSchema(name="wide", json_schema=JSONSchema(type="object", description="x" * 3000))
        image = [ContentImage(image=ask.part)] if ask.part else []
        message = ChatMessageUser(content=[ContentText(text="Where?"), *image])
        config = GenerateConfig(max_tokens=ask.limit, response_schema=schema if ask.wide else None, max_retries=1)
        search = ToolInfo(name="web_search", description="Search.", options={"openai": {}})
        output = await bounded_model(scripted(truth), guard).generate(
            [message], tools=[search] if ask.hosted else [], config=config
        )
        return Played(output.completion)

    async def nested(self, truth: Truth, guard: Guard, inner: Truth, own: Guard) -> Played:
        async def ask(query: str) -> str:
            """Ask.

            Args:
                query: What for.
            """
            truth.tool("ask")
            return (await loop(scripted(inner), tools_of(inner), own))[-1].text

        messages = await loop(scripted(truth), [ToolDef(ask, name="ask").as_tool()], guard)
        return Played(messages[-1].text, answers_of(messages))

    async def stream(self, truth: Truth, guard: Guard, most: int | None = None) -> str:
        async def note(event: Any) -> None:
            del event

        return (await bounded_model(scripted(truth), guard).generate("go", on_stream=note)).completion

    async def client(self, kind: str, url: str, guard: Guard) -> None:
        responses = kind == "responses"
        model = get_model("openai/scripted", base_url=url, api_key="no-key", memoize=False, responses_api=responses)
        model.api.retry_wait = wait_none  # type: ignore[method-assign]
        await bounded_model(model, guard).generate("go", config=GenerateConfig(max_retries=1))


DRIVER = Inspect
