"""Served agents for the tests: one that looks up and buys, whose model is scripted, and what its tools get."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tape import TapeAgent, tool
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.serve.deps import Asked
from tape.tools import ToolContext

bought: list[str] = []
opened: list[str] = []
gate = asyncio.Event()


@tool(pure=True, usd="$0.001")
def price(ctx: ToolContext[dict[str, Any]], item: str) -> int:
    """The price of an item."""
    prices: dict[str, int] = ctx.deps["prices"]
    return prices[item]


@tool(usd="$0.01", destructive=True, key="item")
def order(ctx: ToolContext[dict[str, Any]], item: str) -> str:
    """Order an item."""
    bought.append(f"{item} for {ctx.deps['user']} {ctx.key}")
    return f"ordered {item} for {ctx.deps['user']}"


@tool(usd="$0.001")
async def wait(ctx: ToolContext[dict[str, Any]], name: str) -> str:
    """Wait until the test says so."""
    await gate.wait()
    return name


def _reply(request: Request, sample: int) -> str:
    assert not isinstance(request.prompt, str)
    task = request.prompt[-1].content.rpartition("Task: ")[2].partition("\nEnd with")[0]
    if task.startswith("Order"):
        return "answer(order('lamp'))"
    if task.startswith("Wait"):
        return "answer(wait('a'))"
    if task.startswith("Fail"):
        return "answer(price('desk'))"
    return f"answer({task!r})" if task.startswith("Say") else "answer(price('lamp'))"


def made() -> TapeAgent[dict[str, Any], Any]:
    """The agent."""
    return TapeAgent(ScriptedLM(_reply), tools=[price, order, wait], deps_type=dict)


agent = made()


@asynccontextmanager
async def deps(asked: Asked) -> AsyncIterator[dict[str, Any]]:
    """What its tools get, while a run lasts."""
    opened.append(asked.task)
    try:
        yield {"user": asked.metadata.get("user", asked.key), "prices": {"lamp": 30}}
    finally:
        opened.remove(asked.task)
