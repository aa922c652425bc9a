"""LangChain with a scripted model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import ModelRetryMiddleware
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool

from tape.adapters.langchain import GuardMiddleware
from tape.guard.guard import Guard
from tests.tape.adapters.drivers.base import Ask, Driver, Played
from tests.tape.adapters.drivers.scripted import ScriptError, Truth, Turn, Wide, awaited_functions_of, functions_of

ASK: dict[str, Any] = {"messages": [HumanMessage("Where?")]}


class ScriptedModel(BaseChatModel):
    """A scripted chat model."""

    truth: Any
    model_name: str = "scripted"
    max_retries: int = 0
    max_tokens: int | None = None
    gate: Any = None

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(tools=[convert_to_openai_tool(item) for item in tools], **kwargs)

    def _turn(self, kwargs: Any) -> tuple[Turn, AIMessage]:
        turn, completion = self.truth.model(kwargs.get("max_tokens"))
        if turn.fails:
            raise ScriptError
        calls = [{"name": name, "args": args, "id": f"{name}-{i}"} for i, (name, args) in enumerate(turn.calls)]
        message = AIMessage(turn.text, tool_calls=calls)
        if reported := turn.reported(completion):
            message.usage_metadata = {"input_tokens": reported[0], "output_tokens": reported[1], "total_tokens": 0}
        return turn, message

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
        for word in turn.text.split(" "):
            chunk = ChatGenerationChunk(message=AIMessageChunk(f"{word} "))
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


def tools_of(truth: Truth) -> list[Any]:
    """Scripted tools."""
    return [tool(function) for function in functions_of(truth).values()]


def agent_of(truth: Truth, guard: Guard, *before: Any, **more: Any) -> Any:
    """An agent under a guard, with other middleware before the guard's."""
    tools = more.pop("tools", None)
    return create_agent(
        more.pop("model", None) or ScriptedModel(truth=truth),
        tools_of(truth) if tools is None else tools,
        middleware=[*before, GuardMiddleware(guard)],
        **more,
    )


def metered_of(truth: Truth) -> Any:
    """A tool that reports what it cost beside its answer."""

    @tool(response_format="content_and_artifact")
    def metered(query: str) -> tuple[str, dict[str, float]]:
        """Search, and say what it cost."""
        truth.tool("metered")
        return "found", {"cost": 0.02}

    return metered


def answers_of(result: dict[str, Any]) -> list[ToolMessage]:
    """What tools have answered."""
    return [message for message in result["messages"] if isinstance(message, ToolMessage)]


async def _awaited(stream: Any, *arguments: Any, **options: Any) -> AsyncIterator[Any]:
    for item in stream(*arguments, **options):
        yield item


class LangChain(Driver):
    """Agents of LangChain, run synchronously or not."""

    failed = ScriptError
    parts = (
        {"type": "image_url", "image_url": {"url": "https://example.org/river.png"}},
        {"type": "image", "url": "https://example.org/river.png"},
        {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"},
        {"type": "image", "source": {"type": "file", "file_id": "file-1"}},
    )

    async def _played(self, agent: Any, asked: Any = ASK) -> Played:
        limit = {"recursion_limit": 200}
        result = await agent.ainvoke(asked, limit) if self.awaits else agent.invoke(asked, limit)
        last, answers = result["messages"][-1], answers_of(result)
        assert all("was not called" in answer.text for answer in answers if answer.status == "error")
        if last.response_metadata.get("finish_reason") == "budget":
            return Played("", [answer.text for answer in answers], last.text)
        return Played(last.text, [answer.text for answer in answers])

    async def run(self, truth: Truth, guard: Guard, *, retries: int = 0, gate: Any = None) -> Played:
        functions = awaited_functions_of(truth) if self.awaits else functions_of(truth)
        again = [ModelRetryMiddleware(max_retries=retries, initial_delay=0, jitter=False)] if retries else []
        tools = [tool(function) for function in functions.values()] + [metered_of(truth)]
        return await self._played(
            agent_of(truth, guard, *again, tools=tools, model=ScriptedModel(truth=truth, gate=gate))
        )

    async def call(self, truth: Truth, guard: Guard, ask: Ask) -> Played:
        content = [{"type": "text", "text": "Where?"}, *([ask.part] if ask.part else [])]
        return await self._played(
            agent_of(
                truth, guard, model=ScriptedModel(truth=truth, max_tokens=ask.limit),
                tools=[{"type": "web_search"}] if ask.hosted else [], response_format=Wide if ask.wide else None,
            ),
            {"messages": [HumanMessage("Before."), HumanMessage(content)]},
        )  # fmt: skip

    async def nested(self, truth: Truth, guard: Guard, inner: Truth, own: Guard) -> Played:
        helper = agent_of(inner, own)

        def ask(query: str) -> str:
            """Ask the helper."""
            truth.tool("ask")
            return str(helper.invoke({"messages": [HumanMessage(query)]})["messages"][-1].text)

        return await LangChain()._played(agent_of(truth, guard, tools=[tool(ask)]))

    async def stream(self, truth: Truth, guard: Guard, most: int | None = None) -> str:
        text, agent = "", agent_of(truth, guard, tools=[])
        pieces = agent.astream if self.awaits else partial(_awaited, agent.stream)
        async for part, _ in pieces(ASK, stream_mode="messages"):
            text += part.text
            if most is not None:
                break
        return text


DRIVER = LangChain
