"""What a type checker knows of agents with tools: `mypy --strict` refuses each line whose comment ignores an error."""

from __future__ import annotations

from typing import Any, assert_type

from tape import ReactAgent, TapeAgent, ToolEnvironment
from tape.lm.scripted import ScriptedLM
from tape.protocols import Environment
from tape.protocols.result import EpisodeResult
from tape.tools import Tool, ToolContext, tool
from tests.tape.agents.office import Office, Orders, mail, orders


@tool(pure=True, usd=0)
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


@tool
def spoken(ctx: ToolContext[str], name: str) -> str:
    """Say a name."""
    return f"{ctx.deps}: {name}"


def test_types_follow_from_tools_deps_and_answer() -> None:
    assert_type(orders, Tool[Office])
    assert_type(spoken, Tool[str])
    agent = TapeAgent(ScriptedLM(["answer(n=1)"]), tools=[orders, mail, double], deps_type=Office, answer=Orders)
    assert_type(agent, TapeAgent[Office, Orders])
    result = agent.run("How many orders has Ann?", deps=Office())
    assert_type(result, EpisodeResult[Orders | None])
    assert_type(agent.run(ToolEnvironment("Double 2.", [double], answer=int)), EpisodeResult[int | None])
    other = ReactAgent(ScriptedLM(["answer(n=1)"]), tools=[double])
    assert_type(other.run("Double 2.", budget="3 steps").answer, Any | None)


def wrong() -> None:
    """Programs that a type checker refuses; they are not run."""
    TapeAgent(ScriptedLM([""]), tools=[spoken], deps_type=Office)  # type: ignore[misc]
    agent = TapeAgent(ScriptedLM([""]), tools=[orders], deps_type=Office, answer=Orders)
    agent.run("How many?", deps="ann")  # type: ignore[call-overload]
    agent.run("How many?", depth=Office())  # type: ignore[call-overload]
    agent.run("How many?", deps=Office()).answer.n  # type: ignore[union-attr]  # noqa: B018
    env, numbers = ToolEnvironment("t", [double], budget="$1"), ToolEnvironment("t", [double], answer=list[int])
    agent.run(env, bugdet="$1")  # type: ignore[call-overload]
    agent.run(env, trace=3)  # type: ignore[call-overload]
    agent.plan(env, alternative=1)  # type: ignore[call-arg]
    paid: int = agent.run(numbers).answer  # type: ignore[assignment]
    del paid


async def right(agent: TapeAgent, env: Environment, other: ToolEnvironment) -> EpisodeResult:
    """A program that a type checker takes; it is not run."""
    assert_type(agent.run(ToolEnvironment("t", [double], answer=list[int])).answer, list[int] | None)
    assert_type((await agent.arun(ToolEnvironment("t", [double], answer=int | str))).answer, Any)
    total: float = agent.run(env, budget={"usd": "$1"}, trace="run.jsonl").answer
    agent.plan(env, budget="$1")
    return await agent.arun(other) if total else EpisodeResult(end_state="failure", success=False)
