"""smolagents with a scripted model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from random import Random
from types import SimpleNamespace
from typing import Any, ClassVar

from smolagents import (
    ChatMessage,
    ChatMessageStreamDelta,
    CodeAgent,
    LiteLLMModel,
    LiteLLMRouterModel,
    LogLevel,
    Model,
    OpenAIModel,
    Tool,
    ToolCallingAgent,
    tool,
)
from smolagents.models import ApiModel, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole
from smolagents.utils import AgentGenerationError

from tape.adapters.smolagents import BoundedModel, bounded_tools
from tape.guard.guard import REFUSALS, Guard
from tests.tape.adapters.drivers.base import Ask, Driver, Played
from tests.tape.adapters.drivers.scripted import Truth, Turn, call, functions_of

GO = [ChatMessage(MessageRole.USER, "go")]
DONE = Turn(calls=(call("final_answer", answer="done"),))
END = "final_answer('done')"
AROUND = (
    "print(quick._tool(query='a'))", "print(getattr(quick, '_tool')(query='a'))", "quick._guard = None",
    "quick.name = 'ask'", "quick.inputs = {}", "quick.price = 0",
    "helper.model._inner.generate([{'role': 'user', 'content': 'x'}])", "helper.model._guard.ledger.budget = None",
    "helper.model.model_id = 'free'", "helper.tools['quick']._tool(query='a')", "quick.forward = deep.forward",
    "quick.forward._guard = None", "quick, deep = deep, quick",
)  # fmt: skip
"""What a model may write to come by a tool or a model without paying."""


def code(*lines: str) -> Turn:
    """A turn of an agent that acts by writing code."""
    return Turn("<code>\n" + "\n".join(lines) + "\n</code>")


class ScriptedModel(Model):
    """A scripted model."""

    def __init__(self, truth: Truth, **options: Any) -> None:
        super().__init__(model_id="scripted", **options)
        self.truth = truth
        self.heard: list[str] = []

    def generate(self, messages: Any, stop_sequences: Any = None, **options: Any) -> ChatMessage:
        self.heard.append(str(messages[-1].content))
        turn, completion = self.truth.model(options.get("max_tokens", self.kwargs.get("max_tokens")))
        if turn.fails:
            raise RuntimeError("429 too many requests")
        calls = [
            ChatMessageToolCall(ChatMessageToolCallFunction(name=name, arguments=given), f"call-{number}", "function")
            for number, (name, given) in enumerate(turn.calls)
        ]
        reported = turn.reported(completion)
        usage: Any = reported and SimpleNamespace(input_tokens=reported[0], output_tokens=reported[1], total_tokens=0)
        return ChatMessage(MessageRole.ASSISTANT, turn.text, calls or None, token_usage=usage)


class ScriptedStream(ScriptedModel):
    """A scripted model that streams; what it used comes last."""

    def generate_stream(self, messages: Any, **options: Any) -> Iterator[ChatMessageStreamDelta]:
        message = self.generate(messages, **options)
        for letter in message.content:
            yield ChatMessageStreamDelta(content=letter)
        if message.token_usage:
            yield ChatMessageStreamDelta(token_usage=message.token_usage)


class ScriptedApi(ApiModel):
    """A scripted model that retries as those of smolagents do, without waiting."""

    def __init__(self, truth: Truth) -> None:
        super().__init__(model_id="scripted")
        self.retryer.wait_seconds = 0
        self.script = ScriptedModel(truth)

    def create_client(self) -> object:
        return object()

    def generate(self, messages: Any, **options: Any) -> ChatMessage:
        return self.retryer(self.script.generate, messages, **options)


def tools_of(truth: Truth, *, counts: bool = False) -> list[Tool]:
    """Scripted tools; ``deep`` declares that it answers by a number if it ``counts``."""
    tools = {name: tool(function) for name, function in functions_of(truth).items()}
    if counts:
        tools["deep"].output_type = "integer"
    return list(tools.values())


def agent_of(
    truth: Truth, guard: Guard, model: Model | None = None, *, counts: bool = False, **options: Any
) -> ToolCallingAgent:
    """An agent under a guard."""
    tools = bounded_tools(options.pop("tools", tools_of(truth, counts=counts)), guard)
    return ToolCallingAgent(
        tools, BoundedModel(model or ScriptedModel(truth), guard), verbosity_level=LogLevel.OFF, **options
    )


def _played(agent: Any) -> Played:
    text, answers = str(agent.run("go")), []
    for step in agent.memory.steps[1:]:
        answers.append(str(step.error or step.observations))
        if isinstance(step.error, AgentGenerationError):
            raise step.error
    return Played(text, answers)


async def _write_code(chance: Random, truth: Truth, guard: Guard) -> None:
    """Run an agent whose model writes code, with a helper of its own."""
    lines = (*AROUND, "print(quick('x'))", "for i in range(9): print(deep(query='x'))", END)
    truth.script = [replace(code(*chance.choices(lines, k=3)), reports=chance.random() < 0.8) for _ in range(3)]
    helper = agent_of(truth, guard.within("calls=3, usd=0.05"), name="helper", description="Helps.", max_steps=3)
    model, tools = BoundedModel(ScriptedModel(truth), guard), bounded_tools(tools_of(truth), guard)
    agent = CodeAgent(tools, model, managed_agents=[helper], max_steps=3, verbosity_level=LogLevel.OFF)
    agent.run("go")


class Smolagents(Driver):
    """Agents of smolagents."""

    failed = RuntimeError
    ended = (AgentGenerationError, *REFUSALS)
    tokens = 16_000
    ways: ClassVar[Mapping[str, Any]] = {"code": _write_code}
    parts = ({"type": "image_url", "image_url": {"url": "https://example.org/river.png"}},)

    def end(self, **options: Any) -> list[Turn]:
        return [Turn(calls=DONE.calls, **options)]

    async def run(self, truth: Truth, guard: Guard, *, retries: int = 0, gate: Any = None) -> Played:
        model = ScriptedApi(truth) if retries else ScriptedModel(truth)
        return _played(agent_of(truth, guard, model, max_steps=50))

    async def call(self, truth: Truth, guard: Guard, ask: Ask) -> Played:
        content = [{"type": "text", "text": "Where?"}, *([ask.part] if ask.part else [])]
        model = ScriptedModel(truth, **({"max_tokens": ask.limit} if ask.limit else {}))
        options = {"response_format": {"description": "x" * 3000}} if ask.wide else {}
        message = BoundedModel(model, guard).generate([ChatMessage(MessageRole.USER, content)], **options)
        return Played(str(message.content))

    async def nested(self, truth: Truth, guard: Guard, inner: Truth, own: Guard) -> Played:
        helper = agent_of(inner, own, name="ask", description="Helps.", max_steps=50)
        truth.script = [
            Turn(calls=tuple((name, {"task": "t"}) if name == "ask" else (name, given) for name, given in turn.calls))
            for turn in truth.script
        ]
        return _played(agent_of(truth, guard, ScriptedModel(truth), managed_agents=[helper]))

    async def stream(self, truth: Truth, guard: Guard, most: int | None = None) -> str:
        stream = BoundedModel(ScriptedStream(truth), guard).generate_stream(GO)
        if most is not None:
            first = next(stream).content or ""
            stream.close()
            return first
        return "".join(item.content or "" for item in stream)

    async def client(self, kind: str, url: str, guard: Guard) -> None:
        model: Any
        if kind == "openai":
            model = OpenAIModel("scripted", url, "no-key")
        elif kind == "litellm":
            model = LiteLLMModel("openai/scripted", url, "no-key")
        else:
            group = [{"model_name": "some", "litellm_params": {"model": "openai/scripted"}}]
            model = LiteLLMRouterModel("some", group)
            model.api_base, model.api_key = url, "no-key"
        before = dict(model.kwargs)
        try:
            BoundedModel(model, guard).generate(GO)
        finally:
            assert model.kwargs == before  # the model that was given is as it was


DRIVER = Smolagents
