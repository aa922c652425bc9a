"""What a ledger is told and says, and how it books amounts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from tape.budget.resources import Resources


class Payer(Protocol):
    """What a ledger can ask before it reserves: another ledger, in this process or elsewhere, or a record on disk."""

    def reserve(self, worst_case: Resources) -> Any:
        """Set the worst case aside; returns what :meth:`settle` and :meth:`release` need.

        Raises:
            BudgetExceededError: It does not fit; nothing was set aside.
            UnknownCostError: A capped kind has an unknown worst case.
        """

    def settle(self, reservation: Any, actual: Resources) -> object:
        """Book what was really spent and free the rest."""

    def release(self, reservation: Any) -> None:
        """Give a reservation back: nothing was spent."""


@dataclass(frozen=True)
class Broken:
    """More was used than had been declared: the worst case was none.

    Attributes:
        kind: The resource.
        declared: The reservation, in counts.
        used: What was used, in counts.
    """

    kind: str
    declared: int
    used: int


class Limit(NamedTuple):
    """A cap on one kind, in counts.

    Attributes:
        ledger: Whose it is.
        cap: The cap.
        left: What is left of it, reservations taken off; never below 0.
    """

    ledger: str
    cap: int
    left: int


def unknown(worst_case: Resources) -> Resources:
    """An unknown amount of each of the same kinds; settled, it books the worst case."""
    return Resources(dict.fromkeys(worst_case))


def booked(used: int | None, declared: int | None) -> int | None:
    """What is booked: an unknown usage as declared, and unknown only where that is unknown too."""
    return declared if used is None else used


def without(amounts: Resources, kinds: Collection[str]) -> Resources:
    """The amounts of the other kinds."""
    return Resources({kind: count for kind, count in amounts.items() if kind not in kinds})
