"""Questions about destructive calls that people may answer at the gateway's page."""

from __future__ import annotations

import asyncio
import math
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tape.gateway.gateway import Caller

ATTENDED_SECONDS = 90.0
"""Since the page was last asked for: browsers let a page in the background ask once a minute."""
MOST_SHOWN = 64 << 10
"""Characters of arguments; a call with more is not answered at the page, where none of them may be cut."""


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
