"""Tools that do not end: at the deadline, where the episode is cancelled, and where the interpreter ends."""

import asyncio
import subprocess
import sys
import threading
import time

import pytest

from tape.agents.open_loop import OpenLoopAgent
from tape.budget import Budget
from tape.lm.scripted import ScriptedLM
from tape.tools import ToolEnvironment
from tape.trace import TraceWriter
from tests.tape.deadlines import TimeUp
from tests.tape.tools.misbehaving import ONE_CALL, SLACK, deaf, hanging, made, play, sums


@pytest.mark.parametrize("name", ["block", "swallow", "spin", "thread", "child", "generator", "awaitable"])
def test_a_tool_that_does_not_end_is_left_behind_at_the_deadline(
    time_up: TimeUp, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("tape.waiting.END_SECONDS", 0.1)
    began = time.monotonic()
    played = play(made(hanging(time_up)[name]), wall_seconds=0.05)
    assert time.monotonic() - began < SLACK
    assert (played.end_state, played.used["usd"]) == ("budget:wall_seconds", 500_000)
    assert name == "thread" or "the tool t" in played.detail
    assert name == "thread" or "was left behind" in played.detail


@pytest.mark.parametrize("later", [False, True], ids=["plain", "async"])
def test_the_owner_of_an_episode_cancels_it_whatever_the_tool_does(later: bool) -> None:
    release, begun = threading.Event(), threading.Event()

    def block() -> None:
        begun.set()
        release.wait()

    async def swallow() -> None:
        begun.set()
        await deaf()

    env = ToolEnvironment("task", [made(swallow if later else block)])
    trace = TraceWriter("e")

    async def owner() -> None:
        agent = OpenLoopAgent(ScriptedLM([ONE_CALL]))
        playing = asyncio.create_task(agent.arun(env, budget=Budget.of(usd=1, wall_seconds=600), trace=trace))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        playing.cancel()
        with pytest.raises(asyncio.CancelledError) as stopped:
            await playing
        assert "left behind" in "".join(getattr(stopped.value, "__notes__", ()))

    try:
        asyncio.run(owner())
    finally:
        release.set()
    assert trace.events[-1].model_dump()["result"]["end_state"] == "interrupted"
    assert sums(trace)["usd"] == 500_000


def test_a_tool_cleans_up_when_it_is_cancelled(time_up: TimeUp) -> None:
    steps = []

    async def tidy() -> None:
        time_up()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            steps.append("clean")

    played = play(made(tidy), wall_seconds=0.05)
    assert (played.end_state, played.used["usd"], steps) == ("budget:wall_seconds", 500_000, ["clean"])
    assert "left behind" not in played.detail


@pytest.mark.slow
def test_the_interpreter_ends_while_they_go_on() -> None:
    code = (
        "import logging, tape.waiting\n"
        "from tests.tape.tools.misbehaving import hanging, made, play\n"
        "tape.waiting.END_SECONDS = 0.1\n"
        "logging.disable()\n"  # failed calls are warnings
        "tools = hanging(lambda: None)\n"
        "for name in sorted(tools, key='spin'.__eq__):\n"  # the last of them keeps a core busy
        "    print(name, play(made(tools[name]), wall_seconds=0.05).end_state)\n"
        "    print(name, play(made(tools[name], timeout=0.05)).end_state)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert [line.split()[1] for line in ended.stdout.splitlines()] == ["budget:wall_seconds", "failure"] * 7
