"""An MCP server behind the gateway: nothing that it writes is taken on trust, and it never holds the gateway up."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from tape.errors import ConfigError, error_text
from tape.gateway.config import GatewayConfig
from tape.gateway.errors import NO_ANSWER
from tape.gateway.settings import ServerSettings
from tape.redaction import hide, redacted
from tape.tools.errors import ToolFailedError
from tape.tools.json_schemas import described
from tape.tools.mcp import entries_of
from tape.tools.mcp_process import ServerProcess
from tape.tools.mcp_session import Channel, McpAnswerError, McpSession, said_of

MOST_STARTS = 5
"""Times that a server is started; one that ends again and again is left alone."""

_TAIL = 600
_LAST_SECONDS = 0.1
"""For the last words of a server to arrive."""


class UnansweredError(ToolFailedError):
    """A call was not answered; its effect is unknown."""


class NotCalledError(ToolFailedError):
    """A call was not sent; nothing is spent."""


class Downstream:
    """A server, from its start to its end.

    Attributes:
        entries: Its tools by name, as it last listed them.
    """

    def __init__(self, name: str, config: GatewayConfig) -> None:
        self.name = name
        self._config, self._settings = config, config.servers[name]
        self.seconds = self._settings.call_seconds or config.limits.call_seconds
        self.entries: dict[str, Any] = {}
        self._channel: Channel | None = None
        self._begun: McpSession | None = None
        self._session: McpSession | None = None
        """The one that was begun, once it has listed its tools."""
        self._starts = 0
        self._starting = asyncio.Lock()

    async def start(self) -> list[Any]:
        """Start it, and list its tools; nothing in the list is checked.

        Raises:
            ConfigError: It cannot be started, or lists no tools in time; names the server, file and line.
        """
        try:
            async with asyncio.timeout(self._settings.start_seconds) as timeout:
                return await self._connect()
        except TimeoutError:
            if not timeout.expired():
                raise
            problem = f"it has not listed its tools within {self._settings.start_seconds:g} s (start_seconds)"
            problem += said_of(self._begun)
        except (ToolFailedError, OSError, ValueError, TypeError) as error:
            problem = str(error) if isinstance(error, ToolFailedError) else error_text(error)
        setting = "command" if self._settings.command else "url"
        message = f"the MCP server {self.name} cannot be used: {redacted(problem)}{await self._last_words()}"
        raise self._config.error(("servers", self.name, setting), message)

    async def _connect(self) -> list[Any]:
        self._starts += 1
        self._channel = await open_channel(self._settings, self._config)
        self._begun = McpSession(self._channel, f"the MCP server {self.name}")
        await self._begun.shake_hands()
        listed = await self._list(self._begun)
        self._session = self._begun
        return listed

    async def _list(self, session: McpSession) -> list[Any]:
        listed = await session.tools()
        self.entries, _ = entries_of(listed)
        return listed

    async def _last_words(self) -> str:
        if not isinstance(self._channel, ServerProcess):
            return ""
        await asyncio.sleep(_LAST_SECONDS)
        words = described(redacted(await self._channel.last_words()))
        return f"; its last words: {words[-_TAIL:]}" if words else ""

    async def ready(self) -> None:
        """See that it can be called, before it is: it runs, and its list of tools is known.

        Raises:
            ToolFailedError: It cannot.
        """
        if self._is_ready():
            return
        async with self._starting:
            if self._is_ready():
                return
            try:
                async with asyncio.timeout(self._settings.start_seconds):
                    if self._session is not None and not self._session.is_over:
                        await self._list(self._session)
                        return
                    if self._starts >= MOST_STARTS:
                        times = f"has ended {self._starts} times"
                        raise ToolFailedError(f"the MCP server {self.name} {times} and is left alone")
                    await self.stop()
                    await self._connect()
            except (OSError, TimeoutError) as error:
                raise ToolFailedError(
                    f"the MCP server {self.name} cannot be started again: {error_text(error)}"
                ) from error

    def _is_ready(self) -> bool:
        session = self._session
        return session is not None and not session.is_over and not session.tools_changed

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool.

        Returns:
            The result, a JSON object; nothing in it is checked.

        Raises:
            NotCalledError: It has ended, or changed its tools, since :meth:`ready`.
            UnansweredError: It has not answered in time, or is not there any more.
            ToolFailedError: It has answered by an error.
        """
        session = self._session
        if session is None or not self._is_ready():
            raise NotCalledError(f"the MCP server {self.name} has ended or changed its tools just now; call again")
        try:
            async with asyncio.timeout(self.seconds) as timeout:
                return await session.request("tools/call", {"name": tool, "arguments": dict(arguments)})
        except TimeoutError:
            if not timeout.expired():
                raise
            late = f"has not answered within {self.seconds:g} s (call_seconds){said_of(session)}"
            raise UnansweredError(f"the MCP server {self.name} {late}") from None
        except ToolFailedError as error:
            if isinstance(error, McpAnswerError) and error.code != NO_ANSWER:
                raise
            raise UnansweredError(str(error)) from error

    async def stop(self) -> None:
        """Stop it, with all that it has started."""
        session, channel = self._begun, self._channel
        self._session = self._begun = self._channel = None
        if session is not None:
            await session.close()
        elif channel is not None:
            await channel.stop()


async def open_channel(settings: ServerSettings, config: GatewayConfig) -> Channel:
    """The way to a server: its process, or HTTP.

    Raises:
        OSError: It cannot be started.
        ConfigError: The packages for HTTP are not installed.
    """
    if settings.command is not None:
        secrets = {name: os.environ[name] for name in settings.env_from}
        for value in [*settings.env.values(), *secrets.values()]:
            hide(value, quietly=True)
        folder = config.folder()
        cwd = folder if settings.cwd is None else folder / settings.cwd
        return await ServerProcess.start(settings.command, {**settings.env, **secrets}, cwd)
    from tape.gateway.http_channel import HttpChannel

    headers = {header: os.environ[name] for header, name in settings.headers_from.items()}
    for header, value in headers.items():
        hide(value.removeprefix("Bearer "), quietly=True)
        if not value.isascii() or not value.isprintable():
            raise ConfigError(
                f"the header {header} is set from {settings.headers_from[header]}, which no header can hold"
            )
    assert settings.url is not None
    return HttpChannel(settings.url, headers)
