"""Tools of an MCP server that is started over stdio, by the official client (extra ``mcp``)."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import IO, Any

from pydantic import BaseModel

from tape.plugins import require_extra
from tape.tools.cost import Amount, Cost, Unknown, amounts
from tape.tools.errors import ToolError, ToolFailedError
from tape.tools.mcp_schema import arguments_model
from tape.tools.tool import Tool

MOST_PAGES = 100
"""A listing of tools that is longer never ends."""

_TAIL = 600
"""Characters of a server's last words that are shown to the user."""


@asynccontextmanager
async def mcp_tools(
    command: Sequence[str],
    *,
    costs: Mapping[str, Cost | Mapping[str, Amount]] | None = None,
    quality: Mapping[str, float] | None = None,
    variants: Mapping[str, str] | None = None,
    reads: Collection[str] = (),
    pure: Mapping[str, bool] | None = None,
    destructive: Mapping[str, bool] | None = None,
    only: Collection[str] | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    start_seconds: float = 30.0,
) -> AsyncIterator[list[Tool]]:
    """Start an MCP server and offer its tools for as long as the context lasts; then the server is stopped.

    The session lives in the event loop that it was started in: play episodes by ``await agent.arun(env)`` inside the
    context, not by ``agent.run(env)``, which begins a loop of its own and says so.

    A tool without a declared cost has an unknown cost in everything that tools can use (``usd``, ``seconds`` and
    resources of your own): under a hard cap on one of these an episode is refused at its start. What the server
    reports as an error, and a server that has died, is a failed call, which the agent sees and which is paid. A server
    that never answers is waited for until ``wall_seconds`` are up.

    Args:
        command: The program and its arguments.
        costs: By the server's name of a tool: its cost, or amounts in units as :func:`tape.tools.tool.tool` takes them.
        quality: By the server's name: probability in (0, 1] that a result is what was asked for.
        variants: By the server's name: what the tool is called here, ``KIND`` or ``KIND.VARIANT``; its own name by
            default. Tools of one kind do the same at another price or quality and take the same arguments.
        reads: The server's names of tools whose results are texts in which the model looks for the answer.
        pure: By the server's name: whether a call changes nothing; where nothing is said, the server's
            ``readOnlyHint``.
        destructive: By the server's name: whether a call may destroy what cannot be brought back; where nothing is
            said, the server's ``destructiveHint``, which counts only where it is there and the tool is not pure.
        only: The server's names of the tools to offer; all by default.
        env: Environment variables of the server; it inherits only a few, PATH and HOME among them.
        cwd: Where it runs.
        start_seconds: How long it may take until it has listed its tools.

    Yields:
        The tools, in the server's order.

    Raises:
        MissingExtraError: The package ``mcp`` is not installed.
        ToolError: The server cannot be started, a name in the declarations is none of its tools, a tool is declared
            both pure and destructive, or a tool takes arguments that are not understood.
    """
    for setting, said in (("pure", pure), ("destructive", destructive)):
        if not isinstance(said, Mapping | None):
            raise ToolError(
                f"{setting}: give each of the server's names True or False, as {{NAME: True}}; got {said!r}"
            )
    declared: dict[str, Any] = {
        "costs": costs or {}, "quality": quality or {}, "variants": variants or {}, "reads": reads, "only": only or (),
        "pure": pure or {}, "destructive": destructive or {},
    }  # fmt: skip
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as words:
        server = _Server(command, env, cwd, words)
        listed = await server.start(start_seconds)
        try:
            names = [item.name for item in listed]
            for setting, given in declared.items():
                if unknown := sorted(set(given) - set(names)):
                    raise ToolError(f"{setting}: {server.name} has no tool {unknown[0]!r}; it has {', '.join(names)}")
            offered = [item for item in listed if only is None or item.name in only]
            yield [_tool(server, item, declared) for item in offered]
        finally:
            await server.stop()


def _tool(server: _Server, listed: Any, declared: Mapping[str, Any]) -> Tool:
    name: str = listed.name
    kind, _, variant = declared["variants"].get(name, name).partition(".")
    cost = declared["costs"].get(name, Unknown())
    arguments = arguments_model(name, listed.input_schema)
    wrapped = set((listed.output_schema or {}).get("properties", ())) == {"result"}

    pure, destructive = _effects(name, listed.annotations, declared)

    async def function(**values: Any) -> Any:
        optional = {key for key, field in arguments.model_fields.items() if not field.is_required()}
        sent = {key: _sent(value) for key, value in values.items() if value is not None or key not in optional}
        return _value(await server.call(name, sent), wrapped=wrapped)

    return Tool(
        kind,
        variant,
        function,
        arguments,
        " ".join((listed.description or name).split("\n\n")[0].split()),
        amounts(cost) if isinstance(cost, Mapping) else cost,
        declared["quality"].get(name),
        name in declared["reads"],
        pure=pure,
        destructive=destructive,
        loop=server.loop,
    )


