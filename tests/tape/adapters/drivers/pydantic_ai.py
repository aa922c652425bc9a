"""pydantic-ai with a scripted model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic_ai import Agent, Tool, WebSearchTool
from pydantic_ai.capabilities import Hooks, NativeTool
from pydantic_ai.exceptions import ModelHTTPError, RetryModelRequest
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
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from tape.adapters.pydantic_ai import GuardCapability, OutOfBudget
from tape.guard.guard import Guard
from tests.tape.adapters.drivers.base import Ask, Driver, Played
from tests.tape.adapters.drivers.scripted import Truth, Wide, awaited_functions_of


class ScriptedModel(Model):
    """A scripted model."""

    def __init__(self, truth: Truth, gate: Any = None) -> None:
        super().__init__()
        self.truth, self.gate = truth, gate

    @property
    def model_name(self) -> str:
        return "scripted"

    @property
    def system(self) -> str:
        return "scripted"

    @classmethod
    def supported_native_tools(cls) -> frozenset[type[Any]]:
        return frozenset({WebSearchTool})

    def _answer(self, given: Any) -> ModelResponse:
        assert given["max_retries"] == 0
        turn, completion = self.truth.model(given.get("max_tokens"))
        if turn.fails:
            raise ModelHTTPError(500, "scripted")
        parts = [TextPart(turn.text)] if turn.text else []
        calls = [ToolCallPart(name, args, f"{name}-{i}") for i, (name, args) in enumerate(turn.calls)]
        usage = RequestUsage()
        if reported := turn.reported(completion):
            usage.input_tokens, usage.output_tokens = reported
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
    """What a scripted model answers, word by word, with the usage at the end."""

    answer: ModelResponse = field(kw_only=True)
    model_name: str = "scripted"  # type: ignore[misc]
    provider_name: str = "scripted"  # type: ignore[misc]
    provider_url: None = None  # type: ignore[misc]
    timestamp: datetime = datetime(2026, 1, 1, tzinfo=UTC)  # type: ignore[misc]

    async def _get_event_iterator(self) -> AsyncIterator[Any]:
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


def agent_of(truth: Truth, guard: Guard, *before: Any, **more: Any) -> Agent[Any, Any]:
    """An agent under a guard, with other capabilities."""
    tools = more.pop("tools", None)
    if tools is None:
        tools = [Tool(function, max_retries=9) for function in awaited_functions_of(truth).values()]
    model = more.pop("model", None) or ScriptedModel(truth)
    return Agent(model, tools=tools, capabilities=[GuardCapability(guard), *before], **more)


def answers_of(result: Any) -> list[ToolReturnPart]:
    """What tools have answered."""
    return [part for message in result.all_messages() for part in message.parts if isinstance(part, ToolReturnPart)]


def _played(result: Any) -> Played:
    answers = answers_of(result)
    assert all(
        (answer.outcome == "failed") == ("not called" in f"{answer.content}") for answer in answers if answer.content
    )
    return Played(str(result.output).strip(), [str(answer.content) for answer in answers])


async def _again(ctx: Any, *, request_context: Any, error: Exception) -> Any:
    raise error if isinstance(error, OutOfBudget) else RetryModelRequest()


class PydanticAI(Driver):
    """Agents of pydantic-ai."""

    failed = ModelHTTPError
    ended = OutOfBudget
    hosted = "not known before it"
    parts = (
        ImageUrl("https://example.org/river.png"),
        BinaryContent(b"png", media_type="image/png"),
        UploadedFile("f", "openai", media_type="image/png"),
    )

    async def run(self, truth: Truth, guard: Guard, *, retries: int = 0, gate: Any = None) -> Played:
        again = [Hooks(model_request_error=_again)] if retries else []
        return _played(await agent_of(truth, guard, *again, model=ScriptedModel(truth, gate)).run("Where?"))

    async def call(self, truth: Truth, guard: Guard, ask: Ask) -> Played:
        agent: Any = Agent(
            ScriptedModel(truth),
            capabilities=[GuardCapability(guard), *([NativeTool(WebSearchTool())] if ask.hosted else [])],
            output_type=[str, Wide] if ask.wide else str,
            model_settings=ModelSettings(max_tokens=ask.limit) if ask.limit else None,
        )
        return _played(await agent.run(["Where?", *([ask.part] if ask.part else [])]))

    async def nested(self, truth: Truth, guard: Guard, inner: Truth, own: Guard) -> Played:
        helper = agent_of(inner, own)

        async def ask(query: str) -> str:
            truth.tool("ask")
            return str((await helper.run(query)).output)

        result = await agent_of(truth, guard, tools=[Tool(ask)]).run("Where?")
        return Played(result.output, [str(answer.content) for answer in answers_of(result)])

    async def stream(self, truth: Truth, guard: Guard, most: int | None = None) -> str:
        text = ""
        async with agent_of(truth, guard).run_stream("Where?") as result:
            async for word in result.stream_text(delta=True, debounce_by=None):
                text += word
                if most is not None:
                    await result.cancel()
                    break
        return text

    async def client(self, kind: str, url: str, guard: Guard) -> None:
        model = {"chat": OpenAIChatModel, "responses": OpenAIResponsesModel}[kind]
        provider = OpenAIProvider(base_url=url, api_key="none")
        await Agent(model("scripted", provider=provider), capabilities=[GuardCapability(guard)]).run("Where?")


DRIVER = PydanticAI
