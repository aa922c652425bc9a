"""What the tests of hostile MCP servers share: starting one, and making sure that nothing of it is left."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import sys
import time
import warnings
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tape.tools import Tool, ToolWarning, mcp_tools
from tests.tape.tools.hostile_server import NUMBER

SERVER = str(Path(__file__).parent / "hostile_server.py")


class Hostile:
    """A server to be started, with its answers as bytes by method, or by ``call:0``, ``call:1``, ..."""

    def __init__(
        self, folder: Path, replies: Mapping[str, bytes] | None = None, ways: Sequence[str] = (), **more: Any
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / "settings.json"
        written = {key: base64.b64encode(reply).decode() for key, reply in (replies or {}).items()}
        self.file.write_text(json.dumps({"replies": written, "ways": list(ways), **more}))
        self.command = [sys.executable, "-S", SERVER, str(self.file)]
        self.warnings: list[str] = []

    @contextlib.asynccontextmanager
    async def tools(self, **settings: Any) -> AsyncIterator[dict[str, Tool]]:
        """Its tools, by name; what was warned of is kept."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ToolWarning)
            try:
                async with mcp_tools(self.command, **settings) as tools:
                    self.warnings = [str(item.message) for item in caught if item.category is ToolWarning]
                    yield {item.name: item for item in tools}
            finally:
                self.require_gone()

    def require_gone(self) -> None:
        """Neither the server nor its child runs.

        What was killed is gone once it has been scheduled for a last time, which is waited for: a process that is left
        behind makes the test run into its time limit.
        """
        pids = self.file.with_suffix(".pids")
        while any(map(is_running, json.loads(pids.read_text()) if pids.exists() else [])):
            time.sleep(0.01)


def inside(server: Hostile, body: Callable[..., Any], *, count: int | None = None, **settings: Any) -> Any:
    """What a function makes of a server's tools, given a ``count`` too; afterwards nothing of the server is left."""

    async def play() -> Any:
        async with server.tools(**settings) as tools:
            return await (body(tools) if count is None else body(tools, count))

    try:
        return asyncio.run(play())
    finally:
        server.require_gone()


async def never(tools: object) -> None:
    """The body of a server that must not start."""
    raise AssertionError(f"it started, with {tools}")


def is_running(pid: int) -> bool:
    """Whether there is such a process; what has ended and was not waited for is none."""
    try:
        os.kill(pid, 0)
        stat = Path(f"/proc/{pid}/stat")
        return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def result(**fields: Any) -> bytes:
    """An answer with a result."""
    return json.dumps({"jsonrpc": "2.0", "id": NUMBER, "result": fields}).encode()


def listing(*tools: Any) -> dict[str, bytes]:
    """Replies: a list of tools."""
    return {"tools/list": result(tools=list(tools))}


def described(name: Any, properties: Any = None, **more: Any) -> dict[str, Any]:
    """A tool's entry in a list."""
    return {"name": name, "inputSchema": {"type": "object", "properties": properties or {}, **more}}
