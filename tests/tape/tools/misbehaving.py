"""Tools that misbehave, and episodes of one call of such a tool."""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from tape.agents.open_loop import OpenLoopAgent
from tape.budget import Budget, Resources
from tape.lm.scripted import ScriptedLM
from tape.protocols.result import EpisodeResult
from tape.reading import parse_json
from tape.tools import Tool, ToolEnvironment
from tape.tools.calls import LONGEST_VALUE
from tape.tools.making import make_tool
from tape.trace import LedgerEvent, TraceWriter
from tests.tape.deadlines import TimeUp
from tests.tape.tools.helpers import program

SLACK = 10.0
"""Seconds beyond a deadline that no episode may take, on however busy a machine."""


ONE_CALL = "r1 = t()\nanswer(r1)"
"""The program that calls the tool t."""


class Mute(Exception):
    """An exception that cannot even be printed."""

    def __str__(self) -> str:
        raise SystemExit("mute")


class Unprintable:
    """An object that cannot be printed."""

    def __repr__(self) -> str:
        raise ValueError("no")


def made(function: Callable[..., Any], **settings: Any) -> Tool:
    function.__name__, function.__doc__ = "t", "Do it."
    return make_tool(function, **({"usd": "0.5"} | settings if "cost" not in settings else settings))


def raising(error: BaseException, *, later: bool) -> Tool:
    def now() -> None:
        raise error

    async def soon() -> None:
        await asyncio.sleep(0)
        raise error

    return made(soon if later else now)


def returning(value: Callable[[], Any], *, later: bool = False) -> Tool:
    def now() -> Any:
        return value()

    async def soon() -> Any:
        return value()

    return made(soon if later else now)


def play(item: Tool, *, final: Any = "#1", arguments: dict[str, Any] | None = None, **caps: Any) -> EpisodeResult:
    plan = program([(item.name, arguments or {})], final)
    env = ToolEnvironment("task", [item])
    played = OpenLoopAgent(ScriptedLM([plan])).run(env, budget=Budget.of(**({"usd": 1} | caps)))
    require_writable(played)
    return played


def require_writable(played: EpisodeResult) -> None:
    text = json.dumps(played.model_dump(mode="json"), allow_nan=False)
    assert EpisodeResult.model_validate(parse_json(text, "result")) == played


ERRORS: list[BaseException] = [
    asyncio.CancelledError(), SystemExit(3), GeneratorExit(), StopAsyncIteration(), Mute(), RecursionError(),
    MemoryError(), BaseExceptionGroup("several", [SystemExit(1), ValueError("x")]),
]  # fmt: skip


def cyclic() -> list[Any]:
    values: list[Any] = []
    values.append(values)
    return values


def endless() -> Iterator[int]:
    number = 0
    while True:
        yield (number := number + 1)


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


async def coroutine() -> int:
    return 7


async def agen() -> Any:
    yield 1


RESULTS: list[tuple[str, Callable[[], Any], str]] = [
    ("cyclic", cyclic, "holds itself"), ("endless generator", endless, "more than 200000 values"),
    ("gigantic text", lambda: "x" * 2 * LONGEST_VALUE, f"more than {LONGEST_VALUE} bytes"),
    ("gigantic bytes", lambda: b"x" * 2 * LONGEST_VALUE, f"more than {LONGEST_VALUE} bytes"),
    ("many escapes", lambda: "\x00" * (LONGEST_VALUE - 10), "bytes as JSON"),
    ("deep", lambda: nested(51), "more than 50 lists"), ("very deep", lambda: nested(100_000), "more than 50 lists"),
    ("5,000 digits", lambda: 10**5000, "300 digits"), ("as a key", lambda: {10**5000: 1}, "300 digits"),
    ("no number", lambda: [float("nan")], "no JSON"), ("lone surrogate", lambda: {"a": "\ud800"}, "no JSON"),
    ("lone surrogate as a key", lambda: {"\ud800": 1}, "surrogates not allowed"),
    ("unprintable", Unprintable, "Unable to serialize"), ("a class", lambda: Unprintable, "Unable to serialize"),
    ("an asynchronous generator", agen, "Unable to serialize"),
]  # fmt: skip


class Odd:
    """A cost that two functions make."""

    def __init__(self, actual: Callable[[], Any], worst: Callable[[], Any] = lambda: Resources.of(usd="0.5")) -> None:
        self._actual, self._worst = actual, worst

    def worst(self, arguments: Any = None) -> Any:
        return self._worst()

    def actual(self, arguments: Any, answer: Any) -> Any:
        return self._actual()


def thrown(error: BaseException) -> Any:
    raise error


async def deaf() -> None:
    """Go on, however often it is cancelled."""
    while True:
        try:
            await asyncio.sleep(3600)
        except BaseException:
            continue


def hanging(time_up: TimeUp) -> dict[str, Callable[[], Any]]:
    def block() -> None:
        time_up()
        threading.Event().wait()

    async def swallow() -> None:
        time_up()
        await deaf()

    async def spin() -> None:
        time_up()
        while True:
            try:
                await asyncio.sleep(0)
            except BaseException:
                continue

    async def thread() -> None:
        time_up()
        await asyncio.to_thread(threading.Event().wait)

    async def child() -> None:
        time_up()
        await asyncio.gather(asyncio.create_task(deaf()))

    def generator() -> Iterator[int]:
        time_up()
        yield 1
        threading.Event().wait()

    def awaitable() -> Any:
        return swallow()

    return {
        "block": block, "swallow": swallow, "spin": spin, "thread": thread, "child": child, "generator": generator,
        "awaitable": awaitable,
    }  # fmt: skip


def sums(trace: TraceWriter) -> Counter[str]:
    """The amounts settled, by the events."""
    counts: Counter[str] = Counter()
    for event in trace.events:
        if isinstance(event, LedgerEvent) and event.what == "settle":
            counts.update({kind: count or 0 for kind, count in event.amounts.items()})
    return counts
