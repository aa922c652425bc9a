"""Tools of a real MCP server over stdio, started by the test."""

import asyncio
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
from tests.tape.tools.helpers import program, script
from tests.tape.tools.hostile import Hostile, described, is_running, listing, never

pytest.importorskip("mcp", reason="the extra mcp is not installed")

SCRIPT = str(Path(__file__).parent / "mcp_server.py")
FREE: dict[str, Any] = {"usd": 0, "seconds": 0}


def quick(folder: Path) -> list[str]:
    """The command of a server with the same first tools that starts at once."""
    return Hostile(folder, listing(described("add"), described("multiply_quick"))).command


def plan_of(name: str) -> ScriptedLM:
    return ScriptedLM([program([(name, {})])])


def inside(command: list[str], body: Callable[[list[Tool]], Awaitable[Any]], **settings: Any) -> Any:
    async def play() -> Any:
        async with mcp_tools(command, **settings) as tools:
            return await body(tools)

    return asyncio.run(play())


COSTS = {"multiply_quick": {"usd": "0.001"}, "multiply_exact": {"usd": "0.02", "seconds": 1}, "add": {"usd": "0.001"}}


async def listed(tools: dict[str, Tool]) -> None:
    assert [*tools][:4] == ["add", "multiply.quick", "multiply.exact", "paint"]
    assert tools["add"].description == "Add two numbers."
    assert dict(tools["multiply.exact"].worst) == {"steps": 1, "usd": 20_000, "seconds": 1000}
    assert (tools["multiply.quick"].quality, tools["guess"].reads) == (0.5, True)
    assert tools["say"].worst["usd"] is None  # an undeclared price is no zero
    assert tools["say"].worst["steps"] == 1
    assert await effects_of([tools[name] for name in HINTED]) == HINTED


async def called(tools: dict[str, Tool]) -> None:
    env = ToolEnvironment("task", [*tools.values()])
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
    state = env._state
    painted = {"x": 4, "y": 0, "colour": "blue", "how": "thin", "tags": None}
    assert state.values() == [3, 13, painted, "one\ntwo", ""]
    assert [made.kind for made in state.failed] == ["refuse"]
    assert "refuse" in state.note


async def called_in_the_order_of_the_plan_unless_they_only_read(tools: dict[str, Tool]) -> None:
    plan = [(name, dict[str, Any]()) for name in ("wipe", "append", "look", "look", "append", "look")]
    env = ToolEnvironment("task", [*tools.values()])
    results = [f"#{number}" for number in range(1, 7)]  # so that none is left out
    await OpenLoopAgent(ScriptedLM(script(plan, answers=[results]))).arun(env)
    assert env.answered[-1] == ["wipe", "append", "look", "append", "look"]


async def played(tools: dict[str, Tool]) -> None:
    plan = [("multiply.exact", {"a": 3, "b": 4}), ("add", {"a": "#1", "b": 1})]
    few = [tools[name] for name in ("multiply.quick", "multiply.exact", "add")]
    env = ToolEnvironment("3 * 4 + 1", few, budget=Budget.of(usd="0.05"), judge=lambda value: value == 13)
    result = await TapeAgent(ScriptedLM(script(plan))).arun(env)
    assert (result.end_state, result.used["usd"]) == ("success", 21_000)


async def cancelled_where_it_never_answers(tools: dict[str, Tool]) -> None:
    env = ToolEnvironment("t", [*tools.values()])
    result = await OpenLoopAgent(plan_of("hang")).arun(env, budget=Budget.of(wall_seconds=0.2))
    assert result.end_state == "budget:wall_seconds"
    await env.astep(call("add", a=1, b=1).text)
    assert env._state.values() == [2], "the server is still there"


async def failed_where_it_dies(tools: dict[str, Tool]) -> None:
    env = ToolEnvironment("t", [*tools.values()])
    env.reset(0)
    for action in ("die()", "add(a=1)"):
        await env.astep(action)
        assert "the MCP server" in env._state.note
    assert [made.kind for made in env._state.failed] == ["die", "add"]


