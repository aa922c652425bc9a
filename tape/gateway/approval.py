"""Asking before a destructive call: the client's user, by elicitation in either era, and people at the page."""

from __future__ import annotations

import asyncio
import json
import math
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult

from tape.gateway.books import digest
from tape.gateway.catalog import Offered
from tape.gateway.gateway import Caller
from tape.tools.json_schemas import described
from tape.tools.shown import Row, UnshowableError, pages_of, rows_of

ATTENDED_SECONDS = 90.0
"""Since the page was last asked for: browsers let a page in the background ask once a minute."""
MOST_SHOWN = 64 << 10
"""Characters of arguments; a call with more is not answered at the page, where none of them may be cut."""
_KEY, _MORE = "approve", "show"
_MOST_PENDING = 100
"""Of one client; one more takes the place of the oldest."""
_MAKE = {_KEY: {"type": "boolean", "title": "Make this call", "description": "It cannot be undone."}}
_SHOW = {_MORE: {"type": "boolean", "title": "Show more first", "description": "The call is not made yet."}}
_CANNOT = (
    "it is destructive, and this client cannot ask its user (elicitation). The configuration can allow it by "
    "allow_destructive = true"
)


@dataclass(eq=False)
class ApprovalQuestion:
    """A question.

    Attributes:
        who: Who calls.
        tool: What is to be called.
        origin: Whose tool it is.
        worst: What it costs at most, in units.
        shown: Every argument, whole; None where that is too long.
        seconds: For how long it can be answered.
        id: Of the question.
        at: Since when it waits.
        until: When it is too late, on the monotonic clock.
        answer: Why the call must not be made; empty where a person allows it.
    """

    who: Caller
    tool: str
    origin: str
    worst: Mapping[str, Any]
    shown: str | None
    seconds: float
    id: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    until: float = field(init=False)
    answer: asyncio.Future[str] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def __post_init__(self) -> None:
        self.until = time.monotonic() + self.seconds

    async def answered(self) -> str:
        """The answer of a person, in time."""
        done, _ = await asyncio.wait((self.answer,), timeout=max(0.0, self.until - time.monotonic()))
        return self.answer.result() if done else "it is destructive, and nobody at the page allowed it in time"


class Desk:
    """The questions that are open."""

    def __init__(self) -> None:
        self._asked: dict[str, ApprovalQuestion] = {}
        self._seen = -math.inf

    @property
    def attended(self) -> bool:
        """Whether somebody has the page open."""
        return time.monotonic() - self._seen < ATTENDED_SECONDS

    def seen(self) -> None:
        """Somebody has the page open now."""
        self._seen = time.monotonic()

    def put(self, asked: ApprovalQuestion) -> None:
        """Show a question, if it can be shown whole."""
        if asked.shown is not None:
            self._asked[asked.id] = asked

    def take(self, asked: ApprovalQuestion) -> None:
        """Show a question no more."""
        self._asked.pop(asked.id, None)

    @contextmanager
    def showing(self, asked: ApprovalQuestion) -> Iterator[None]:
        """Show a question while the block lasts."""
        self.put(asked)
        try:
            yield
        finally:
            self.take(asked)

    def waiting(self) -> list[ApprovalQuestion]:
        """The questions that can still be answered, the oldest first."""
        now = time.monotonic()
        for late in [question for question in self._asked.values() if question.until < now]:
            self.take(late)
        return list(self._asked.values())

    def find(self, id: str) -> ApprovalQuestion | None:
        """A question that can still be answered."""
        return next((question for question in self.waiting() if question.id == id), None)

    def answer(self, asked: ApprovalQuestion, no: str) -> bool:
        """Answer a question; False where it was answered elsewhere.

        Args:
            asked: The question.
            no: Why the call must not be made; empty if it may be.
        """
        if self._asked.pop(asked.id, None) is None:
            return False
        asked.answer.set_result(no)
        return True


class _UnaskedError(Exception):
    """The client's user could not be asked, or has not answered."""


class AskedError(Exception):
    """The client has to answer something before the call can go on."""

    def __init__(self, result: Any) -> None:
        self.result = result
        super().__init__()


