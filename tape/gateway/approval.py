"""Asking the user before a destructive call, by elicitation, in either era of the protocol."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult

from tape.gateway.catalog import Offered
from tape.gateway.gateway import Caller
from tape.gateway.journal import digest
from tape.redaction import redacted
from tape.tools.mcp_schema import described
from tape.tools.results import cut

_KEY = "approve"
_LONGEST = 600
_MOST_PENDING = 100
"""Of one client; one more takes the place of the oldest."""
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {_KEY: {"type": "boolean", "title": "Make this call", "description": "It cannot be undone."}},
    "required": [_KEY],
}
_CANNOT = (
    "it is destructive, and this client cannot ask its user (elicitation). Whoever runs the gateway can allow it by "
    "allow_destructive = true"
)


class AskedError(Exception):
    """The client has to answer something before the call can go on.

    Attributes:
        result: What it is told.
    """

    def __init__(self, result: Any) -> None:
        self.result = result
        super().__init__()


@dataclass(frozen=True)
class _Pending:
    """A question that is out: for one call of one client, once."""

    caller: str
    call: str
    until: float


class Approvals:
    """Asks, and remembers what was asked.

    Args:
        seconds: How long somebody may think.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._pending: dict[str, _Pending] = {}

    async def ask(
        self,
        context: Any,
        params: Any,
        who: Caller,
        tool: Offered,
        arguments: Mapping[str, Any],
        worst: Mapping[str, Any],
    ) -> str:
        """Why a call must not be made; empty where the user allows it.

        Raises:
            AskedError: The client comes again with the answer.
        """
        offered = getattr(context.session.client_capabilities, "elicitation", None)
        # Without a mode it is the form, as it was before there were modes.
        if offered is None or (offered.form is None and offered.url is not None):
            return _CANNOT
        question = _question(tool, arguments, worst)
        if context.session.can_send_request:
            return await self._ask_now(context, question)
        call = digest(json.dumps([tool.name, arguments], sort_keys=True))
        if params.request_state is not None:
            pending = self._pending.pop(params.request_state, None)
            if pending is not None and (pending.caller, pending.call) == (who.client, call):
                if time.monotonic() > pending.until:
                    return "the question was answered too late"
                return _answer((params.input_responses or {}).get(_KEY))
        state = secrets.token_urlsafe(18)
        mine = [state for state, pending in self._pending.items() if pending.caller == who.client]
        if len(mine) >= _MOST_PENDING:
            del self._pending[mine[0]]
        self._pending[state] = _Pending(who.client, call, time.monotonic() + self._seconds)
        request = ElicitRequest(params=ElicitRequestFormParams(message=question, requested_schema=_SCHEMA))
        raise AskedError(InputRequiredResult(input_requests={_KEY: request}, request_state=state))

    async def _ask_now(self, context: Any, question: str) -> str:
        from mcp import MCPError
        from mcp.shared.message import ServerMessageMetadata
        from mcp_types import ElicitResult

        request = ElicitRequest(params=ElicitRequestFormParams(message=question, requested_schema=_SCHEMA))
        try:
            answer = await context.session.send_request(
                request,
                ElicitResult,
                request_read_timeout_seconds=self._seconds,
                metadata=ServerMessageMetadata(related_request_id=context.request_id),
            )
        except (MCPError, ValueError) as error:  # a refusal, no answer in time, or one that is none
            return f"it is destructive, and asking the user failed: {described(str(error))[:200]}"
        return _answer(answer)


def _answer(answer: Any) -> str:
    if getattr(answer, "action", None) == "accept" and (getattr(answer, "content", None) or {}).get(_KEY) is True:
        return ""
    return "it is destructive, and the user did not allow it"


def _question(tool: Offered, arguments: Mapping[str, Any], worst: Mapping[str, Any]) -> str:
    said = cut(described(redacted(json.dumps(arguments, ensure_ascii=False))), _LONGEST)
    cost = ", ".join(f"{kind} {most}" for kind, most in worst.items())
    asked = f"Call {tool.name} of {tool.origin}? It may destroy what cannot be brought back."
    return f"{asked} Arguments: {said}. At most: {cost}."
