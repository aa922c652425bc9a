"""Tools of a real MCP server over stdio, started by the test."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tape.agents.open_loop import OpenLoopAgent
from tape.agents.tape import TapeAgent
from tape.budget import Budget
from tape.errors import ConfigError, UnknownCostError
from tape.lm.scripted import ScriptedLM
from tape.tools import Tool, ToolEnvironment, ToolError, mcp_tools
from tape.tools.calls import call
from tests.tape.tools.helpers import script
from tests.tape.tools.hostile import Hostile, described, listing

pytest.importorskip("mcp", reason="the extra mcp is not installed")

SCRIPT = str(Path(__file__).parent / "mcp_server.py")
FREE: dict[str, Any] = {"usd": 0, "seconds": 0}


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def server(tmp_path: Path) -> Any:
    """The command of a server; afterwards none may be left."""
    file = tmp_path / "pid"
    yield [sys.executable, SCRIPT, str(file)]
    assert not file.exists() or not is_running(int(file.read_text()))


def quick(folder: Path) -> list[str]:
    """The command of a server with the same first tools that starts at once."""
    return Hostile(folder, listing(described("add"), described("multiply_quick"))).command


def inside(command: list[str], body: Callable[[list[Tool]], Awaitable[Any]], **settings: Any) -> Any:
    async def play() -> Any:
        async with mcp_tools(command, **settings) as tools:
            return await body(tools)

    return asyncio.run(play())


def test_tools_are_listed_with_schema_cost_and_quality(server: list[str]) -> None:
    async def body(tools: list[Tool]) -> dict[str, Tool]:
        return {item.name: item for item in tools}

    found = inside(
        server,
        body,
        costs={"multiply_quick": {"usd": "0.001"}, "multiply_exact": {"usd": "0.02", "seconds": 1}},
        quality={"multiply_quick": 0.5},
        variants={"multiply_quick": "multiply.quick", "multiply_exact": "multiply.exact"},
        reads=["say"],
        only=["multiply_quick", "multiply_exact", "add", "say"],
    )
    assert list(found) == ["add", "multiply.quick", "multiply.exact", "say"]
    assert found["add"].description == "Add two numbers."
    assert dict(found["multiply.exact"].worst) == {"steps": 1, "usd": 20_000, "seconds": 1000}
    assert (found["multiply.quick"].quality, found["say"].reads) == (0.5, True)
    # Nobody declared what adding costs: that is no zero.
    assert found["add"].worst["usd"] is found["add"].worst["seconds"] is None
    assert found["add"].worst["steps"] == 1


def test_calls_results_and_errors(server: list[str]) -> None:
    async def body(tools: list[Tool]) -> Any:
        env = ToolEnvironment("task", tools)
        env.reset(0)
        for made in (
            call("add", a=1),
            call("add", a="#1", b=10),
            call("paint", where={"x": 4}, colour="blue"),
            call("say", words=["one", "two"]),
            call("say", words=[]),
            call("refuse", why="I will not"),
        ):
            await env.astep(made.text)
        return env._state

    state = inside(server, body)
    painted = {"x": 4, "y": 0, "colour": "blue", "how": "thin", "tags": None}
    assert state.values() == [3, 13, painted, "one\ntwo", ""]
    assert [made.kind for made in state.failed] == ["refuse"]
    assert "refuse" in state.note


HINTED = {"look": "pure", "wipe": "destructive", "muddle": "pure", "append": "", "guess": "", "add": ""}
"""What the server's hints come to; a hint to destroy means nothing for a tool that is read only."""


