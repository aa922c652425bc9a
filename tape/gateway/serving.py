"""The gateway as an MCP server: tools only, in every version of the protocol that the SDK speaks."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from tape import __version__
from tape.budget.deadline import in_thread
from tape.gateway.approval import Approvals, AskedError, Desk
from tape.gateway.catalog import Offered
from tape.gateway.config import LOCAL
from tape.gateway.gateway import Caller, Gateway

MOST_CALLS = 256
"""Of one client in flight."""

LAST_SECONDS = 2.0
"""How long the last answers may take after the client has closed its end."""

_CHUNK = 1 << 16

INSTRUCTIONS = (
    "Every call has a price and is refused where its worst case does not fit into what is left. Ask budget for what is "
    "left. A refusal names what would fit."
)
PLAN_FIRST = " Ask plan before a task of several calls."


def make_server(gateway: Gateway, desk: Desk | None = None) -> Any:
    """The server of the SDK that asks a gateway, and who has its page open before destructive calls."""
    approvals = Approvals(gateway.config.limits.approve_seconds, desk)
    in_flight: dict[str, int] = {}

    async def list_tools(context: Any, params: Any) -> dict[str, Any]:  # noqa: ARG001 - as the SDK calls it
        return {"tools": gateway.listed(), "ttlMs": 0, "cacheScope": "private", "resultType": "complete"}

    async def call_tool(context: Any, params: Any) -> Any:
        who = caller(context)

        async def approve(tool: Offered, arguments: Mapping[str, Any], worst: Mapping[str, Any]) -> str:
            return await approvals.ask(context, params, who, tool, arguments, worst)

        if in_flight.get(who.client, 0) >= MOST_CALLS:  # a client may hang up on one and make the next
            message = f"{MOST_CALLS} calls of this client are in flight; wait for them"
            return {"resultType": "complete", **gateway.busy(who, params.name, message)}
        in_flight[who.client] = in_flight.get(who.client, 0) + 1
        try:
            made = await gateway.call(who, params.name, params.arguments or {}, approve)
            return {"resultType": "complete", **made}
        except AskedError as asked:
            return asked.result
        finally:
            in_flight[who.client] -= 1

    server = Server(
        gateway.config.limits.name,
        version=__version__,
        instructions=INSTRUCTIONS + (PLAN_FIRST if "plan" in gateway.catalog.own else ""),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    server.middleware.clear()  # no spans, whose exporters would get arguments
    return server


def caller(context: Any) -> Caller:
    """The sender of a request: over HTTP by its token and the slot of its session, else the one client of stdio."""
    request = context.request
    if request is None:
        return Caller(LOCAL, "stdio")
    return Caller(request.scope["user"].username, request.scope["state"]["slot"])


async def serve_stdio(gateway: Gateway) -> None:
    """Serve one client over standard input and output, until it hangs up."""
    server = make_server(gateway)
    async with client_streams() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


# --- a client that no longer reads, or no longer writes, never holds the gateway up ----------------------


@asynccontextmanager
async def client_streams() -> AsyncIterator[tuple[Any, Any]]:
    """The streams of messages from and to the client, until it hangs up.

    The SDK's own streams read and write in threads that it waits for: a client that has closed one pipe alone would
    keep the gateway and all its servers alive. What else writes to standard output goes to standard error meanwhile.
    """
    loop = asyncio.get_running_loop()
    reading, writing = _moved(0, os.open(os.devnull, os.O_RDONLY)), _moved(1, os.dup(2))
    rest = asyncio.timeout(None)
    try:
        async with rest, stdio_server(_Lines(reading), _Answers(writing)) as streams:
            yield streams
            rest.reschedule(loop.time() + LAST_SECONDS)
    except* BrokenPipeError:
        pass  # the client does not read what is answered
    except* TimeoutError:
        if not rest.expired():
            raise
    finally:
        os.dup2(reading, 0)
        os.dup2(writing, 1)


def _moved(descriptor: int, other: int) -> int:
    """Put another file in the place of a standard one; returns where that is now."""
    kept = os.dup(descriptor)
    os.dup2(other, descriptor)
    os.close(other)
    return kept


class _Lines:
    """What the client writes, line by line."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def __aiter__(self) -> AsyncIterator[str]:
        held = bytearray()
        while chunk := await in_thread(lambda: os.read(self._descriptor, _CHUNK), "tape gateway: input"):
            *ends, rest = chunk.split(b"\n")
            for end in ends:
                yield (held + end).decode("utf-8", "replace")
                held.clear()
            held += rest


class _Answers:
    """What is written to the client."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def write(self, text: str) -> None:
        await in_thread(lambda: self._write(text.encode()), "tape gateway: output")

    async def flush(self) -> None:
        """Nothing is held back."""

    def _write(self, left: bytes) -> None:
        while left:
            left = left[os.write(self._descriptor, left) :]
