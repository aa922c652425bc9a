"""DSPy with a scripted engine, and turns in its chat format."""

from __future__ import annotations

import asyncio
import json
import os
import re
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Any, ClassVar

os.environ.setdefault("DSPY_CACHEDIR", tempfile.mkdtemp(prefix="dspy-"))  # else DSPy makes one in the home directory

import dspy
from dspy import lm15
from dspy.utils.exceptions import LMServerError

from tape.adapters.dspy import BoundedLM, bounded_tools
from tape.errors import BudgetExceededError, UnknownCostError
from tape.guard.guard import Guard
from tests.tape.adapters.drivers.base import Ask, Driver, Played
from tests.tape.adapters.drivers.scripted import USAGES, Truth, Turn, awaited_functions_of, functions_of


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

    def complete(self, request: lm15.Request) -> lm15.Response:
        self.heard.append("\n".join(message.text or "" for message in request.messages))
        turn, completion = self.truth.model(request.config.max_tokens)
        if turn.fails:
            raise lm15.ServerError("overloaded", retry_after=0)
        reported = turn.reported(completion)
        usage = self.usage or (dict(zip(("input_tokens", "output_tokens"), reported, strict=True)) if reported else {})
        return lm15.Response(
            id=None, model="scripted", message=lm15.Message.assistant([lm15.TextPart(turn.text)]), finish_reason="stop",
            usage=lm15.Usage(**usage),
        )  # fmt: skip

    def stream(self, request: lm15.Request) -> Iterator[Any]:
        yield from events(self.complete(request), self.breaks)

    def close(self) -> None:
        """Nothing is open."""


class ScriptedAsyncEngine:
    """The same for ``await``; it may wait at a gate before it answers."""

    def __init__(self, engine: ScriptedEngine, gate: Callable[[], Any] | None = None) -> None:
        self.engine, self.gate = engine, gate

    async def complete(self, request: lm15.Request) -> lm15.Response:
        response = self.engine.complete(request)
        if self.gate is not None:
            await self.gate()
        return response

    async def stream(self, request: lm15.Request) -> AsyncIterator[Any]:
        for event in events(await self.complete(request), self.engine.breaks):
            yield event

    async def aclose(self) -> None:
        """Nothing is open."""


def lm_of(engine: ScriptedEngine, guard: Guard, gate: Any = None, **options: Any) -> BoundedLM:
    """A model under a guard."""
    options = {"cache": False, "num_retries": 0} | options
    lm = dspy.LM("scripted", engine=engine, async_engine=ScriptedAsyncEngine(engine, gate), **options)
    return BoundedLM(lm, guard)


def formatted(**fields: Any) -> str:
    """Fields as DSPy's chat format wants them."""
    return "\n\n".join(
        f"[[ ## {name} ## ]]\n{value if isinstance(value, str) else json.dumps(value)}"
        for name, value in {**fields, "completed": ""}.items()
    )


def use(name: str, **options: Any) -> Turn:
    """A turn of ReAct."""
    arguments = {} if name == "finish" else {"query": "x"}
    return Turn(formatted(next_thought="t", next_tool_name=name, next_tool_args=arguments), **options)


ANSWER = Turn(formatted(reasoning="r", answer="done"))


def tools_of(truth: Truth) -> list[Any]:
    """Scripted tools; one of them is asynchronous."""

    async def slow(query: str) -> str:
        """Search slowly."""
        return truth.tool("slow")

    return [*functions_of(truth).values(), slow]


def react(truth: Truth, guard: Guard, engine: ScriptedEngine | None = None, **options: Any) -> dspy.Prediction:
    """A program that calls tools until it has an answer."""
    with dspy.context(lm=lm_of(engine or ScriptedEngine(truth), guard, **options)):
        return dspy.ReAct("question -> answer", tools=bounded_tools(tools_of(truth), guard), max_iters=50)(
            question="go"
        )


async def _lm_alone(chance: Random, truth: Truth, guard: Guard) -> None:
    """Several candidates, perhaps out of the cache."""
    lm_of(ScriptedEngine(truth), guard, cache=chance.random() < 0.5)("go", n=chance.randint(1, 3))


async def _breaks(chance: Random, truth: Truth, guard: Guard) -> None:
    """A stream that breaks, with retries."""
    engine = ScriptedEngine(truth)
    engine.breaks = True
    with dspy.context(lm=lm_of(engine, guard, num_retries=chance.randint(0, 2))):
        async for _ in dspy.streamify(dspy.Predict("question -> answer"))(question="go"):
            pass