@pytest.mark.parametrize(
    ("declared", "effects"),
    [
        ({}, {}),
        ({"pure": {"add": True, "wipe": True, "look": False}}, {"add": "pure", "wipe": "pure", "look": ""}),
        ({"pure": {"muddle": False}}, {"muddle": "destructive"}),
        ({"destructive": {"look": True, "append": True}}, {"look": "destructive", "append": "destructive"}),
        ({"destructive": {"wipe": False, "look": False}}, {"wipe": ""}),
        ({"pure": {"wipe": False}, "destructive": {"wipe": True}}, {}),
    ],
)
def test_hints_say_what_a_tool_does_and_declarations_go_before_them(
    tmp_path: Path, declared: dict[str, Any], effects: dict[str, str]
) -> None:
    hints: dict[str, dict[str, Any]] = {
        "look": {"readOnlyHint": True},
        "wipe": {"readOnlyHint": False, "destructiveHint": True},
        "muddle": {"readOnlyHint": True, "destructiveHint": True},
        "append": {"readOnlyHint": False, "destructiveHint": False},
        "guess": {"title": "Guess", "readOnlyHint": "yes"},
        "add": {},
    }
    tools = [{**described(name), "annotations": given} for name, given in hints.items()]
    command = Hostile(tmp_path, listing(*tools)).command
    assert inside(command, effects_of, **declared) == HINTED | effects


def test_a_real_servers_hints_are_read(server: list[str]) -> None:
    assert inside(server, effects_of, only=list(HINTED)) == HINTED


async def effects_of(tools: list[Tool]) -> dict[str, str]:
    return {item.name: "pure" * item.pure + "destructive" * item.destructive for item in tools}


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        ({"pure": {"add": True}, "destructive": {"add": True}}, "add: a pure tool changes nothing"),
        ({"pure": {"add": "yes"}}, "add: pure is True or False, got 'yes'"),
        ({"pure": ["add"]}, r"pure: give each of the server's names True or False, as \{NAME: True\}; got \['add'\]"),
        ({"destructive": "add"}, "destructive: give each of the server's names"),
        ({"pure": {"ad": True}}, "pure: .* has no tool 'ad'"),
        ({"destructive": {"ad": True}}, "destructive: .* has no tool 'ad'"),
    ],
)
def test_declarations_of_what_a_tool_does_that_cannot_be_are_refused(
    tmp_path: Path, declared: dict[str, Any], says: str
) -> None:
    async def body(tools: list[Tool]) -> None:
        raise AssertionError("it was accepted")

    with pytest.raises(ToolError, match=says):
        inside(quick(tmp_path), body, **declared)


def test_a_servers_tools_are_called_in_the_order_of_the_plan_unless_they_only_read(server: list[str]) -> None:
    plan: list[tuple[str, dict[str, Any]]] = [
        ("wipe", {}), ("append", {}), ("look", {}), ("look", {}), ("append", {}), ("look", {})
    ]  # fmt: skip

    async def body(tools: list[Tool]) -> Any:
        env = ToolEnvironment("task", tools)
        await OpenLoopAgent(ScriptedLM(script(plan))).arun(env)
        return env.answered

    assert inside(server, body) == ["wipe", "append", "look", "append", "look"]


def test_an_agent_plays_with_a_servers_tools(server: list[str]) -> None:
    plan = [("multiply.exact", {"a": 3, "b": 4}), ("add", {"a": "#1", "b": 1})]

    async def body(tools: list[Tool]) -> Any:
        env = ToolEnvironment("3 * 4 + 1", tools, budget=Budget.of(usd="0.05"), judge=lambda value: value == 13)
        return await TapeAgent(ScriptedLM(script(plan))).arun(env)

    result = inside(
        server,
        body,
        costs={"multiply_quick": {"usd": "0.001"}, "multiply_exact": {"usd": "0.02"}, "add": {"usd": "0.001"}},
        quality={"multiply_quick": 0.5, "multiply_exact": 1},
        variants={"multiply_quick": "multiply.quick", "multiply_exact": "multiply.exact"},
        only=["multiply_quick", "multiply_exact", "add"],
    )
    assert result.end_state == "success"
    assert result.used["usd"] == 21_000


def test_an_unknown_cost_under_a_cap_is_an_error_at_the_start(server: list[str]) -> None:
    async def body(tools: list[Tool]) -> None:
        await TapeAgent(ScriptedLM(["x"])).arun(ToolEnvironment("t", tools, budget=Budget.of(seconds=1)))

    with pytest.raises(UnknownCostError, match="'add' has an unknown cost in seconds"):
        inside(server, body)


