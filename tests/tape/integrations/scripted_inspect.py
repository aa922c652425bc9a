"""Inspect's mock model following a script, and scripted tools."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from inspect_ai.model import ChatMessageAssistant, GenerateConfig, Model, ModelOutput, ModelUsage, get_model
from inspect_ai.model._model import RetryDecision
from inspect_ai.tool import Tool, ToolCall, tool
from tenacity import wait_none

from tests.tape.integrations.scripted import ScriptError, Truth


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
        output.usage = ModelUsage(
            input_tokens=turn.prompt, output_tokens=completion, total_tokens=turn.prompt + completion
        )
        if not turn.reports:
            output.metadata = {"silent": True}
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
    """Scripted tools."""

    @tool(parallel=True)
    def quick() -> Tool:
        async def execute(query: str, pages: list[int] | None = None) -> str:
            """Search.

            Args:
                query: What for.
                pages: Where.
            """
            answer = truth.tool("quick")
            await asyncio.sleep(0)
            return answer

        return execute

    @tool
    def deep() -> Tool:
        async def execute(query: str) -> str:
            """Search well.

            Args:
                query: What for.
            """
            return truth.tool("deep")

        return execute

    @tool
    def fails() -> Tool:
        async def execute(query: str) -> str:
            """Search in vain.

            Args:
                query: What for.
            """
            truth.tool("fails")
            raise TimeoutError

        return execute

    return [quick(), deep(), fails()]
