"""Synchronous wrappers inside a running event loop, as in a notebook, and Ctrl-C wherever they wait."""

import asyncio
import contextvars
import json
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tape.agents.tape import TapeAgent
from tape.budget import Budget
from tape.cli.main import main
from tape.lm.cache import CachedLM
from tape.lm.scripted import ScriptedLM
from tape.protocols.result import EpisodeResult
from tape.tools import ToolEnvironment, tool
from tape.trace import read_trace
from tape.waiting import call_waiting, one_loop, run_sync
from tests.tape.tools.helpers import TOOLS, script

PLAN: list[tuple[str, dict[str, Any]]] = [("add", {"a": 1, "b": 2})]
MARK: contextvars.ContextVar[str] = contextvars.ContextVar("mark", default="none")


def in_a_loop(call: Any) -> Any:
    """Make a synchronous call where an event loop runs, as a cell of a notebook does."""

    async def cell() -> Any:
        return call()

    return asyncio.run(cell())


def environment(**caps: Any) -> ToolEnvironment:
    return ToolEnvironment("1 + 2?", TOOLS, budget=Budget.of(**caps))


def test_an_episode_is_the_same_with_and_without_a_running_loop() -> None:
    def play() -> dict[str, Any]:
        result = TapeAgent(ScriptedLM(script(PLAN))).run(environment(usd=1))
        return result.model_dump(exclude={"wall_seconds", "solver_seconds"})

    before = signal.getsignal(signal.SIGINT)
    assert play() == in_a_loop(play)
    assert play()["end_state"] == "success"
    assert "tape" not in {thread.name for thread in threading.enumerate()}
    assert signal.getsignal(signal.SIGINT) is before


def test_tools_are_called_in_the_thread_that_waits() -> None:
    db = sqlite3.connect(":memory:")  # can be used in its own thread only
    seen: list[tuple[threading.Thread, str]] = []

    @tool()
    def query(sql: str) -> int:
        """Ask the data base."""
        seen.append((threading.current_thread(), MARK.get()))
        return int(db.execute(sql).fetchone()[0])

    def cell() -> EpisodeResult:
        MARK.set("the cell's")
        plan = [("query", {"sql": "select 6 * 7"})]
        return TapeAgent(ScriptedLM(script(plan))).run(ToolEnvironment("?", [query]))

    result = in_a_loop(cell)
    assert (result.end_state, result.answer) == ("success", 42)
    assert seen == [(threading.main_thread(), "the cell's")]


def test_an_agent_inside_a_tool_of_an_agent(tmp_path: Path) -> None:
    @tool()
    def delegate(task: str) -> float:
        """Let another agent do it."""
        answer: float = TapeAgent(ScriptedLM(script(PLAN))).run(environment()).answer
        return answer

    def play() -> Any:
        model = CachedLM(ScriptedLM(script([("delegate", {"task": "1 + 2"})])), tmp_path / "cache.sqlite")
        env = ToolEnvironment("?", [delegate])
        env.reset(0)
        env.step('delegate(task="1 + 2")')
        return TapeAgent(model).run(env).answer

    assert play() == in_a_loop(play) == 3