async def _converts(chance: Random, truth: Truth, guard: Guard) -> None:
    """A program, or a copy of it, that calls asynchronous tools synchronously."""
    truth.script[0] = use("slow")
    program = dspy.ReAct("question -> answer", tools=bounded_tools(tools_of(truth), guard), max_iters=4)
    with dspy.context(lm=lm_of(ScriptedEngine(truth), guard), allow_tool_async_sync_conversion=chance.random() < 0.5):
        await asyncio.to_thread(program.deepcopy() if chance.random() < 0.5 else program, question="go")


async def _parallel(chance: Random, truth: Truth, guard: Guard) -> None:
    """A program for several questions, in threads."""
    with dspy.context(lm=lm_of(ScriptedEngine(truth), guard)):
        pairs = [(dspy.Predict("question -> answer"), {"question": str(number)}) for number in range(4)]
        dspy.Parallel(num_threads=3, disable_progress_bar=True)(pairs)


class DSPy(Driver):
    """Programs of DSPy, run synchronously or not."""

    failed = LMServerError
    ended = (BudgetExceededError, UnknownCostError)
    one_by_one = True
    ways: ClassVar[Mapping[str, Any]] = {
        "lm": _lm_alone, "breaks": _breaks, "converts": _converts, "parallel": _parallel,
    }  # fmt: skip
    hosted = "web_search"
    parts = (dspy.Image("https://example.org/river.png"), dspy.Image("data:image/png;base64,iVBORw0KGgo="))
    usages = tuple(usage for usage in USAGES if all(type(count) is int and count > 0 for count in usage))

    def use(self, *names: str, **options: Any) -> Turn:
        [name] = names
        return use(name, **options)

    def end(self, **options: Any) -> list[Turn]:
        return [use("finish", **options), Turn(ANSWER.text, **options)]

    async def _played(self, program: Any, lm: Any) -> Played:
        with dspy.context(lm=lm):
            result = await program.acall(question="go") if self.awaits else program(question="go")
        answers = [value for key, value in result.trajectory.items() if key.startswith("observation_")]
        return Played(result.answer, [str(answer) for answer in answers])

    async def run(self, truth: Truth, guard: Guard, *, retries: int = 0, gate: Any = None) -> Played:
        functions = awaited_functions_of(truth) if self.awaits else functions_of(truth)
        program = dspy.ReAct("question -> answer", tools=bounded_tools(functions.values(), guard), max_iters=50)
        return await self._played(program, lm_of(ScriptedEngine(truth), guard, gate, num_retries=retries))

    async def call(self, truth: Truth, guard: Guard, ask: Ask) -> Played:
        lm = lm_of(ScriptedEngine(truth), guard, max_tokens=ask.limit)
        if ask.part:
            truth.script = [replace(turn, text=formatted(answer=turn.text)) for turn in truth.script]
            with dspy.context(lm=lm):
                return Played(dspy.Predict("image: dspy.Image -> answer")(image=ask.part).answer)
        asked: Any = "x" * 3000 if ask.wide else "Where?"
        if ask.hosted:
            search = (lm15.BuiltinTool("web_search"),)
            asked = lm15.Request("scripted", (lm15.Message.user(asked),), tools=search)
        return Played(str(await lm.acall(asked) if self.awaits else lm(asked)))

    async def nested(self, truth: Truth, guard: Guard, inner: Truth, own: Guard) -> Played:
        def ask(query: str) -> str:
            """Ask a helper."""
            truth.tool("ask")
            return str(react(inner, own))

        program = dspy.ReAct("question -> answer", tools=bounded_tools([ask], guard))
        return await self._played(program, lm_of(ScriptedEngine(truth), guard))

    async def stream(self, truth: Truth, guard: Guard, most: int | None = None) -> str:
        # DSPy holds up a thread that has more than 16 pieces for a reader who has left.
        truth.script = [replace(turn, text=formatted(answer=" ".join(turn.text.split()[:6]))) for turn in truth.script]
        listeners = [dspy.streaming.StreamListener(signature_field_name="answer")]
        program = dspy.streamify(dspy.Predict("question -> answer"), stream_listeners=listeners)
        text = ""
        with dspy.context(lm=lm_of(ScriptedEngine(truth), guard)):
            stream = program(question="go")
            async for piece in stream:
                text += getattr(piece, "chunk", "")
                if most is not None:
                    await stream.aclose()
                    break
        return text

    async def client(self, kind: str, url: str, guard: Guard) -> None:
        lm = dspy.LM("openai/scripted", api_base=url, api_key="no-key", engine=kind, cache=False, num_retries=0)
        await asyncio.to_thread(BoundedLM(lm, guard), "go")


DRIVER = DSPy
