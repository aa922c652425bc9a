"""Tools of an MCP server that is started over stdio."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tape.errors import error_text
from tape.plan.vocabulary import AGAIN, RESERVED
from tape.reading import short
from tape.tools.cost import Declared, amounts
from tape.tools.cost import declared as declared_cost
from tape.tools.errors import ToolError, ToolFailedError, ToolWarning
from tape.tools.json_schemas import described
from tape.tools.mcp_contents import value_of
from tape.tools.mcp_copies import ServersByFolder, Started, on_folder, without_network
from tape.tools.mcp_process import ServerProcess
from tape.tools.mcp_schema import arguments_model, sent
from tape.tools.mcp_session import McpSession, said_of
from tape.tools.names import python_names
from tape.tools.results import cut
from tape.tools.tool import Tool

MOST_TOOLS = 256
"""Tools that are offered at once; every one stands in every prompt."""

LONGEST_NAME = 128
"""Characters of a tool's name, the most that the protocol allows."""

_TAIL = 600
"""Characters of a server's last words that are shown to the user."""

_NAME = 100
"""Bytes of a command that stand for the server in errors; the agent sees the first 300 of a message."""

STATE = "folder"
"""The name of the state that tools of a server with a folder have."""

_MOST_NAMED = 20
"""Tools that are named in one message."""


@asynccontextmanager
async def mcp_tools(
    command: Sequence[str],
    *,
    costs: Mapping[str, Declared] | None = None,
    quality: Mapping[str, float] | None = None,
    variants: Mapping[str, str] | None = None,
    reads: Collection[str] = (),
    pure: Mapping[str, bool] | None = None,
    destructive: Mapping[str, bool] | None = None,
    only: Collection[str] | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    start_seconds: float = 30.0,
    call_seconds: float = 300.0,
    folder: str | Path | None = None,
) -> AsyncIterator[list[Tool]]:
    """Start an MCP server and offer its tools while the context lasts; then it is stopped, with its children.

    The session belongs to the event loop of the context: play episodes there by ``await agent.arun(env)``. An episode
    of ``agent.run(env)``, which begins a loop of its own, raises an error.

    A tool without a declared cost has an unknown cost in ``usd``, ``seconds`` and resources of your own. Under a cap on
    one of these an episode is refused at its start. A call has failed, is shown to the agent and is paid where the
    server reports an error or has died, or does not answer within ``call_seconds`` and 20 MiB.
    A tool without a schema is left out with a :class:`ToolWarning`. It is an error if a declaration names it. The
    server's own requests are refused.

    Args:
        command: The program and its arguments.
        costs: By the server's name of a tool: what a call costs, as ``cost=`` of :func:`tape.tool` takes it.
        quality: By the server's name: probability in (0, 1] that a result is what was asked for.
        variants: By the server's name: what the tool is called here, ``KIND`` or ``KIND.VARIANT``; else like there.
        reads: The server's names of tools whose results are texts in which the model looks for the answer.
        pure: By the server's name: whether a call changes nothing; by default the server's ``readOnlyHint``.
        destructive: By the server's name: whether a call may destroy what cannot be brought back; by default the
            server's ``destructiveHint``, which counts only where the tool is not pure.
        only: The server's names of the tools to offer; all by default.
        env: Environment variables of the server; it inherits only a few, PATH and HOME among them.
        cwd: Where it runs.
        start_seconds: How long it may take from its start until its tools are here.
        call_seconds: How long a call may take.
        folder: The folder that holds all that calls change; ``{folder}`` stands for it in ``command``, ``env`` and
            ``cwd``. The tools have the state ``"folder"`` then: give the environment ``state=Folder(folder)``. Plans
            are tried by servers on copies of it, without network where the platform can (:mod:`tape.tools.copies`).

    Yields:
        The tools, in the server's order.

    Raises:
        ToolError: The server cannot be started, nothing names its folder, a declaration names no tool that can be
            offered, a tool is declared both pure and destructive, or there are more than 256 tools or none.

    Examples:
        >>> import asyncio, sys
        >>> from tape import mcp_tools
        >>> server = "import mcp.server.mcpserver as m; s = m.MCPServer('s'); s.tool('hour')(lambda: 12); s.run()"
        >>> async def offered():
        ...     async with mcp_tools([sys.executable, "-c", server], costs={"hour": {"usd": 0}}) as tools:
        ...         return [item.name for item in tools]
        >>> asyncio.run(offered())
        ['hour']
    """
    declared = _declared(
        costs=costs, quality=quality, variants=variants, reads=reads, only=only, pure=pure, destructive=destructive
    )
    server = _server(_Settings(command, env or {}, cwd), call_seconds, start_seconds, folder)
    try:
        yield await server.start(declared, start_seconds)
    finally:
        await server.stop()


