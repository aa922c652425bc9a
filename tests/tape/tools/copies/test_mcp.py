"""An MCP server that is started again on copies of its folder: plans are tried there, and one is carried out."""

from __future__ import annotations

import asyncio
import functools
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tape.agents.tape import TapeAgent
from tape.approval import ApprovalRequest
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.tools import ToolEnvironment, ToolError
from tape.tools.copies import Folder
from tape.tools.mcp import mcp_tools
from tape.tools.mcp_copies import MOST_SERVERS, without_network
from tests.tape.tools.helpers import Calls, program

SERVER = Path(__file__).parents[1] / "notes_server.py"
COSTS = {name: {"usd": 0} for name in ("write", "delete", "names", "call_out")}


def ran(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """A test in an event loop of its own."""

    @functools.wraps(test)
    def run(**fixtures: Any) -> None:
        async def begun() -> None:
            await test(**fixtures)

        asyncio.run(begun())

    return run


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in ("may.txt", "june.txt", "keep.md"):
        (folder / name).write_text(name)
    return folder


def command(tmp_path: Path) -> list[str]:
    return [sys.executable, "-S", str(SERVER), "{folder}", str(tmp_path / "starts")]


def starts(tmp_path: Path) -> list[str]:
    """The folders on which servers were started."""
    return (tmp_path / "starts").read_text().splitlines()


def model(*plans: Calls, right: str) -> ScriptedLM:
    """Writes these plans in turn, and finds an end right that shows a text."""

    def answer(request: Request, sample: int) -> str:
        if request.role == "plan":
            return program(plans[sample % len(plans)], request=request)
        return "right" if right in str(request.prompt) else "wrong"

    return ScriptedLM(answer)


@ran
async def test_two_deletions_are_tried_and_the_better_one_is_carried_out(tmp_path: Path, notes: Path) -> None:
    seen: list[ApprovalRequest] = []

    def approve(request: ApprovalRequest) -> bool:
        seen.append(request)
        return True

    plans = [[("delete", {"pattern": "*"})], [("delete", {"pattern": "*.txt"})]]
    async with mcp_tools(command(tmp_path), costs=COSTS, folder=notes) as tools:
        env = ToolEnvironment("Delete the texts.", tools, state=Folder(notes), budget="3 steps")
        agent = TapeAgent(model(*plans, right="# -> 1"), world_model="copy")
        result = await agent.arun(env, approve=approve)
    assert (result.end_state, result.answer) == ("success", 1)
    assert [path.name for path in notes.iterdir()] == ["keep.md"]
    [request] = seen
    assert any("may.txt" in line for line in request.changes)
    assert not any("keep.md" in line for line in request.changes)
    first, *others = starts(tmp_path)
    assert (first, len(others), str(notes) in others) == (str(notes), 2, False)


@ran
async def test_a_tool_that_reads_reads_the_copy_in_which_it_is_planned(tmp_path: Path, notes: Path) -> None:
    plan = [("write", {"name": "july.txt", "text": "x"}), ("names", {})]
    async with mcp_tools(command(tmp_path), costs=COSTS, folder=notes) as tools:
        env = ToolEnvironment("Add a note.", tools, state=Folder(notes), budget="4 steps")
        result = await TapeAgent(model(plan, right="july"), world_model="copy").arun(env)
    assert result.answer == ["july.txt", "june.txt", "keep.md", "may.txt"]
    assert result.replans == 0  # what was observed is what the copy had shown


@ran
async def test_few_servers_run_at_a_time_and_none_is_left(tmp_path: Path, notes: Path) -> None:
    plans = [[("write", {"name": f"{n}.md", "text": "x"})] for n in range(MOST_SERVERS + 2)]
    async with mcp_tools(command(tmp_path), costs=COSTS, folder=notes) as tools:
        env = ToolEnvironment("Add a note.", tools, state=Folder(notes), budget="4 steps")
        agent = TapeAgent(model(*plans, right="x"), world_model="copy", num_plans=len(plans))
        assert (await agent.arun(env)).success
    assert len(starts(tmp_path)) == MOST_SERVERS + 3


@pytest.mark.skipif(not without_network(), reason="this platform takes no network away")
@ran
async def test_a_server_on_a_copy_has_no_network(tmp_path: Path, notes: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        plan = [("call_out", {"port": listening.getsockname()[1]})]
        async with mcp_tools(command(tmp_path), costs=COSTS, folder=notes) as tools:
            env = ToolEnvironment("Connect.", tools, state=Folder(notes), budget="4 steps")
            copied = await TapeAgent(model(plan, right="connected"), world_model="copy").arun(env)
            env = ToolEnvironment("Connect.", tools, state=Folder(notes), budget="4 steps")
            real = await TapeAgent(model(plan, right="connected")).arun(env)
    assert copied.steps == 0  # it has failed on the copy, so it is in no plan
    assert real.answer == "connected"


@ran
async def test_what_is_missing_is_named(tmp_path: Path, notes: Path) -> None:
    with pytest.raises(ToolError, match=r"write \{folder\} in the command, in env or in cwd"):
        async with mcp_tools([sys.executable, str(SERVER), str(notes)], folder=notes):
            pass
    async with mcp_tools(command(tmp_path), costs=COSTS, folder=notes) as tools:
        with pytest.raises(ToolError, match="the tools use folder; give state="):
            ToolEnvironment("Delete.", tools)
