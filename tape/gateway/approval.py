"""Asking the user before a destructive call, by elicitation, in either era of the protocol."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult

from tape.gateway.catalog import Offered
from tape.gateway.gateway import Caller
from tape.gateway.journal import digest
from tape.tools.mcp_schema import described
from tape.tools.shown import Row, UnshowableError, pages_of, rows_of

_KEY, _MORE = "approve", "show"
_MOST_PENDING = 100
"""Of one client; one more takes the place of the oldest."""
_MAKE = {_KEY: {"type": "boolean", "title": "Make this call", "description": "It cannot be undone."}}
_SHOW = {_MORE: {"type": "boolean", "title": "Show more first", "description": "The call is not made yet."}}
_CANNOT = (
    "it is destructive, and this client cannot ask its user (elicitation). The configuration can allow it by "
    "allow_destructive = true"
)


class AskedError(Exception):
    """The client has to answer something before the call can go on.

    Attributes:
        result: The answer to the client.
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
    page: int


@dataclass(frozen=True)
class _Question:
    """What the user is asked about a call: first with long values cut, then on request page by page with the whole.

    Attributes:
        tool: What is to be called.
        worst: What it costs at most.
        rows: Its arguments.
        pages: The whole of them; none where nothing is cut.
    """

    tool: Offered
    worst: Mapping[str, Any]
    rows: Sequence[Row]
    pages: Sequence[str]

    @classmethod
    def about(cls, tool: Offered, arguments: Mapping[str, Any], worst: Mapping[str, Any]) -> _Question:
        """The question about a call.

        Raises:
            UnshowableError: Its arguments cannot be shown, in the question or as a whole.
        """
        rows = rows_of(arguments)
        return cls(tool, worst, rows, pages_of(arguments) if any(row.cut for row in rows) else ())

    def request(self, page: int) -> ElicitRequest:
        """The question; page 0 is the first one, with every argument."""
        tool, cost = self.tool, ", ".join(f"{kind} {most}" for kind, most in self.worst.items())
        asked = f"Call {tool.name} of {tool.origin}? It may destroy what cannot be brought back. At most: {cost}."
        more = page < len(self.pages)
        if page == 0:
            shown = "\n".join(map(str, self.rows))
            what = f"Its {len(self.rows)} arguments" if len(self.rows) != 1 else "Its argument"
            what += f', some cut; answer with "{_MORE}" to see them whole' if more else ""
        else:
            shown, what = self.pages[page - 1], f"Its arguments whole, page {page} of {len(self.pages)}"
        message = f"{asked} {what}:\n{shown}" if shown else f"{asked} It has no arguments."
        schema = {"type": "object", "properties": _MAKE | (_SHOW if more else {}), "required": [_KEY]}
        return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))

    def turns(self, page: int, answer: Any) -> bool:
        """Whether an answer to a page asks for the next one, and there is one; then nothing is approved by it."""
        return _content(answer).get(_MORE) is True and page < len(self.pages)


class Approvals:
    """Asks, and remembers what was asked.

    Args:
        seconds: Time to answer.
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
        try:
            question = _Question.about(tool, arguments, worst)
        except UnshowableError as error:
            return f"it is destructive, and its arguments cannot be shown to the user in full: {error}"
        if context.session.can_send_request:
            return await self._ask_now(context, question)
        call = digest(json.dumps([tool.name, arguments], sort_keys=True))
        page = 0
        if params.request_state is not None:
            pending = self._pending.pop(params.request_state, None)
            if pending is not None and (pending.caller, pending.call) == (who.client, call):
                if time.monotonic() > pending.until:
                    return "the question was answered too late"
                answer = (params.input_responses or {}).get(_KEY)
                if not question.turns(pending.page, answer):
                    return _answer(answer)
                page = pending.page + 1
        state = secrets.token_urlsafe(18)
        mine = [state for state, pending in self._pending.items() if pending.caller == who.client]
        if len(mine) >= _MOST_PENDING:
            del self._pending[mine[0]]
        self._pending[state] = _Pending(who.client, call, time.monotonic() + self._seconds, page)
        raise AskedError(InputRequiredResult(input_requests={_KEY: question.request(page)}, request_state=state))

    async def _ask_now(self, context: Any, question: _Question) -> str:
        from mcp import MCPError
        from mcp.shared.message import ServerMessageMetadata
        from mcp_types import ElicitResult

        page = 0
        while True:
            try:
                answer = await context.session.send_request(
                    question.request(page),
                    ElicitResult,
                    request_read_timeout_seconds=self._seconds,
                    metadata=ServerMessageMetadata(related_request_id=context.request_id),
                )
            except (MCPError, ValueError) as error:  # a refusal, no answer in time, or one that is none
                return f"it is destructive, and asking the user failed: {described(str(error))[:200]}"
            if not question.turns(page, answer):
                return _answer(answer)
            page += 1


def _content(answer: Any) -> Mapping[str, Any]:
    return (getattr(answer, "content", None) or {}) if getattr(answer, "action", None) == "accept" else {}


def _answer(answer: Any) -> str:
    content = _content(answer)
    if content.get(_KEY) is True and not content.get(_MORE):
        return ""
    return "it is destructive, and the user did not allow it"