@dataclass(frozen=True)
class _Pending:
    """A question that is out: for one call of one client, once."""

    call: str
    page: int
    asked: ApprovalQuestion


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

    def whole(self) -> str | None:
        """Every argument, with nothing left out; None where that is longer than what a page shows."""
        name = "\n".join(self.pages or map(str, self.rows))
        return name if len(name) <= MOST_SHOWN else None

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
    """Asks, and remembers what was asked. Who answers first decides, the client's user or a person at the page.

    Args:
        seconds: Time to answer.
        desk: Where people find what is asked.
    """

    def __init__(self, seconds: float, desk: Desk | None = None) -> None:
        self._seconds, self._desk = seconds, desk or Desk()
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
        """Why a call must not be made; empty where it is allowed.

        Raises:
            AskedError: The client comes again with the answer.
        """
        offered = getattr(context.session.client_capabilities, "elicitation", None)
        # Without a mode it is the form, as it was before there were modes.
        able = offered is not None and (offered.form is not None or offered.url is None)
        if not able and not self._desk.attended:
            return _CANNOT
        try:
            question = _Question.about(tool, arguments, worst)
        except UnshowableError as error:
            return f"it is destructive, and its arguments cannot be shown to the user in full: {error}"
        asked = ApprovalQuestion(who, tool.name, tool.origin, worst, question.whole(), self._seconds)
        if not able and asked.shown is None:
            return f"{_CANNOT}, and its arguments are longer than what the page shows"
        if able and not context.session.can_send_request:
            return self._ask_again(params, question, asked, digest(json.dumps([tool.name, arguments], sort_keys=True)))
        with self._desk.showing(asked):
            return await (self._ask_now(context, question, asked) if able else asked.answered())

    def _ask_again(self, params: Any, question: _Question, asked: ApprovalQuestion, call: str) -> str:
        """Let the client ask its user, or take the answer that it comes with."""
        page = 0
        if params.request_state is not None:
            pending = self._forget(params.request_state)
            if pending is not None and (pending.asked.who.client, pending.call) == (asked.who.client, call):
                if time.monotonic() > pending.asked.until:
                    return "the question was answered too late"
                answer = (params.input_responses or {}).get(_KEY)
                if pending.asked.answer.done():  # and who has said no since then is not passed over
                    return pending.asked.answer.result() or (_answer(answer) if _is_no(answer) else "")
                if not question.turns(pending.page, answer):
                    return _answer(answer)
                page = pending.page + 1
        state = secrets.token_urlsafe(18)
        mine = [state for state, item in self._pending.items() if item.asked.who.client == asked.who.client]
        if len(mine) >= _MOST_PENDING:
            self._forget(mine[0])
        self._pending[state] = _Pending(call, page, asked)
        self._desk.put(asked)
        raise AskedError(InputRequiredResult(input_requests={_KEY: question.request(page)}, request_state=state))

    def _forget(self, state: str) -> _Pending | None:
        pending = self._pending.pop(state, None)
        if pending is not None:
            self._desk.take(pending.asked)
        return pending

    async def _ask_now(self, context: Any, question: _Question, asked: ApprovalQuestion) -> str:
        """The first answer; who has the page open may still answer where the client's user has not."""
        user = asyncio.create_task(self._elicit(context, question))
        user.add_done_callback(lambda task: task.cancelled() or task.exception())  # perhaps nobody else asks for it
        try:
            await asyncio.wait((user, asked.answer), return_when=asyncio.FIRST_COMPLETED)
            if not asked.answer.done():
                return user.result()
        except _UnaskedError as error:
            if not self._desk.attended:
                return f"it is destructive, and asking the user failed: {error}"
        finally:
            user.cancel()  # the client is told that its answer is not needed
        return await asked.answered()

    async def _elicit(self, context: Any, question: _Question) -> str:
        """The answer of the client's user."""
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
                raise _UnaskedError(described(str(error))[:200]) from None
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


def _is_no(answer: Any) -> bool:
    """Whether a user has said no, and not merely left the question."""
    return getattr(answer, "action", None) == "decline" or _content(answer).get(_KEY) is False
