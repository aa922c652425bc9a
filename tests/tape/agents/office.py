"""An agent with tools for the tests of tasks in words: it looks up orders and sends mails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from tape import TapeAgent, tool
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.tools import ToolContext


@dataclass
class Office:
    """What a request hands its tools.

    Attributes:
        orders: How many orders each customer has.
        sent: The mails that were sent, with the context of each call.
        failing: So many mails fail before one is sent.
    """

    orders: dict[str, int] = field(default_factory=lambda: {"ann": 3, "bob": 1})
    sent: list[tuple[str, ToolContext[Any]]] = field(default_factory=list)
    failing: int = 0


class Orders(BaseModel):
    """An answer."""

    n: int


@tool(pure=True, usd=0)
def orders(ctx: ToolContext[Office], name: str) -> int:
    """How many orders a customer has."""
    return ctx.deps.orders[name]


@tool(usd="$0.01", key="to")
async def mail(ctx: ToolContext[Office], to: str, text: str) -> str:
    """Send a mail."""
    ctx.deps.sent.append((to, ctx))
    if len(ctx.deps.sent) <= ctx.deps.failing:
        raise OSError("the server is busy")
    return "sent"


@tool(usd=0, destructive=True)
async def close_account(ctx: ToolContext[Office], name: str) -> str:
    """Close a customer's account."""
    return "closed" if await ctx.ask_approval(f"Really close {name}?") else "kept"


TOOLS = [orders, mail, close_account]
PROGRAM = "n = orders('ann')\nmail(to='ann', text='You have orders.')\nanswer(n=n)"


def asked_of(request: Request) -> str:
    """The last message of a prompt."""
    assert not isinstance(request.prompt, str)
    return request.prompt[-1].content


def agent(
    program: str | Sequence[str] | Callable[[Request, int], str] = PROGRAM, prompts: list[str] | None = None,
    **options: Any,
) -> TapeAgent[Office, Orders]:  # fmt: skip
    """An agent of the office whose scripted model writes this program, or these one after the other."""
    waiting = [] if isinstance(program, str) or callable(program) else [*program]

    def reply(request: Request, sample: int) -> str:
        assert not isinstance(request.prompt, str)
        if prompts is not None:
            prompts.append("\n".join(f"{message.role}: {message.content}" for message in request.prompt))
        if callable(program):
            return program(request, sample)
        if isinstance(program, str):
            return program
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    given: dict[str, Any] = {"tools": TOOLS, "deps_type": Office, "answer": Orders} | options
    return TapeAgent(ScriptedLM(reply), **given)
