"""A session with an MCP server over stdio: JSON-RPC in which nothing that the server writes is taken on trust.

It speaks only the part of the protocol that calls of tools need: a handshake, the list of tools, calls. It refuses the
server's own requests (to sample a model, to ask the user, to see folders), and of its notifications it keeps only that
the list of tools has changed.

What the server refuses, answers wrongly or does not answer raises a `ToolFailedError`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Mapping
from itertools import count, islice
from typing import Any, Protocol

from tape.reading import parse_json, short
from tape.redaction import redacted
from tape.tools.errors import ToolFailedError
from tape.tools.mcp_process import MOST_BYTES
from tape.tools.results import cut

logger = logging.getLogger("tape.tools")

MOST_UNASKED = 100_000
"""Messages since the last answer that are none; a server that sends more is ended."""

MOST_UNASKED_BYTES = 64 << 20
"""Bytes of them."""

MOST_PAGES = 100
"""Pages of a list of tools."""

MOST_LISTED = 50_000
"""Tools of a list; far fewer are offered."""

_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Of the protocol, with a handshake, the newest first."""

_STATELESS = "2026-07-28"
"""Of the protocol without a handshake: every request names the client."""

_CHANGED = "notifications/tools/list_changed"
_NO_SUCH_VERSION, _NO_SUCH_METHOD = -32022, -32601

_CLIENT = {"name": "tape", "version": "1"}
_LONGEST_ERROR = 200
"""Bytes of a server's error message that are kept, and of a line that is no message."""

_BEGINS = re.compile(rb'\{\s*"(?:jsonrpc|id|method|result|error|params)"\s*:')
_MOST_BEGINS = 4
"""Places in a line where a message may begin that are tried."""
_ANSWER = re.compile(rb'\s*\{(?=.*"jsonrpc"\s*:\s*"2\.0").*?"id"\s*:\s*"?(\d{1,18})(?!\d)', re.DOTALL)


def read_message(line: bytes) -> tuple[dict[str, Any], bytes]:
    """The message of JSON-RPC on a line, and the text in front of an answer: servers print words and end no line.

    A request behind words is none: some servers log what they receive.
    """
    try:
        return _as_message(line), b""
    except ToolFailedError:
        for begin in islice(_BEGINS.finditer(line, 1), _MOST_BEGINS):
            try:
                message = _as_message(line[begin.start() :])
            except ToolFailedError:
                continue
            if "method" not in message:
                return message, line[: begin.start()]
        raise


class _NoMessageError(ToolFailedError):
    """JSON that is no message."""


def _as_message(text: bytes) -> dict[str, Any]:
    message = parse_json(text, "its answer", error=ToolFailedError)
    is_spoken = isinstance(message, dict) and message.get("jsonrpc") == "2.0"
    if is_spoken and (isinstance(message.get("method"), str) or ("id" in message and {"result", "error"} & {*message})):
        return dict(message)
    raise _NoMessageError("its answer: no message of JSON-RPC")


def number_of(message: Mapping[str, Any]) -> int | None:
    """The number of the request that an answer is for, which some servers write as a text; None where it has none."""
    number = message.get("id")
    if isinstance(number, str) and number.isdecimal() and len(number) < _LONGEST_ERROR:
        return int(number)
    return number if type(number) is int else None


class Channel(Protocol):
    """The way to a server and back, as :class:`~tape.tools.mcp_process.ServerProcess` is one."""

    def lines(self) -> AsyncIterator[bytes | int]:
        """What the server writes, line by line; of a line that is too long only sizes."""

    def write(self, line: bytes) -> None:
        """Send a line."""

    def write_if_ready(self, line: bytes) -> None:
        """Send a line of which nothing depends, unless the server does not read."""

    def kill(self) -> None:
        """End it at once."""

    async def stop(self) -> None:
        """End it, and wait for that."""


class McpAnswerError(ToolFailedError):
    """The server has answered by an error.

    Attributes:
        code: Its number.
        data: More of it; anything.
    """

    def __init__(self, message: str, code: Any, data: Any) -> None:
        self.code, self.data = code, data
        super().__init__(message)


NO_META: Mapping[str, str] = {}


