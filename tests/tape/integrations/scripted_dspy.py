"""A scripted engine for DSPy, and turns in its chat format."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import dspy
from dspy import lm15

from tape.gateway.guard import Guard
from tape.integrations.dspy import BoundedLM
from tests.tape.integrations.scripted import Truth, Turn


def events(response: lm15.Response, breaks: bool) -> Iterator[Any]:
    """A stream that comes word by word, and perhaps breaks."""
    for event in lm15.response_to_events(response):
        if event.type == "delta" and event.delta.type == "text":
            for word in re.split(r"(?<=\s)", event.delta.text):
                yield replace(event, delta=replace(event.delta, text=word))
                if breaks:
                    raise lm15.ServerError("gone", retry_after=0)
        else:
            yield event


class ScriptedEngine:
    """A scripted engine: one attempt at one answer."""

    def __init__(self, truth: Truth, usage: dict[str, int] | None = None) -> None:
        self.truth, self.usage = truth, usage
        self.breaks = False
        self.heard: list[str] = []
        self.options: list[lm15.Config] = []

    def complete(self, request: lm15.Request) -> lm15.Response:
        self.heard.append("\n".join(message.text or "" for message in request.messages))
        self.options.append(request.config)
        turn, completion = self.truth.model(request.config.max_tokens)
        if turn.fails:
            raise lm15.ServerError("overloaded", retry_after=0)
        usage = lm15.Usage(**(self.usage or {"input_tokens": turn.prompt, "output_tokens": completion}))
        return lm15.Response(
            id=None,
            model="scripted",
            message=lm15.Message.assistant([lm15.TextPart(turn.text)]),
            finish_reason="stop",
            usage=usage if turn.reports else lm15.Usage(),
        )

    def stream(self, request: lm15.Request) -> Iterator[Any]:
        yield from events(self.complete(request), self.breaks)

    def close(self) -> None:
        """Nothing is open."""


class ScriptedAsyncEngine:
    """The same for ``await``; it may wait at a gate before it answers."""

    def __init__(self, engine: ScriptedEngine, gate: asyncio.Event | None = None) -> None:
        self.engine, self.gate = engine, gate

    async def complete(self, request: lm15.Request) -> lm15.Response:
        response = self.engine.complete(request)
        if self.gate is not None:
            await self.gate.wait()
        return response

    async def stream(self, request: lm15.Request) -> AsyncIterator[Any]:
        for event in events(await self.complete(request), self.engine.breaks):
            yield event

    async def aclose(self) -> None:
        """Nothing is open."""


def lm_of(engine: ScriptedEngine, guard: Guard, gate: asyncio.Event | None = None, **options: Any) -> BoundedLM:
    options = {"cache": False, "num_retries": 0} | options
    lm = dspy.LM("scripted", engine=engine, async_engine=ScriptedAsyncEngine(engine, gate), **options)
    return BoundedLM(lm, guard)


def said(**fields: Any) -> str:
    """Fields as DSPy's chat format wants them."""
    return "\n\n".join(
        f"[[ ## {name} ## ]]\n{value if isinstance(value, str) else json.dumps(value)}"
        for name, value in {**fields, "completed": ""}.items()
    )


def use(name: str, **options: Any) -> Turn:
    """A turn of ReAct."""
    arguments = {} if name == "finish" else {"query": "x"}
    return Turn(said(next_thought="t", next_tool_name=name, next_tool_args=arguments), **options)


ANSWER = Turn(said(reasoning="r", answer="done"))
