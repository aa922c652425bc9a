"""What a ledger takes and returns, and how it books amounts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from tape.budget.resources import Resources


class Payer(Protocol):
    """What a ledger can ask before it reserves: another ledger, in this process or elsewhere, or a record on disk."""

    @property
    def rank(self) -> int:
        """Of the first lock that asking takes (:mod:`tape.budget.locks`); ``CLIENT`` where it takes none."""

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
    """More was used than the declared bound.

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


class Account:
    """What one ledger has booked, in counts; its fields are changed under the ledger's lock.

    Attributes:
        reserved: Set aside, by kind.
        used: Settled, the known amounts, by kind.
        violations: Uses above the declared bound, by kind.
    """

    def __init__(self) -> None:
        self.reserved: dict[str, int] = {}
        self.used: dict[str, int] = {}
        self.violations: dict[str, int] = {}
        self._paid: dict[str, int] = {}
        self._unknown_used: set[str] = set()
        self._unknown_paid: set[str] = set()

    def set_aside(self, kind: str, count: int) -> None:
        """Reserve more of a kind, or less."""
        self.reserved[kind] = self.reserved.get(kind, 0) + count

    def add(self, used: Mapping[str, int | None], paid: Mapping[str, int | None]) -> None:
        """Book what was used, and what that really cost."""
        for kind, count in used.items():
            self.used[kind] = self.used.get(kind, 0) + (count or 0)
        for kind, count in paid.items():
            self._paid[kind] = self._paid.get(kind, 0) + (count or 0)
        self._unknown_used |= {kind for kind, count in used.items() if count is None}
        self._unknown_paid |= {kind for kind, count in paid.items() if count is None}

    def taken(self, kind: str) -> int:
        """Settled or reserved of a kind."""
        return self.used.get(kind, 0) + self.reserved.get(kind, 0)

    def all_used(self) -> Resources:
        """What was settled; None for a kind of which an unknown amount was."""
        return Resources({**self.used, **dict.fromkeys(self._unknown_used)})

    def all_paid(self) -> Resources:
        """What that really cost."""
        return Resources({**self._paid, **dict.fromkeys(self._unknown_paid)})


def unknown(worst_case: Resources) -> Resources:
    """An unknown amount of each of the same kinds; settled, it books the worst case."""
    return Resources(dict.fromkeys(worst_case))


def booked(used: int | None, declared: int | None) -> int | None:
    """What is booked: an unknown usage as declared, and unknown only where that is unknown too."""
    return declared if used is None else used


def without(amounts: Resources, kinds: Collection[str]) -> Resources:
    """The amounts of the other kinds."""
    return Resources({kind: count for kind, count in amounts.items() if kind not in kinds})
