"""What can be read of a ledger."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Self, TypeVar

from tape.budget.amounts import Account, Limit
from tape.budget.caps import Budget
from tape.budget.locks import OrderedLock
from tape.budget.resources import Resources

T = TypeVar("T")


class Readings(ABC):
    """Of a :class:`~tape.budget.Ledger`, all under its lock."""

    budget: Budget
    name: str
    _lock: OrderedLock
    _account: Account

    @abstractmethod
    def _chain(self) -> Iterator[Self]:
        """It and its parents."""

    @abstractmethod
    def _setting_aside(self, kind: str) -> Iterator[Self]:
        """Where an amount of a kind is set aside."""

    @abstractmethod
    def _book_due(self) -> None:
        """Book what finalizers have left."""

    def remaining(self, kind: str) -> int | None:
        """Counts left of a kind here and in all parents, reservations taken off; None where nothing caps it.

        Never below 0, even where a cost above its declared bound has led above a cap.
        """
        return min((limit.left for limit in self.limits(kind)), default=None)

    def limits(self, kind: str | None = None) -> tuple[Limit, ...]:
        """Every cap on a kind, or on any, this ledger's own first."""
        with self._lock, self._lock.mutex:
            self._book_due()
            return tuple(
                Limit(ledger.name, name, cap, ledger._account.used.get(name, 0), ledger._account.reserved.get(name, 0))
                for ledger in (self._chain() if kind is None else self._setting_aside(kind))
                for name, cap in ledger.budget.items()
                if kind in (None, name)
            )

    def capped(self) -> tuple[str, ...]:
        """The kinds that this ledger or a parent caps, in alphabetical order."""
        return tuple(sorted({kind for ledger in self._chain() for kind in ledger.budget}))

    @property
    def used(self) -> Resources:
        """What was settled here; None for a kind of which an unknown amount was."""
        return self._read(Account.all_used)

    @property
    def unproven(self) -> Resources:
        """The part of it that was booked without proof: worst cases where nobody has reported what was used."""
        return self._read(lambda account: Resources(account.unproven))

    @property
    def paid(self) -> Resources:
        """What that really cost: less than :attr:`used` where a cache answered."""
        return self._read(Account.all_paid)

    @property
    def reserved(self) -> Resources:
        """What is set aside and not yet settled or released."""
        return self._read(lambda account: Resources(account.reserved))

    @property
    def violations(self) -> Mapping[str, int]:
        """Uses above the declared bound, by kind."""
        return self._read(lambda account: dict(account.violations))

    def overspent(self) -> tuple[str, ...]:
        """Kinds whose settled use is above the cap (only a cost above the declared bound leads here)."""
        used = self._read(lambda account: dict(account.used))
        return tuple(kind for kind, cap in self.budget.items() if used.get(kind, 0) > cap)

    def _read(self, what: Callable[[Account], T]) -> T:
        with self._lock, self._lock.mutex:
            self._book_due()
            return what(self._account)