def _declared(**given: Any) -> dict[str, Any]:
    """The declarations by name, empty where none was given."""
    _require_flags(pure=given["pure"], destructive=given["destructive"])
    return {setting: value or {} for setting, value in given.items()}


def _require_flags(**given: Any) -> None:
    for setting, flags in given.items():
        if not isinstance(flags, Mapping | None):
            raise ToolError(
                f"{setting}: give each of the server's names True or False, as {{NAME: True}}; got {flags!r}"
            )


class _Settings(NamedTuple):
    """How a server is started, as it was given."""

    command: Sequence[str]
    env: Mapping[str, str]
    cwd: str | Path | None


def _server(settings: _Settings, call_seconds: float, start_seconds: float, folder: str | Path | None) -> _Server:
    """The server, and with a folder those that are started on copies of it."""
    if folder is None:
        return _Server(*settings, call_seconds)
    real = Path(folder).resolve()
    server = _Server(**on_folder(*settings, real), call_seconds=call_seconds)

    async def another(copied: Path) -> Started:
        at_copy = on_folder(*settings, copied)
        at_copy["command"] = [*without_network(), *at_copy["command"]]
        result = _Server(**at_copy, call_seconds=call_seconds)
        await result.start(None, start_seconds)
        return result

    server.by_folder = ServersByFolder(server, real, another)
    return server


def entries_of(listed: Sequence[Any]) -> tuple[dict[str, Any], list[str]]:
    """A server's tools by name, and which are none."""
    values: dict[str, Any] = {}
    left_out = []
    for number, entry in enumerate(listed, 1):
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
            left_out.append(f"number {number} of its list, whose name is {short(name)}")
        elif name in values:
            if entry == values[name]:
                continue  # a page that the server has given twice
            left_out.append(f"a second one named {short(name)}")
        else:
            values[name] = entry
    return values, left_out


def _tool(server: _Server, name: str, called: str, entry: Mapping[str, Any], declared: Mapping[str, Any]) -> Tool:
    """One tool: the server's ``name``, which is ``called`` so here, ``KIND`` or ``KIND.VARIANT``."""
    kind, _, variant = called.partition(".")
    cost = declared["costs"].get(name) or amounts({})
    others = server.by_folder
    arguments = arguments_model(short(name), entry.get("inputSchema"), {AGAIN} if others is None else {AGAIN, STATE})
    output = entry.get("outputSchema")
    outputs = output.get("properties") if isinstance(output, Mapping) else None
    wrapped = isinstance(outputs, Mapping) and outputs.keys() == {"result"}

    pure, destructive = effects(entry.get("annotations"), declared["pure"].get(name), declared["destructive"].get(name))

    async def function(**values: Any) -> Any:
        at = values.pop(STATE, None) if others is not None else None
        given = sent(arguments, values)
        result = await (
            others.call(at, name, given) if others is not None and at is not None else server.call(name, given)
        )
        return value_of(result, wrapped=wrapped)

    about = entry.get("description")
    return Tool(
        kind,
        variant,
        function,
        arguments,
        described(about.strip().split("\n\n")[0] if isinstance(about, str) else "") or name,
        declared_cost(cost),
        declared["quality"].get(name),
        name in declared["reads"],
        pure=pure,
        destructive=destructive,
        loop=server.loop,
        state={} if others is None else {STATE: "read" if pure else "write"},
        fills=False,
    )


def effects(hints: Any, pure: bool | None, destructive: bool | None) -> tuple[bool, bool]:
    """Whether a tool is pure, and whether it is destructive: as declared here, else as the server hints.

    A hint never stands against what is declared here; of the server's two the one to destroy means nothing for a tool
    that is read only, by the protocol.

    Args:
        hints: The server's annotations of the tool; anything.
        pure: What is declared; None where nothing is.
        destructive: The same.
    """
    hints = hints if isinstance(hints, Mapping) else {}
    if pure is None:
        pure = destructive is not True and hints.get("readOnlyHint") is True
    if destructive is None:
        destructive = not pure and hints.get("destructiveHint") is True
    return pure, destructive