def _effects(name: str, hints: Any, declared: Mapping[str, Any]) -> tuple[bool, bool]:
    """Whether a tool is pure, and whether it is destructive: as declared here, else as the server hints.

    A hint never stands against what is declared here; of the server's two the one to destroy means nothing for a tool
    that is read only, by the protocol.
    """
    destructive = declared["destructive"].get(name)
    pure = declared["pure"].get(name, destructive is not True and hints is not None and hints.read_only_hint is True)
    if destructive is None:
        destructive = not pure and hints is not None and hints.destructive_hint is True
    return pure, destructive


def _sent(value: Any) -> Any:
    """An argument as JSON; of objects inside it only what was given."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_unset=True)
    if isinstance(value, list):
        return [_sent(item) for item in value]
    if isinstance(value, dict):
        return {key: _sent(item) for key, item in value.items()}
    return value


def _value(result: Any, *, wrapped: bool) -> Any:
    """The structured result, where there is one, else its text.

    Args:
        result: The server's.
        wrapped: The server puts what is no object into one, as ``{"result": ...}``.

    Raises:
        ToolFailedError: The server reports an error, or gave nothing to work with.
    """
    text = "\n".join(block.text for block in result.content if block.type == "text")
    if result.is_error:
        raise ToolFailedError(text or "the server reports an error and does not say which")
    found = result.structured_content
    if found is not None:
        return found["result"] if wrapped and isinstance(found, dict) and found.keys() == {"result"} else found
    if not text and result.content:
        raise ToolFailedError(f"the result is no text but {', '.join(sorted({b.type for b in result.content}))}")
    return text


class _Server:
    """A server process and the session with it.

    The client's contexts belong to the task that enters them, and wrap what is raised inside them; so they have a task
    of their own, which ends when it is told to.

    Args:
        command: The program and its arguments.
        env: Its environment variables.
        cwd: Where it runs.
        words: Takes what it writes to stderr.
    """

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str] | None, cwd: str | Path | None, words: IO[str]
    ) -> None:
        if isinstance(command, str) or not command:
            raise ToolError(f"the command of an MCP server is a list: program and arguments; got {command!r}")
        self._command, self._env, self._cwd, self._words = list(command), env, cwd, words
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.loop = asyncio.get_running_loop()
        self._client: Any = None

    @property
    def name(self) -> str:
        """How errors call it."""
        return f"the MCP server {' '.join(self._command)!r}"

    async def start(self, seconds: float) -> list[Any]:
        """Start it and list its tools."""
        require_extra("mcp", "mcp", what=self.name)
        from mcp import Client, StdioServerParameters
        from mcp.client.stdio import stdio_client

        settings = StdioServerParameters(
            command=self._command[0], args=self._command[1:], env=dict(self._env or {}), cwd=self._cwd
        )
        ready: asyncio.Future[list[Any]] = self.loop.create_future()

        async def live() -> None:
            async with AsyncExitStack() as stack:
                client = await stack.enter_async_context(Client(stdio_client(settings, errlog=self._words)))
                ready.set_result(await _listed(client))
                self._client = client
                await self._stop.wait()
                self._client = None

        self._task = asyncio.create_task(live(), name=self.name)
        either: list[asyncio.Future[Any]] = [ready, self._task]
        try:
            async with asyncio.timeout(seconds):
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            await self._give_up()
            raise ToolError(f"{self.name} has not listed its tools within {seconds:g} s{self._last_words()}") from None
        except BaseException:
            await self._give_up()
            raise
        if ready.done():
            return ready.result()
        reason = self._task.exception()
        while isinstance(reason, BaseExceptionGroup):
            reason = reason.exceptions[0]
        raise ToolError(
            f"{self.name} cannot be used: {type(reason).__name__}: {reason}{self._last_words()}"
        ) from reason

    async def _give_up(self) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def _last_words(self) -> str:
        self._words.seek(0)
        said = self._words.read().strip()
        return f"; its last words: {said[-_TAIL:]}" if said else ""

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        """Call a tool.

        Raises:
            ToolFailedError: The server refuses, or is not there any more.
        """
        from mcp import MCPError

        if asyncio.get_running_loop() is not self.loop:
            raise ToolFailedError(f"{self.name} was started in another event loop: use await agent.arun(...) there")
        if self._client is None:
            raise ToolFailedError(f"{self.name} has been stopped: call its tools inside its 'async with'")
        try:
            return await self._client.call_tool(name, arguments)
        except MCPError as error:
            raise ToolFailedError(f"{self.name}: {error}") from error

    async def stop(self) -> None:
        """Stop it; the process has ended then."""
        self._stop.set()
        assert self._task is not None
        await asyncio.gather(self._task, return_exceptions=True)


async def _listed(client: Any) -> list[Any]:
    """All tools of a server."""
    found: list[Any] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if cursor is None:
            return found
    raise ToolError("its list of tools has no end")
