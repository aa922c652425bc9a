"""Tools of an MCP server that is started over stdio."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tape.errors import error_text
from tape.passed_on import key_now, traceparent_now
from tape.plan.vocabulary import AGAIN, RESERVED
from tape.reading import short
from tape.tools.errors import ToolError, ToolFailedError, ToolWarning
from tape.tools.json_schemas import described
from tape.tools.mcp_process import ServerProcess
from tape.tools.mcp_schema import arguments_model, sent, value_of
from tape.tools.mcp_session import McpSession, said_of
from tape.tools.results import cut
from tape.tools.tool import Declared, Tool, amounts
from tape.tools.tool import declared as declared_cost
from tape.tools.words import python_names

MOST_TOOLS = 256
"""Tools that are offered at once; every one stands in every prompt."""

_KEY = "tape/idempotency-key"
"""In ``_meta`` of a call."""

LONGEST_NAME = 128
"""Characters of a tool's name, the most that the protocol allows."""

_TAIL = 600
"""Characters of a server's last words that are shown to the user."""

_NAME = 100
"""Bytes of a command that stand for the server in errors; the agent sees the first 300 of a message."""

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
    idempotent: Mapping[str, bool] | None = None,
    keys: Mapping[str, str] | None = None,
    only: Collection[str] | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    start_seconds: float = 30.0,
    call_seconds: float = 300.0,
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
        idempotent: By the server's name: whether calls with the key of one effect, which goes along in ``_meta``, do it
            once; by default the server's ``idempotentHint``.
        keys: By the server's name: the argument that gets that key too, which makes the tool idempotent.
        only: The server's names of the tools to offer; all by default.
        env: Environment variables of the server; it inherits only a few, PATH and HOME among them.
        cwd: Where it runs.
        start_seconds: How long it may take from its start until its tools are here.
        call_seconds: How long a call may take.

    Yields:
        The tools, in the server's order.

    Raises:
        ToolError: The server cannot be started, a declaration names no tool that can be
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
    flags = _required({"pure": pure, "destructive": destructive, "idempotent": idempotent})
    given = {"costs": costs, "quality": quality, "variants": variants, "reads": reads, "only": only, "keys": keys}
    server = _Server(command, env or {}, cwd, call_seconds)
    try:
        yield await server.start({setting: value or {} for setting, value in {**given, **flags}.items()}, start_seconds)
    finally:
        await server.stop()


def _required(flags: Mapping[str, Any]) -> Mapping[str, Any]:
    for setting, given in flags.items():
        if not isinstance(given, Mapping | None):
            raise ToolError(
                f"{setting}: give each of the server's names True or False, as {{NAME: True}}; got {given!r}"
            )
    return flags


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
    arguments = arguments_model(short(name), entry.get("inputSchema"), {AGAIN})
    output = entry.get("outputSchema")
    outputs = output.get("properties") if isinstance(output, Mapping) else None
    wrapped = isinstance(outputs, Mapping) and outputs.keys() == {"result"}

    hints = entry.get("annotations")
    pure, destructive = effects(hints, declared["pure"].get(name), declared["destructive"].get(name))
    hinted = isinstance(hints, Mapping) and hints.get("idempotentHint") is True

    keyed = declared["keys"].get(name)
    if keyed is not None and keyed not in arguments.model_fields:
        raise ToolError(f"keys: {short(name)} has no argument {keyed!r}")

    async def function(**values: Any) -> Any:
        if keyed is not None and key_now():
            values = {**values, keyed: key_now()}
        return value_of(await server.call(name, sent(arguments, values)), wrapped=wrapped)

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
        fills=False,
        idempotent=not pure and declared["idempotent"].get(name, hinted or keyed is not None),
    )


def effects(hints: Any, pure: bool | None, destructive: bool | None) -> tuple[bool, bool]:
    """Whether a tool is pure, and whether it is destructive: as declared here, else (None) as the server hints.

    A hint never stands against what is declared here; of the server's two the one to destroy means nothing for a tool
    that is read only, by the protocol.
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

    @property
    def name(self) -> str:
        """How errors call it."""
        return f"the MCP server {cut(repr(' '.join(self._command)), _NAME)}"

    async def start(self, declared: Mapping[str, Any], seconds: float) -> list[Tool]:
        """Start it and make its tools, all within some seconds."""
        try:
            async with asyncio.timeout(seconds) as timeout:
                self._process = await self._spawned()
                self._session = McpSession(self._process, "it", self.name)
                await self._session.shake_hands()
                listed = await self._session.tools()
                self._session.name = self.name
                return await self._tools(listed, declared)
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
                along = {_KEY: key_now(), "traceparent": traceparent_now()}
                meta = {name: value for name, value in along.items() if value}
                return await self._session.request("tools/call", {"name": name, "arguments": arguments}, meta)
        except TimeoutError:
            if not timeout.expired():
                raise
            raise ToolFailedError(
                f"{self.name} has not answered within {self._call_seconds:g} s{said_of(self._session)}"
            ) from None

    async def stop(self) -> None:
        """Stop it; the process has ended then, and those that it has started."""
        if self._session is not None:
            await self._session.close()


def _some(parts: Sequence[str]) -> str:
    """The first of many."""
    more = len(parts) - _MOST_NAMED
    return ", ".join(parts[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