def plan_of(name: str) -> ScriptedLM:
    return ScriptedLM([json.dumps({"calls": [{"tool": name, "arguments": {}}], "answer": "done"})])


def test_a_tool_that_never_answers_is_cancelled_and_the_server_is_still_there(server: list[str]) -> None:
    async def body(tools: list[Tool]) -> Any:
        env = ToolEnvironment("t", tools)
        result = await OpenLoopAgent(plan_of("hang")).arun(env, budget=Budget.of(wall_seconds=0.2))
        await env.astep(call("add", a=1, b=1).text)
        return result, env._state.values()

    result, values = inside(server, body)
    assert result.end_state == "budget:wall_seconds"
    assert values == [2]


def test_a_server_that_dies_is_a_failed_call(server: list[str]) -> None:
    async def body(tools: list[Tool]) -> Any:
        env = ToolEnvironment("t", tools)
        env.reset(0)
        await env.astep("die()")
        first = env._state.note
        await env.astep("add(a=1)")
        return first, env._state

    first, state = inside(server, body)
    assert "the MCP server" in first
    assert [made.kind for made in state.failed] == ["die", "add"]
    assert "the MCP server" in state.note


def test_what_is_raised_inside_comes_out_as_it_is(server: list[str]) -> None:
    async def body(tools: list[Tool]) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        inside(server, body)


@pytest.mark.filterwarnings("ignore:coroutine 'Agent.arun' was never awaited")
def test_tools_outlive_neither_their_server_nor_its_loop(server: list[str]) -> None:
    async def body(tools: list[Tool]) -> Any:
        env = ToolEnvironment("t", tools)
        with pytest.raises(ConfigError, match="another event loop"):
            OpenLoopAgent(plan_of("add")).run(env)
        return env, next(item for item in tools if item.name == "die")

    async def afterwards() -> str:
        async with mcp_tools(server) as tools:
            pass
        env = ToolEnvironment("t", tools)
        env.reset(0)
        await env.astep("die()")
        return env._state.note

    env, _ = inside(server, body)
    env.reset(0)
    env.step("die()")
    assert "another event loop" in env._state.note
    assert "has been stopped" in asyncio.run(afterwards())


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["no-such-program-anywhere"], "cannot be used: FileNotFoundError"),
        ([sys.executable, "-c", "raise SystemExit('out of order')"], "last words: out of order"),
        ([], "is a list"),
        ("python server.py", "is a list"),
    ],
)
def test_a_server_that_does_not_start_says_why(command: Any, says: str) -> None:
    async def body(tools: list[Tool]) -> None:
        raise AssertionError("it started")

    with pytest.raises(ToolError, match=says):
        inside(command, body)


def test_a_server_that_never_lists_its_tools_is_given_up(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    code = f"import os, sys; open({str(file)!r}, 'w').write(str(os.getpid())); sys.stdin.read()"

    async def body(tools: list[Tool]) -> None:
        raise AssertionError("it started")

    with pytest.raises(ToolError, match=r"has not listed its tools within 0\.5 s"):
        inside([sys.executable, "-c", code], body, start_seconds=0.5)
    assert not file.exists() or not is_running(int(file.read_text()))


@pytest.mark.parametrize("settings", [{"costs": {"ad": {"usd": 1}}}, {"variants": {"ad": "x"}}, {"only": ["ad"]}])
def test_declarations_for_tools_that_are_not_there_are_refused(tmp_path: Path, settings: dict[str, Any]) -> None:
    async def body(tools: list[Tool]) -> None:
        raise AssertionError("it was accepted")

    with pytest.raises(ToolError, match="has no tool 'ad'; it has add, multiply_quick"):
        inside(quick(tmp_path), body, **settings)


def test_no_package_is_needed() -> None:
    code = "import sys, tape.tools; sys.exit(any(name.split('.')[0] in ('mcp', 'anyio') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
