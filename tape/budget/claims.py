"""Claims: that an effect is made once, by whoever runs the plan, is settled where its budget is held.

A call that changes something is claimed by the key of its effect in the transaction that holds its worst case, and the
claim ends in the one that settles it. ``claimed`` becomes ``done`` with what came of the call, ``failed`` (it was not
made, and may be tried again), or ``unknown``.

A claim is for a lease. Once that is over, another worker takes it where the call may be made again, or where somebody
can be asked whether it was made, also after its end was unknown. Else the effect is ``unknown``: it counts as spent at
its worst case until a person decides.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple
from uuid import uuid4

from tape.budget.accounts import require_id, require_seconds
from tape.errors import ConfigError

LEASE = 60
"""Seconds of a claim by default."""
LONGEST_OUTCOME = 1 << 20
"""Characters of what is kept of a call."""

ClaimState = Literal["claimed", "taken", "busy", "done", "failed", "unknown"]
"""What a worker is told. ``claimed``: it makes the call. ``taken``: so it does, but another one may have made it.
``busy``: another one is at it."""
ClaimEnd = Literal["done", "failed", "unknown"]


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """A claim that is asked for.

    Attributes:
        key: Of the effect (:func:`tape.tools.context.effect_key`).
        worker: Who asks: a name of its own for every call. A process that makes a call again is another one too, since
            the first may have been made.
        lease: Seconds after which another worker may take it.
        again: After the lease of another one it may be taken, since the call may be made twice with one key, or
            somebody can be asked; else its effect is unknown then.

    Raises:
        ConfigError: A field is malformed; the message names it.
    """

    key: str
    worker: str
    lease: int = LEASE
    again: bool = False

    def __post_init__(self) -> None:
        require_id(self.key)
        require_id(self.worker)
        require_seconds("a claim has a lease of", self.lease)


class Claimed(NamedTuple):
    """The state of a claim, for the worker that asks.

    Attributes:
        key: Of the effect.
        state: Of the claim.
        attempt: How often the effect was begun, this time included.
        outcome: What came of the call, as it was given at its end.
        seconds: Until the lease of another one is over.
    """

    key: str
    state: ClaimState
    attempt: int = 1
    outcome: str = ""
    seconds: float = 0.0

    @property
    def mine(self) -> bool:
        """Whether the worker that asks makes the call."""
        return self.state in ("claimed", "taken")


class ClaimRecord(NamedTuple):
    """A claim as the store has it."""

    key: str
    scope: str
    name: str
    state: Literal["claimed", "done", "failed", "unknown"]
    worker: str
    attempt: int
    until: datetime
    outcome: str


def require_outcome(outcome: str) -> None:
    """See that what came of a call can be kept.

    Raises:
        ConfigError: It is no text of ASCII, as JSON is, or too long.
    """
    if not isinstance(outcome, str) or not outcome.isascii() or len(outcome) > LONGEST_OUTCOME or "\0" in outcome:
        raise ConfigError(f"what came of a call is kept as JSON in ASCII, at most {LONGEST_OUTCOME:,} characters")


def decided(result: str = "") -> str:
    """The outcome of a call that a person says was made.

    Args:
        result: What it returned, in JSON; empty where that is not known.

    Raises:
        ConfigError: It is no JSON.
    """
    if not result:
        return "{}"
    try:
        return json.dumps({"result": json.dumps(json.loads(result)), "failure": None})
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"the result of a call is given in JSON, such as '\"sent\"', not {result!r:.80}") from error


@dataclass
class Effect:
    """A call that changes something, which is paid for by a claim of its key.

    Attributes:
        key: Names the effect.
        again: See :class:`ClaimRequest`.
        lease: The least one, in seconds; the payer's own may be longer.
        claimed: How the claim stands, once the store was asked; None where nobody keeps claims.
        end: How the call has ended, and what came of it; None as long as that is not known.
        worker: See :class:`ClaimRequest`.
    """

    key: str
    again: bool = False
    lease: int = 1
    claimed: Claimed | None = None
    end: tuple[ClaimEnd, str] | None = None
    worker: str = field(default_factory=lambda: uuid4().hex)

    @property
    def is_told(self) -> bool:
        """Whether the store is told of the end; of an unknown effect where a trace says that it was done."""
        if self.end is None or self.claimed is None:
            return False
        return self.claimed.mine or (self.claimed.state == "unknown" and self.end[0] == "done")


_effect: ContextVar[Effect | None] = ContextVar("_effect", default=None)


@contextmanager
def claiming(effect: Effect | None) -> Iterator[None]:
    """Let what is reserved in the block be claimed for an effect, where a store pays."""
    token = _effect.set(effect)
    try:
        yield
    finally:
        _effect.reset(token)


def claimed_now() -> Effect | None:
    """The effect that is paid for now."""
    return _effect.get()