class _Server:
    """A server, from its start to its end."""

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str] | None, cwd: str | Path | None, call_seconds: float
    ) -> None:
        if isinstance(command, str) or not command:
            raise ToolError(f"the command of an MCP server is a list: program and arguments; got {command!r}")
        self._command, self._env, self._cwd, self._call_seconds = list(map(str, command)), env or {}, cwd, call_seconds
        self.loop = asyncio.get_running_loop()
        self._process: ServerProcess | None = None
        self._session: McpSession | None = None
        self.by_folder: ServersByFolder | None = None
        """The servers on copies of its folder; None where it has none."""

    @property
    def name(self) -> str:
        """How errors call it."""
        return f"the MCP server {cut(repr(' '.join(self._command)), _NAME)}"

    async def start(self, declared: Mapping[str, Any] | None, seconds: float) -> list[Tool]:
        """Start it and make its tools, all within some seconds; none are made where nothing is declared.

        Raises:
            ToolError: See :func:`mcp_tools`.
        """
        try:
            async with asyncio.timeout(seconds) as timeout:
                self._process = await self._spawned()
                self._session = McpSession(self._process, "it", self.name)
                await self._session.shake_hands()
                listed = [] if declared is None else await self._session.tools()
                self._session.name = self.name
                return [] if declared is None else await self._tools(listed, declared)
        except TimeoutError:
            if not timeout.expired():
                raise
            raise ToolError(
                f"{self.name} has not listed its tools within {seconds:g} s{said_of(self._session)}"
                f"{await self._last_words()}"
            ) from None
        except ToolFailedError as error:
            raise ToolError(f"{self.name} cannot be used: {error}{await self._last_words()}") from error

    async def _spawned(self) -> ServerProcess:
        try:
            return await ServerProcess.start(self._command, self._env, self._cwd)
        except (OSError, ValueError, TypeError) as error:
            raise ToolError(f"{self.name} cannot be used: {error_text(error)}") from error

    async def _tools(self, listed: Sequence[Any], declared: Mapping[str, Any]) -> list[Tool]:
        entries, left_out = entries_of(listed)
        names = [name if name.isprintable() else short(name) for name in entries]
        for setting, given in declared.items():
            if unknown := sorted(set(given) - entries.keys()):
                raise ToolError(f"{setting}: {self.name} has no tool {unknown[0]!r}; it has {_some(names)}")
        wanted = {name: entry for name, entry in entries.items() if not declared["only"] or name in declared["only"]}
        if len(wanted) > MOST_TOOLS:
            raise ToolError(
                f"{self.name} has {len(wanted)} tools, and {MOST_TOOLS} are offered at most: name those that you want "
                f"by only=[...]; it has {_some(names)}"
            )
        called = python_names(entries.keys() - declared["variants"].keys(), RESERVED) | dict(declared["variants"])
        tools = []
        for name, entry in wanted.items():
            await asyncio.sleep(0)  # time may be up
            try:
                tools.append(_tool(self, name, called[name], entry, declared))
            except ToolError as error:
                if any(name in given for given in declared.values()):
                    raise ToolError(f"{self.name}: {error}") from error
                left_out.append(f"{short(name)} ({error})")
        if not tools:
            raise ToolError(f"{self.name} has no tool that can be offered{': ' if left_out else ''}{_some(left_out)}")
        if left_out:
            warnings.warn(f"{self.name}: left out: {_some(left_out)}", ToolWarning, stacklevel=2)
        return tools

    async def _last_words(self) -> str:
        words = described(await self._process.last_words()) if self._process is not None else ""
        return f"; its last words: {words[-_TAIL:]}" if words else ""

    async def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool.

        Raises:
            ToolFailedError: The server refuses, or is not there any more, or does not answer.
        """
        if asyncio.get_running_loop() is not self.loop:
            raise ToolFailedError(f"{self.name} was started in another event loop: use await agent.arun(...) there")
        assert self._session is not None
        try:
            async with asyncio.timeout(self._call_seconds) as timeout:
                return await self._session.request("tools/call", {"name": name, "arguments": arguments})
        except TimeoutError:
            if not timeout.expired():
                raise
            raise ToolFailedError(
                f"{self.name} has not answered within {self._call_seconds:g} s{said_of(self._session)}"
            ) from None

    async def stop(self) -> None:
        """Stop it and those on copies; the processes have ended then, and those that they have started."""
        if self.by_folder is not None:
            await self.by_folder.stop()
        if self._session is not None:
            await self._session.close()


def _some(parts: Sequence[str]) -> str:
    """The first of many."""
    more = len(parts) - _MOST_NAMED
    return ", ".join(parts[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
