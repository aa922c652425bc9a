"""The gateway as an MCP server: tools only, in every version of the protocol that the SDK speaks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.server.lowlevel import Server

from tape import __version__
from tape.gateway.approval import Approvals, AskedError
from tape.gateway.catalog import Offered
from tape.gateway.config import LOCAL
from tape.gateway.desk import Desk
from tape.gateway.gateway import Caller, Gateway
from tape.gateway.stdio import client_streams

MOST_CALLS = 256
"""Of one client in flight."""

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
