"""How an endpoint is treated, and one client per event loop, since its connections belong to the loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, Literal, get_args

from tape.errors import ConfigError
from tape.lm.hosted.wire import Wire, WireSession
from tape.reading import short

Booked = Literal["worst", "prompt", "nothing"]
"""What is booked for a call that was not answered: its worst case, that of its prompt alone, or nothing."""

MOST = {"concurrency": 10_000, "timeout": 86_400, "retries": 100, "repairs": 100, "backoff": 86_400}
MOST |= {"max_wait": 86_400, "reasoning": 10_000_000}
"""The largest value of each: a day, or more than any endpoint can be asked for."""


@dataclass(frozen=True)
class EndpointLimits:
    """How an endpoint is treated.

    Attributes:
        concurrency: Most calls in flight, per process.
        timeout: Seconds for one call.
        retries: Further tries after a retryable failure: too many calls, time-out, broken connection, server error.
        repairs: Further tries after an answer that breaks the constraint.
        backoff: Seconds before the first retry; doubled with each, and drawn from the upper half.
        max_wait: Most seconds to wait before a retry; an endpoint that asks for more is given up.
        reasoning: Tokens that a reasoning model may think before it answers; they add to every request's limit and
            to its worst case.
        after_error: What is booked for a call that was answered by an HTTP error which may be billed: all but 429 and
            most others from 400 to 499, which are given before anything is computed.
        after_no_answer: What is booked for a call that was sent and got no answer: a time-out, a broken connection, a
            redirect, an answer that is none.

    Raises:
        ConfigError: One is out of range, or no word that there is.
    """

    concurrency: int = 8
    timeout: float = 120.0
    retries: int = 4
    repairs: int = 1
    backoff: float = 0.5
    max_wait: float = 60.0
    reasoning: int = 0
    after_error: Booked = "worst"
    after_no_answer: Booked = "worst"

    def __post_init__(self) -> None:
        if self.concurrency < 1 or not self.timeout > 0:
            raise ConfigError("a hosted model needs concurrency >= 1 and timeout > 0")
        for name, most in MOST.items():
            if not 0 <= (value := getattr(self, name)) <= most:
                given = value if abs(value) < 1e15 else "more"
                raise ConfigError(f"{name} of a hosted model must be a number from 0 to {most:,}, got {given}")
        for name in ("after_error", "after_no_answer"):
            if (booked := getattr(self, name)) not in get_args(Booked):
                raise ConfigError(
                    f"{name} of a hosted model is what is booked after such a fault, one of "
                    f"{', '.join(get_args(Booked))}; got {short(booked)}"
                )


class InLoop:
    """Client and call limit of one event loop."""

    def __init__(self, wire: Wire, concurrency: int) -> None:
        self._wire = wire
        self._slots = asyncio.Semaphore(concurrency)
        self._session: WireSession | None = None
        self._keeper: AsyncGenerator[None, None] | None = None

    async def __aenter__(self) -> WireSession:
        if self._session is None:
            self._session = self._wire.open()
            self._keeper = _kept(self._session)
            await anext(self._keeper)
        await self._slots.acquire()
        return self._session

    async def __aexit__(self, *_: Any) -> None:
        self._slots.release()


async def _kept(session: WireSession) -> AsyncGenerator[None, None]:
    """Closes a client with its event loop.

    ``asyncio.run`` closes generators that were begun in its loop before it closes the loop itself, so connections
    are given back where they belong, whoever runs the loop.
    """
    try:
        yield
    finally:
        await session.close()