class McpSession:
    """The requests to a server and its answers.

    Args:
        process: The server.
        name: How errors call it.
        full_name: How warnings call it, if not by that.

    Attributes:
        tools_changed: The server has announced that its list of tools is another one since that was last read.
        said: What it wrote last that answers nothing, for errors of what is not answered; empty where there is nothing.
    """

    def __init__(self, process: Channel, name: str, full_name: str = "") -> None:
        self._process, self.name, self._full_name = process, name, full_name or name
        self.tools_changed, self.said = False, ""
        self._has_warned = False
        self._numbers = count(1)
        self._pending: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._meta: dict[str, Any] = {}
        self._unasked = self._unasked_bytes = 0
        self._over = ""
        """Why there are no more answers; empty while there are."""
        self._reading = asyncio.create_task(self._read())

    @property
    def is_over(self) -> bool:
        """Whether there are no more answers."""
        return bool(self._over)

    async def shake_hands(self) -> None:
        """Begin."""
        asked = {"protocolVersion": _VERSIONS[0], "capabilities": {}, "clientInfo": _CLIENT}
        try:
            version = (await self.request("initialize", asked)).get("protocolVersion")
        except McpAnswerError as refusal:
            spoken = refusal.data.get("supported") if isinstance(refusal.data, Mapping) else None
            if refusal.code != _NO_SUCH_VERSION or not isinstance(spoken, list) or _STATELESS not in spoken:
                raise
            who = {"protocolVersion": _STATELESS, "clientInfo": _CLIENT, "clientCapabilities": {}}
            self._meta = {f"io.modelcontextprotocol/{key}": value for key, value in who.items()}
            return
        if version not in _VERSIONS:
            raise ToolFailedError(f"it speaks version {short(version)} of the protocol, not {', '.join(_VERSIONS)}")
        self._process.write(_message({"method": "notifications/initialized"}))

    async def tools(self) -> list[Any]:
        """All tools as the server lists them; nothing in them is checked."""
        self.tools_changed = False
        try:
            return await self._pages()
        except BaseException:
            self.tools_changed = True  # the list is unknown
            raise

    async def _pages(self) -> list[Any]:
        values: list[Any] = []
        cursor: str | None = None
        seen = {cursor}
        while True:
            page = await self.request("tools/list", {} if cursor is None else {"cursor": cursor})
            if not isinstance(page.get("tools"), list):
                raise ToolFailedError(f"its list of tools is {short(page.get('tools'))}")
            values += page["tools"]
            cursor = page.get("nextCursor")
            if not (cursor is None or isinstance(cursor, str)):
                raise ToolFailedError(f"the next page of its list of tools is {short(cursor)}, no text")
            if not cursor or cursor in seen:
                return values
            if len(seen) == MOST_PAGES or len(values) > MOST_LISTED:
                raise ToolFailedError(
                    f"its list of tools has no end: {len(values)} tools on {len(seen)} pages so far; at most "
                    f"{MOST_LISTED} on {MOST_PAGES} are read"
                )
            seen.add(cursor)

    async def request(
        self, method: str, params: Mapping[str, Any], meta: Mapping[str, str] = NO_META
    ) -> dict[str, Any]:
        """Ask, and wait for the answer.

        Args:
            method: Of the protocol.
            params: Of the method.
            meta: What goes along with it in ``_meta``.

        Returns:
            The result, a JSON object; nothing in it is checked.
        """
        if self._over:
            raise ToolFailedError(f"{self.name} {self._over}")
        number = next(self._numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._pending[number] = answer
        try:
            along = {**self._meta, **meta}
            asked = {**params, "_meta": along} if along else params
            self._process.write(_message({"id": number, "method": method, "params": asked}))
            return await answer
        except OSError as error:
            raise ToolFailedError(f"{self.name} takes nothing any more: {error}") from error
        finally:
            if self._pending.pop(number, None) is not None:
                cancelled = {"method": "notifications/cancelled", "params": {"requestId": number}}
                self._process.write_if_ready(_message(cancelled))

    async def close(self) -> None:
        """Stop the server, with all that it has started."""
        self._end("has been stopped: call its tools inside its 'async with'")
        try:
            await self._process.stop()  # its words are read meanwhile, so that it does not wait for that
        finally:
            self._reading.cancel()

    async def _read(self) -> None:
        try:
            async for line in self._process.lines():
                self._take(line)
                if self._unasked > MOST_UNASKED or self._unasked_bytes > MOST_UNASKED_BYTES:
                    what = f"{self._unasked} messages ({self._unasked_bytes} bytes) in a row were no answers"
                    self._end(f"was ended: {what}")
                    self._process.kill()
                    return
            self._end("has ended")
        finally:
            self._end("is not read any more")

    def _end(self, why: str) -> None:
        self._over = self._over or why
        self._fail(f"{self.name} {self._over}")

    def _fail(self, why: str) -> None:
        """No request that waits gets an answer any more."""
        for answer in self._pending.values():
            if not answer.done():
                answer.set_exception(ToolFailedError(why))
        self._pending.clear()

    def _take(self, line: bytes | int) -> None:
        if isinstance(line, int):
            if line > MOST_BYTES:  # the rest of such a line is not the answer to anything asked since
                self._fail(f"{self.name} answers more than {MOST_BYTES} bytes")
        elif self._is_answer(line):
            self._unasked, self._unasked_bytes, self.said = 0, 0, ""
            return
        self._unasked += 1
        self._unasked_bytes += line if isinstance(line, int) else len(line)

    def _is_answer(self, line: bytes) -> bool:
        """Take a line if it answers a request; refuse it if it is a request; else return False."""
        try:
            message, before = read_message(line)
        except ToolFailedError as error:
            is_more = getattr(error.__cause__, "msg", "") == "Extra data"
            meant = None if is_more or isinstance(error, _NoMessageError) else _ANSWER.match(line)
            answer = self._pending.pop(int(meant[1]), None) if meant else None
            if answer is None or answer.done():
                self._pass_over(line)
            else:  # an answer that is cut off, or beyond what is read
                answer.set_exception(ToolFailedError(f"{self.name}: {error}"))
            return False
        self._pass_over(before)
        if "method" in message:
            self._refuse(message["method"], message.get("id"))
            return False
        number = number_of(message)
        if message["id"] is None:  # what it could not read may be a notification, which needs no answer
            self.said = f"an error: {_error_text(message.get('error'))}"
            return False
        answer = self._pending.pop(number, None) if number is not None else None
        if answer is None or answer.done():
            return False
        result, error_ = message.get("result"), message.get("error")
        if error_ is not None:
            more = error_ if isinstance(error_, dict) else {}
            answer.set_exception(
                McpAnswerError(f"{self.name}: {_error_text(error_)}", more.get("code"), more.get("data"))
            )
        elif isinstance(result, dict):
            answer.set_result(result)
        else:
            answer.set_exception(ToolFailedError(f"{self.name} answers {short(result)}, not an object"))
        return True

    def _pass_over(self, line: bytes) -> None:
        """Servers write all kinds of words to stdout: the first of them are worth a warning."""
        if not line.strip():
            return
        words = redacted(cut(repr(line[: 4 * _LONGEST_ERROR].decode("utf-8", "replace")), _LONGEST_ERROR))
        self.said = f"{words}, which is no message"
        if not self._has_warned:
            self._has_warned = True
            logger.warning("%s writes to stdout what is no message of the protocol: %s", self._full_name, words)

    def _refuse(self, method: Any, number: Any) -> None:
        self.tools_changed = self.tools_changed or method == _CHANGED
        if type(number) is not int and (not isinstance(number, str) or len(number) > _LONGEST_ERROR):
            return  # a notification, or nothing that could be answered
        if method == "ping":
            self._process.write_if_ready(_message({"id": number, "result": {}}))
            return
        error = {"code": _NO_SUCH_METHOD, "message": "this client only calls tools"}
        self._process.write_if_ready(_message({"id": number, "error": error}))


def said_of(session: McpSession | None) -> str:
    """What a server wrote instead of an answer, as the end of a sentence; empty where that was nothing."""
    return f"; it wrote {session.said}" if session is not None and session.said else ""


def _message(content: Mapping[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **content}, allow_nan=False).encode() + b"\n"


def _error_text(error: Any) -> str:
    """The message of an error of the server."""
    text = error.get("message") if isinstance(error, dict) else error
    if isinstance(text, str) and text:
        return cut(text, _LONGEST_ERROR)
    return f"an error that does not say which: {short(error)}"
