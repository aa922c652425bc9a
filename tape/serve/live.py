"""A run that this server plays, and the places that such runs take."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from tape.approval import Approval
from tape.serve.records import RunRecord


@dataclass
class Live:
    """A run that this server plays.

    Attributes:
        record: As it is kept.
        task: Plays it.
        events: Those that a client sees.
        news: Set, and replaced, with each event and each change.
        answer: Of the question that waits.
        lost: Another server plays it by now.
    """

    record: RunRecord
    task: asyncio.Task[None] | None = None
    events: list[dict[str, Any]] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    answer: asyncio.Future[Approval] | None = None
    lost: bool = False

    def task_ends(self, *, lost: bool = False) -> None:
        """End what plays it."""
        self.lost = lost
        if self.task is not None:
            self.task.cancel()

    def decide(self, *, allow: bool) -> None:
        """Answer the question that waits."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(Approval.ALLOW if allow else Approval.REFUSE)

    def tell(self) -> None:
        """Wake those who watch."""
        self.news.set()
        self.news = asyncio.Event()


class Places:
    """Lets so many runs play at once; one that waits for a person leaves its place, and takes one again at once.

    Attributes:
        active: The runs that play.
    """

    def __init__(self, most: int) -> None:
        self._most, self.active = most, 0
        self._waiting: list[asyncio.Future[None]] = []

    async def __aenter__(self) -> None:
        while self.active >= self._most:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            finally:
                if turn in self._waiting:
                    self._waiting.remove(turn)
        self.active += 1

    async def __aexit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Give a place to the run that has waited longest."""
        self.active -= 1
        if self._waiting:
            self._waiting.pop(0).set_result(None)