def test_a_server_of_the_official_sdk(tmp_path: Path) -> None:
    file = tmp_path / "pid"

    async def body(tools: list[Tool]) -> None:
        named = {item.name: item for item in tools}
        await listed(named)
        await called(named)
        await called_in_the_order_of_the_plan_unless_they_only_read(named)
        await played(named)
        await cancelled_where_it_never_answers(named)
        await failed_where_it_dies(named)

    variants = {"multiply_quick": "multiply.quick", "multiply_exact": "multiply.exact"}
    quality = {"multiply_quick": 0.5, "multiply_exact": 1}
    inside([sys.executable, SCRIPT, str(file)], body, costs=COSTS, quality=quality, variants=variants, reads=["guess"])
    assert not is_running(int(file.read_text()))


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
def test_hints_declare_what_a_tool_does_and_declarations_go_before_them(
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


async def effects_of(tools: list[Tool]) -> dict[str, str]:
    return {item.name: "pure" * item.pure + "destructive" * item.destructive for item in tools}


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"pure": {"add": True}, "destructive": {"add": True}}, "add: a pure tool changes nothing"),
        ({"pure": {"add": "yes"}}, "add: pure is True or False, got 'yes'"),
        ({"pure": ["add"]}, r"pure: give each of the server's names True or False, as \{NAME: True\}; got \['add'\]"),
        ({"destructive": "add"}, "destructive: give each of the server's names"),
        ({"pure": {"ad": True}}, "pure: .* has no tool 'ad'"),
        ({"destructive": {"ad": True}}, "destructive: .* has no tool 'ad'"),
        ({"costs": {"ad": {"usd": 1}}}, "has no tool 'ad'; it has add, multiply_quick"),
        ({"variants": {"ad": "x"}}, "has no tool 'ad'; it has add, multiply_quick"),
        ({"only": ["ad"]}, "has no tool 'ad'; it has add, multiply_quick"),
    ],
)
def test_declarations_that_cannot_be_are_refused(tmp_path: Path, declared: dict[str, Any], message: str) -> None:
    with pytest.raises(ToolError, match=message):
        inside(quick(tmp_path), never, **declared)


def test_an_unknown_cost_under_a_cap_is_an_error_at_the_start(tmp_path: Path) -> None:
    async def body(tools: list[Tool]) -> None:
        await TapeAgent(ScriptedLM(["x"])).arun(ToolEnvironment("t", tools, budget=Budget.of(usd=1)))

    with pytest.raises(UnknownCostError, match="add costs an unknown amount of usd"):
        inside(quick(tmp_path), body)


@pytest.mark.filterwarnings("ignore:coroutine 'Agent.arun' was never awaited")
def test_tools_outlive_neither_their_server_nor_its_loop(tmp_path: Path) -> None:
    async def body(tools: list[Tool]) -> ToolEnvironment:
        env = ToolEnvironment("t", tools)
        with pytest.raises(ConfigError, match="another event loop"):
            OpenLoopAgent(plan_of("add")).run(env)
        return env

    async def afterwards() -> str:
        async with mcp_tools(quick(tmp_path)) as tools:
            pass
        env = ToolEnvironment("t", tools)
        env.reset(0)
        await env.astep("add()")
        return env._state.note

    env = inside(quick(tmp_path), body)
    env.reset(0)
    env.step("add()")
    assert "another event loop" in env._state.note
    assert "has been stopped" in asyncio.run(afterwards())


def test_names_that_programs_have_for_something_else_get_others(tmp_path: Path) -> None:
    async def body(tools: list[Tool]) -> list[str]:
        ToolEnvironment("t", tools)
        return [f"{item.name}({', '.join(item.arguments.model_fields)})" for item in tools]

    server = Hostile(tmp_path, listing(described("sum", {"again": {"type": "boolean"}}), described("print")))
    assert inside(server.command, body) == ["sum_(again_)", "print_()"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["no-such-program-anywhere"], "cannot be used: FileNotFoundError"),
        ([sys.executable, "-c", "raise SystemExit('out of order')"], "last words: out of order"),
        ([], "is a list"),
        ("python server.py", "is a list"),
    ],
)
def test_a_server_that_does_not_start_is_an_error_with_its_reason(command: Any, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        inside(command, never)
