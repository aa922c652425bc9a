"""A problem as data: offers instead of functions, so that it can be hashed, pickled and compared."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from tape.budget import Budget

CENT = 10_000
"""Counts of ``usd`` in a cent."""

CHANGES = ("none", "refused", "price", "wish", "length")
"""Changes during an episode: none; a tool refuses; prices change; the wish changes; a composite tool comes or goes."""

CAPS = ("fit", "tight", "short")
"""``fit``: the cheapest chain fits, with slack. ``tight``: it takes too long, a dearer one fits. ``short``: none
fits."""


@dataclass(frozen=True)
class Offer:
    """A typed tool and its price.

    Attributes:
        name: Unique.
        takes: The type that it takes.
        gives: The type that it gives.
        cents: Its price.
        millis: Its time, in thousandths of a second.
        span: How many stages it does; more than one makes it a composite.
    """

    name: str
    takes: str
    gives: str
    cents: int
    millis: int
    span: int = 1


@dataclass(frozen=True)
class Turn:
    """The one change of a problem.

    Attributes:
        after: Successful calls before it.
        offers: The list of offers from then on; None: as before.
        refusing: Tools that refuse from then on, unannounced.
        request: The user's words; empty where the wish stays.
        want: What is wanted from then on; empty likewise.
    """

    after: int
    offers: tuple[Offer, ...] | None = None
    refusing: tuple[str, ...] = ()
    request: str = ""
    want: str = ""


@dataclass(frozen=True)
class Reference:
    """What the oracle does, which knows of a change only when it comes: the chain of least cost for what is known.

    Attributes:
        tools: The successful calls.
        cents: What they cost.
        millis: How long they take.
        first: The chain that it sets out with.
    """

    tools: tuple[str, ...]
    cents: int
    millis: int
    first: tuple[str, ...]


@dataclass(frozen=True)
class ChainProblem:
    """One thing to be made.

    Attributes:
        id: Unique in its set.
        level: Stages from the start to the thing: so many calls of simple tools.
        change: One of :data:`CHANGES`.
        caps: One of :data:`CAPS`.
        offers: The tools at the start.
        start: The type that is there from the start.
        want: The type that is wanted at first.
        request: The same in words.
        goals: The types that requests may name.
        turn: What changes; None: nothing.
        reference: The oracle's chain; None where none fits.
        cents: The cap on money.
        millis: The cap on time.
    """

    id: str
    level: int
    change: str
    caps: str
    offers: tuple[Offer, ...]
    start: str
    want: str
    request: str
    goals: tuple[str, ...]
    turn: Turn | None
    reference: Reference | None
    cents: int
    millis: int

    @property
    def budget(self) -> Budget:
        """Caps on money and time; steps only keep an episode from going on for ever."""
        return Budget({"usd": self.cents * CENT, "seconds": self.millis, "steps": 4 * self.level + 10})

    @property
    def digest(self) -> str:
        """Identifies its content, in published results too: under the name that the class had when they were made."""
        return hashlib.sha256(repr(self).replace("ChainProblem(", "Problem(", 1).encode()).hexdigest()[:16]


def named(offers: Sequence[Offer]) -> dict[str, Offer]:
    """Offers by name."""
    return {offer.name: offer for offer in offers}