def test_a_run_of_the_command_line_inside_a_loop(tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text(json.dumps(["plan R"]))
    command = ["run", "sokoban", "--levels", "easy", "--limit", "1", "--agent", "open_loop"]
    command += ["--model", f"scripted:{tmp_path / 'script.json'}"]
    assert in_a_loop(lambda: main([*command, "--quiet", "--out", str(tmp_path / "run")])) == 0
    assert len((tmp_path / "run" / "episodes.jsonl").read_text().splitlines()) == 1


def test_what_a_coroutine_raises_and_returns_comes_out() -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise KeyError("mine")

    async def works(value: int) -> int:
        return await call_waiting(lambda: value + 1)

    def stops() -> None:
        raise StopIteration

    for call in (lambda: run_sync(fails()), lambda: in_a_loop(lambda: run_sync(fails()))):
        with pytest.raises(KeyError, match="mine"):
            call()
    with pytest.raises(RuntimeError, match="StopIteration"):
        in_a_loop(lambda: run_sync(call_waiting(stops)))

    def several() -> list[int]:
        with one_loop() as run_here:
            return [run_here(works(value)) for value in range(3)]

    assert several() == in_a_loop(several) == [1, 2, 3]


def test_calls_come_back_to_the_one_who_waits_from_other_threads_too() -> None:
    async def outer() -> tuple[str, str]:
        mine = await call_waiting(lambda: threading.current_thread().name)

        async def inner() -> str:
            return await call_waiting(lambda: threading.current_thread().name)

        # A thread that has the context but waits by itself must not use the other one, which may be busy.
        return mine, await asyncio.to_thread(lambda: run_sync(inner()))

    mine, theirs = in_a_loop(lambda: run_sync(outer()))
    assert mine == threading.main_thread().name
    assert theirs != mine


INTERRUPTED = """
import asyncio, os, signal, sys, threading, time
from pathlib import Path
from tape.agents.tape import TapeAgent
from tape.budget import Budget, Ledger
from tape.lm.scripted import ScriptedLM
from tape.tools import ToolEnvironment, tool

folder = Path(sys.argv[1])

def ctrl_c():
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()

@tool(usd="0.01")
def blocks() -> int:
    "Never comes back."
    ctrl_c()
    time.sleep(1000)

@tool(usd="0.01")
async def waits() -> int:
    "Never comes back."
    ctrl_c()
    await asyncio.sleep(1000)

@tool(usd="0.01")
def counts(number: int) -> int:
    "Is never called."
    raise AssertionError

asked = []

def reply(request, sample):
    if what == "plans" and not asked:
        ctrl_c()
    asked.append(request)
    call = "counts('no number')" if what == "plans" else f"{what}()"
    return f"answer({call})" if request.role == "plan" else "right"

def play():
    env = ToolEnvironment("?", [blocks, waits, counts])
    trace = folder / f"{place}-{what}.jsonl"
    try:
        if place == "await":
            asyncio.run(agent.arun(env, trace=trace, parent=outer))
        else:
            agent.run(env, trace=trace, parent=outer)
    except KeyboardInterrupt:
        print("interrupted", f"{place}-{what}", outer.used["usd"], len(outer.reserved), threading.active_count())

async def cell():
    if place == "notebook":  # whose kernel has Python's own handler set while a cell runs
        signal.signal(signal.SIGINT, signal.default_int_handler)
    play()

for place, what in (pair.split("-") for pair in sys.argv[2:]):
    asked.clear()
    outer = Ledger(Budget.of(usd=1), name="outer")
    agent = TapeAgent(ScriptedLM(reply), num_plans=1, ablations={"extend": 0, "resample": 10**9, "score": "ends"})
    play() if place in ("script", "await") else asyncio.run(cell())
print("and on")
"""
PLACES = ("script-plans", "script-blocks", "loop-waits", "loop-blocks", "notebook-waits", "await-plans", "await-blocks")
"""Where an agent is interrupted, and what it does then; the last leaves a thread behind."""


@pytest.mark.slow
def test_ctrl_c_ends_an_episode_at_once_and_in_order(tmp_path: Path) -> None:
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path), *PLACES]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    # What an interrupted call used is unknown, so all of it is booked.
    spent = {place: 0 if place.endswith("plans") else 10_000 for place in PLACES}
    threads = dict.fromkeys(PLACES, 1) | {PLACES[-1]: 2}
    said = [f"interrupted {place} {spent[place]} 0 {threads[place]}" for place in PLACES]
    assert done.stdout.splitlines() == [*said, "and on"], done.stderr
    assert "Traceback" not in done.stderr
    for place in PLACES:
        [*_, last] = read_trace(tmp_path / f"{place}.jsonl")
        assert last.model_dump()["result"]["end_state"] == "interrupted"
        assert last.model_dump()["result"]["used"].get("usd", 0) == spent[place]


def test_the_end_of_a_loop_waits_neither_for_threads_nor_for_tasks_that_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tape.waiting.END_SECONDS", 0.05)
    ended: list[str] = []

    async def deaf() -> None:
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                ended.append("no")

    async def tidy() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0)
            ended.append("clean")

    async def body() -> int:
        loop = asyncio.get_running_loop()
        loop.run_in_executor(None, threading.Event().wait)
        tasks = [asyncio.create_task(deaf()), asyncio.create_task(tidy())]
        assert await asyncio.to_thread(lambda: 6) == 6
        with pytest.raises(SystemExit):
            await asyncio.to_thread(sys.exit, 3)
        await asyncio.sleep(0)
        assert len(tasks) == 2
        return 7

    assert run_sync(body()) == 7
    assert sorted(ended) == ["clean", "no"]
    assert in_a_loop(lambda: run_sync(body())) == 7
    with one_loop() as run:
        assert run(body()) == 7
