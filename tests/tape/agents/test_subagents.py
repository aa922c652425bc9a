"""Agents as tools of others: a part of the budget, approvals passed up, traces linked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tape import TapeAgent, tool
from tape.errors import ConfigError
from tape.lm.scripted import ScriptedLM
from tape.tools import ToolContext
from tape.trace import StartedEvent, read_trace
from tests.tape.agents.office import Office, agent


def boss(clerk: Any, program: str = "a = clerk(task='Mail Ann.')\nanswer(a['n'])") -> TapeAgent[Office, Any]:
    """An agent with one tool, the other agent."""
    return TapeAgent(ScriptedLM([program]), tools=[clerk], deps_type=Office)


def test_a_sub_agent_pays_from_its_part_and_gets_deps(tmp_path: Path) -> None:
    office, trace = Office(), tmp_path / "boss.jsonl"
    clerk = agent().as_tool("clerk", budget="$0.05, 5 steps, 3000 tokens", description="Mails.", traces=tmp_path)
    result = boss(clerk).run("Have Ann mailed.", deps=office, budget="$0.20, 20 steps, 20000 tokens", trace=trace)
    assert (result.success, result.answer) == (True, 3)
    assert [to for to, _ in office.sent] == ["ann"]
    assert result.used["usd"] == 10_000
    assert result.used["steps"] == 2 + 3, "two of its own, three of the sub-agent"
    [linked] = [path for path in tmp_path.glob("*.jsonl") if path != trace]
    own, theirs = next(iter(read_trace(trace))), next(iter(read_trace(linked)))
    assert isinstance(own, StartedEvent)
    assert isinstance(theirs, StartedEvent)
    assert theirs.caller == f"{own.run}/1"
    assert theirs.budget == {"usd": 50_000, "steps": 5, "tokens": 3000}


def test_a_part_that_does_not_fit_is_not_given() -> None:
    office = Office()
    clerk = agent().as_tool("clerk", budget="$0.05, 5 steps")
    result = boss(clerk).run("Have Ann mailed.", deps=office, budget="$0.04, 20 steps")
    assert result.end_state == "infeasible"
    assert office.sent == []


def test_a_sub_agent_that_fails_says_why_and_is_booked_at_what_it_used() -> None:
    clerk = agent("answer(n=orders('eve'))").as_tool("clerk", budget="$0.50, 9 steps")
    result = boss(clerk).run("Have Eve mailed.", deps=Office(), budget="$2, 40 steps", max_turns=3)
    assert not result.success
    assert "clerk has not done it" in result.failed_calls[0].error
    assert result.used.get("usd", 0) == 0, "not its worst case of half a dollar"


def test_approvals_are_passed_up() -> None:
    asked: list[str] = []
    clerk = agent("kept = close_account('ann')\nanswer(n=len(kept))").as_tool("clerk", budget="9 steps")
    result = boss(clerk).run("Close it.", deps=Office(), approve=lambda request: asked.append(request.shown) or True)  # type: ignore[func-returns-value]
    assert result.answer == len("closed")
    assert asked == ['clerk: close_account(name="ann")', "clerk: Really close ann?"]


def test_an_agent_without_tools_or_without_a_budget_is_no_tool() -> None:
    with pytest.raises(ConfigError, match="clerk: an agent that is a tool has tools of its own"):
        TapeAgent(ScriptedLM([""])).as_tool("clerk", budget="5 steps")
    with pytest.raises(ConfigError, match="clerk: a sub-agent needs a budget"):
        agent().as_tool("clerk", budget=None)
    with pytest.raises(ConfigError, match=r"clerk takes a context with deps of the type .*Office"):
        TapeAgent(ScriptedLM([""]), tools=[agent().as_tool("clerk", budget="5 steps")], deps_type=int)


def test_leaving_a_run_ends_the_one_below_and_frees_what_it_held() -> None:
    import asyncio

    begun: list[str] = []
    ended: list[str] = []

    @tool(usd="$0.01")
    async def wait(ctx: ToolContext[Any], name: str) -> str:
        """Wait."""
        begun.append(name)
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(name)
        return name

    clerk: TapeAgent[Any, Any] = TapeAgent(ScriptedLM(["answer(wait('a'))"]), tools=[wait])
    lead: TapeAgent[Any, Any] = TapeAgent(
        ScriptedLM(["answer(clerk(task='Wait.'))"]), tools=[clerk.as_tool("clerk", budget="$0.05, 5 steps")]
    )

    async def cancelled() -> None:
        run = asyncio.create_task(lead.arun("Have it wait.", budget="$0.10, 9 steps"))
        while not begun:
            await asyncio.sleep(0.01)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(cancelled())
    assert begun == ended == ["a"]
