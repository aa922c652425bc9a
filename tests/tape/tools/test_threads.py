"""The threads in which tools are called: beside other agents, for what belongs to a thread, and up to a time limit."""

import asyncio
import contextvars
import json
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from envs.tool_chains.typed.environment import TypedEnvironment
from tape.agents.tape import TapeAgent
from tape.budget import Budget
from tape.lm.scripted import ScriptedLM
from tape.tools import ToolEnvironment, ToolError, tool
from tests.tape.tools.helpers import script
from tests.tape.tools.misbehaving import deaf, made

USER: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="nobody")


def test_tools_of_five_agents_in_one_loop_run_at_once() -> None:
    all_five = threading.Barrier(5)
    seen: set[str] = set()

    @tool()
    def meet(name: str) -> str:
        """Wait for the others."""
        all_five.wait(timeout=60)
        seen.add(f"{name} for {USER.get()}, {threading.current_thread() is threading.main_thread()}")
        return name

    async def main() -> list[Any]:
        USER.set("Ada")
        agents = [TapeAgent(ScriptedLM(script([("meet", {"name": name})]))) for name in "abcde"]
        return await asyncio.gather(*(agent.arun(ToolEnvironment("Meet.", [meet])) for agent in agents))

    results = asyncio.run(main())
    assert [(result.end_state, result.answer) for result in results] == [("success", name) for name in "abcde"]
    assert seen == {f"{name} for Ada, False" for name in "abcde"}


@pytest.mark.parametrize("wall", [{}, {"wall_seconds": 600}], ids=["", "deadline"])
@pytest.mark.parametrize("how", ["run", "arun", "notebook"])
@pytest.mark.parametrize("thread", ["own", "caller"])
def test_a_connection_to_sqlite_works_or_the_failure_says_what_to_declare(
    thread: Any, how: str, wall: dict[str, int], tmp_path: Path
) -> None:
    shop = sqlite3.connect(tmp_path / "shop.sqlite")
    shop.execute("create table stock (fruit text, pieces integer)")
    shop.execute("insert into stock values ('pears', 3)")

    @tool(pure=True, usd="0.01", thread=thread)
    def count(fruit: str) -> int:
        """How many there are."""
        [[pieces]] = shop.execute("select pieces from stock where fruit = ?", [fruit])
        return int(pieces)

    agent = TapeAgent(ScriptedLM(script([("count", {"fruit": "pears"})])), ablations={"resample": 0})
    env = ToolEnvironment("How many pears?", [count], budget=Budget.of(usd=1, **wall))

    async def cell() -> Any:
        return agent.run(env) if how == "notebook" else await agent.arun(env)

    result = agent.run(env) if how == "run" else asyncio.run(cell())
    shop.close()
    if thread == "caller" or (how != "arun" and not wall):
        assert (result.end_state, result.answer) == ("success", 3)
    else:
        assert not result.success
        assert result.failed_calls[0].error == (
            "ProgrammingError: SQLite objects created in a thread can only be used in that same thread; declare the "
            'tool with @tool(thread="caller")'
        )


@pytest.mark.parametrize("later", [False, True], ids=["plain", "async"])
@pytest.mark.parametrize("wall", [{}, {"wall_seconds": 600}], ids=["", "deadline"])
def test_a_call_that_takes_longer_than_its_timeout_has_failed_and_the_episode_goes_on(
    later: bool, wall: dict[str, int]
) -> None:
    release = threading.Event()

    def block() -> None:
        release.wait()

    async def swallow() -> None:
        await deaf()

    slow = made(swallow if later else block, variant="slow", quality=1.0, timeout=0.05, pure=True)
    quick = made(lambda: 7, variant="quick", quality=0.5, usd="0.1", timeout=600, pure=True)
    model = ScriptedLM(script([("t.slow", {})], [("t.quick", {})]))
    try:
        result = TapeAgent(model).run(ToolEnvironment("task", [quick, slow]), budget=Budget.of(usd=1, **wall))
    finally:
        release.set()
    assert (result.end_state, result.answer) == ("success", 7)
    [failed] = result.failed_calls  # the quick one is of less quality
    assert failed.error.startswith("it took longer than its timeout of 0.05 s; the tool t.slow ")
    assert failed.error.endswith("was left behind" + ("" if later else " in its thread"))
    assert result.used["usd"] == 600_000  # the slow one is booked at what it declares


def test_a_typed_tool_has_a_timeout_too() -> None:
    def wait(word: str) -> str:
        threading.Event().wait()
        return word

    env = TypedEnvironment([made(wait, takes="word", gives="echo", timeout=0.05)], have={"word": "a"}, want="echo")
    env.reset(0)
    _, used = env.step("t()")
    assert (used["usd"], env.called) == (500_000, [])
    assert "longer than its timeout of 0.05 s" in env.domain.render(env._state)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"timeout": value}, "t: timeout is a number of seconds above 0, for instance 5, got")
        for value in (0, -1, float("nan"), float("inf"), True, "5 s")
    ]
    + [
        ({"thread": "loop"}, 't: thread is "own" or "caller", got \'loop\''),
        ({"thread": "caller", "timeout": 5}, 't: a call with thread="caller" cannot be given up'),
    ],
)
def test_a_wrong_time_or_place_is_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ToolError) as caught:
        made(lambda: json, **settings)
    assert str(caught.value).startswith(says)
