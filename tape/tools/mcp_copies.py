"""An MCP server that is started again on copies of the folder that it works in, so that plans can be tried."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import Context
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from tape.tools.errors import ToolError

FOLDER = "{folder}"
"""What stands for the folder in the command, the environment variables and the working directory of a server."""

MOST_SERVERS = 4
"""Servers on copies that run at the same time; the one that was used the longest time ago is stopped."""


class Started(Protocol):
    """A server that runs."""

    async def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool."""

    async def stop(self) -> None:
        """Stop it."""


class ServersByFolder:
    """The server of an episode, and others of its kind on copies of its folder.

    What a call has changed lies in the folder, so a server that was stopped can be started again.

    Args:
        server: The server on the folder itself.
        folder: The folder.
        start: Starts another one on a copy.
    """

    def __init__(self, server: Started, folder: Path, start: Callable[[Path], Awaitable[Started]]) -> None:
        self._server, self._folder, self._start = server, folder, start
        self._others: OrderedDict[Path, Started] = OrderedDict()

    async def call(self, folder: Path, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool of the server on a folder."""
        if folder == self._folder:
            return await self._server.call(name, arguments)
        if folder not in self._others:
            while len(self._others) >= MOST_SERVERS:
                _, oldest = self._others.popitem(last=False)
                await _outside(oldest.stop())
            self._others[folder] = await _outside(self._start(folder))
        self._others.move_to_end(folder)
        return await self._others[folder].call(name, arguments)

    async def stop(self) -> None:
        """Stop the others."""
        while self._others:
            await self._others.popitem()[1].stop()


async def _outside(work: Awaitable[Any]) -> Any:
    """Does what the project does, not the tool: a call that is tried may start no program."""

    async def done() -> Any:
        return await work

    return await asyncio.create_task(done(), context=Context())


def on_folder(command: Sequence[str], env: Mapping[str, str], cwd: Path | str | None, folder: Path) -> dict[str, Any]:
    """The command, the environment variables and the working directory of a server on a folder.

    Raises:
        ToolError: None of them names the folder.
    """
    given = [*map(str, command), *env.values(), str(cwd or "")]
    if not any(FOLDER in text for text in given):
        raise ToolError(
            f"folder={str(folder)!r}: write {FOLDER} in the command, in env or in cwd, where the server is told which "
            "folder it works in; else one on a copy would work in the same one"
        )
    put = str(folder)
    return {
        "command": [str(text).replace(FOLDER, put) for text in command],
        "env": {name: value.replace(FOLDER, put) for name, value in env.items()},
        "cwd": None if cwd is None else str(cwd).replace(FOLDER, put),
    }


@cache
def without_network() -> tuple[str, ...]:
    """What is put before a command so that it has no network; empty where the platform has no such thing."""
    if shutil.which("unshare") is None:
        return ()
    command = ("unshare", "--map-root-user", "--net", "--")
    done = subprocess.run([*command, "true"], capture_output=True, check=False)  # noqa: S603
    return command if done.returncode == 0 else ()
