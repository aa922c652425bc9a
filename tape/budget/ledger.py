"""Budgets and ledgers: reserved before anything is spent, settled after (docs/budgets.md)."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

from tape.budget.resources import Resources, kind_of
from tape.errors import BudgetExceededError, ConfigError, UnknownCostError


class Budget(Mapping[str, int]):
    """Hard caps in counts; a kind without a cap is not limited."""

    __slots__ = ("_caps",)

    def __init__(self, caps: Mapping[str, int] | None = None) -> None:
        for name, cap in (caps or {}).items():
            if isinstance(cap, bool) or not isinstance(cap, int) or cap < 0:
                raise ConfigError(f"budget {name}: a cap is an integer >= 0, got {cap!r}")
        self._caps = dict(sorted((caps or {}).items()))

    @classmethod
    def of(cls, **amounts: int | float | str | Decimal) -> Budget:
        """Build from amounts in units, for instance ``Budget.of(steps=8, usd="0.05")``."""
        return cls({name: kind_of(name).count(value) for name, value in amounts.items()})

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Read ``steps=8,usd=0.05``.

        Raises:
            ConfigError: Says which part is malformed.
        """
        amounts: dict[str, str] = {}
        for part in filter(None, (p.strip() for p in text.split(","))):
            name, equals, value = part.partition("=")
            if not equals or not value:
                raise ConfigError(f"budget {part!r}: expected KIND=AMOUNT, for instance steps=8")
            if name.strip() in amounts:
                raise ConfigError(f"budget: {name.strip()} is given twice")
            amounts[name.strip()] = value.strip()
        return cls.of(**amounts)

    def __getitem__(self, name: str) -> int:
        return self._caps[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._caps)

    def __len__(self) -> int:
        return len(self._caps)

    def __or__(self, other: Budget) -> Budget:
        """Caps of both; where both cap a kind, the tighter one."""
        merged = dict(self._caps)
        for name, cap in other._caps.items():
            merged[name] = min(cap, merged.get(name, cap))
        return Budget(merged)

    def without(self, *names: str) -> Budget:
        """The other caps."""
        return Budget({name: cap for name, cap in self._caps.items() if name not in names})

    def __repr__(self) -> str:
        return f"Budget({self._caps})"


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


@dataclass(eq=False)
class Reservation:
    """A worst case set aside; settle or release it exactly once.

    As a context manager it is settled at the whole worst case where the block leaves it open: what an interrupted
    call used is unknown.
    """

    ledger: Ledger
    worst_case: Resources
    outer: Any = None
    open: bool = True

    def settle(
        self, actual: Resources, paid: Resources | None = None, parts: Sequence[tuple[Resources, Resources]] = ()
    ) -> tuple[Broken, ...]:
        """See :meth:`Ledger.settle`."""
        return self.ledger.settle(self, actual, paid, parts)

    def release(self) -> None:
        """See :meth:`Ledger.release`."""
        self.ledger.release(self)

    def __enter__(self) -> Reservation:
        return self

    def __exit__(self, *_: object) -> None:
        if self.open:
            self.settle(unknown(self.worst_case))


def unknown(worst_case: Resources) -> Resources:
    """An unknown amount of each of the same kinds; settled, it books the worst case."""
    return Resources(dict.fromkeys(worst_case))


class Ledger:
    """Keeps a budget: refuses a reservation that does not fit, settles what was really used.

    Ledgers nest: a reservation must fit into the ledger and all its parents at once. All ledgers of
    a tree share one lock, so concurrent reservations never oversubscribe.

    Args:
        budget: The caps.
        parent: The enclosing ledger, if any; its caps count in :meth:`remaining` and :meth:`capped`.
        name: For error messages, for instance ``"episode"``.
        payer: Is asked last for every reservation and told what was paid, but its caps are not seen here: a run's
            budget, which refuses but must not shape an episode. The outermost ledger of a tree has it.

    Raises:
        ConfigError: There are both a parent and a payer.
    """

    def __init__(
        self,
        budget: Budget | None = None,
        parent: Ledger | None = None,
        name: str = "episode",
        payer: Payer | None = None,
    ) -> None:
        if parent is not None and payer is not None:
            raise ConfigError(
                f"the {name} ledger has a parent, so its payer would never be asked; give it to the parent"
            )
        self.budget = budget or Budget()
        self.parent = parent
        self.name = name
        self.refused: BudgetExceededError | None = None
        """The last refusal for want of this ledger's own budget."""
        self._payer = payer
        self._lock: threading.RLock = parent._lock if parent else threading.RLock()
        self._used: dict[str, int] = {}
        self._paid: dict[str, int] = {}
        self._unknown_used: set[str] = set()
        self._unknown_paid: set[str] = set()
        self._reserved: dict[str, int] = {}
        self._violations: dict[str, int] = {}

    def _chain(self) -> Iterator[Ledger]:
        ledger: Ledger | None = self
        while ledger is not None:
            yield ledger
            ledger = ledger.parent

    def reserve(self, worst_case: Resources) -> Reservation:
        """Set the worst case aside in this ledger, all its parents and their payer, or in none.

        Raises:
            UnknownCostError: A capped kind has an unknown worst case.
            BudgetExceededError: It does not fit.
        """
        with self._lock:
            outer = None
            for ledger in self._chain():
                ledger._check(worst_case)
                outermost = ledger
            payer = outermost._payer
            if payer is not None:
                outer = payer.reserve(worst_case)
            for ledger in self._chain():
                for kind in worst_case:
                    ledger._reserved[kind] = ledger._reserved.get(kind, 0) + (worst_case[kind] or 0)
        return Reservation(self, worst_case, outer)

    def _check(self, worst_case: Resources) -> None:
        for kind, cap in self.budget.items():
            wanted = worst_case[kind]
            if wanted is None:
                raise UnknownCostError(
                    f"the worst case of {kind} is unknown under the hard cap of the {self.name} ledger; "
                    f"declare it or lift the cap on {kind}"
                )
            taken = self._used.get(kind, 0) + self._reserved.get(kind, 0)
            if wanted > 0 and taken + wanted > cap:
                self.refused = BudgetExceededError(kind, cap, taken, wanted, self.name)
                raise self.refused

    def settle(
        self,
        reservation: Reservation,
        actual: Resources,
        paid: Resources | None = None,
        parts: Sequence[tuple[Resources, Resources]] = (),
    ) -> tuple[Broken, ...]:
        """Book what was used and free the rest.

        An unknown usage is booked as the whole reservation.

        Args:
            reservation: What was set aside.
            actual: What was used; counts against the budget.
            paid: What it really cost, where that is less, for instance nothing for a cached answer. It is recorded
                beside, and is what the payer is told.
            parts: What was declared for and used by each part, where the reservation is for several: one that used
                too much is not excused by the others.

        Returns:
            The broken declarations: kinds of which more was used than was set aside, if they are capped or the
            reservation named them. They are booked in full and counted.

        Raises:
            ConfigError: The reservation belongs to another ledger or is closed already.
        """
        with self._lock:
            payer = self._close(reservation)
            declared = reservation.worst_case
            kinds = sorted({*actual, *declared, *(paid or ())})
            used = {kind: _booked(actual[kind], declared[kind]) for kind in kinds}
            spent = used if paid is None else {kind: _booked(paid[kind], declared[kind]) for kind in kinds}
            broken = tuple(found for part in parts or [(declared, actual)] for found in self._broken(part[0], part[1]))
            for ledger in self._chain():
                for kind in kinds:
                    ledger._used[kind] = ledger._used.get(kind, 0) + (used[kind] or 0)
                    ledger._paid[kind] = ledger._paid.get(kind, 0) + (spent[kind] or 0)
                ledger._unknown_used |= {kind for kind in kinds if used[kind] is None}
                ledger._unknown_paid |= {kind for kind in kinds if spent[kind] is None}
                for found in broken:
                    ledger._violations[found.kind] = ledger._violations.get(found.kind, 0) + 1
            if payer is not None:
                payer.settle(reservation.outer, Resources(spent))
        return broken

    def _broken(self, declared: Resources, actual: Resources) -> Iterator[Broken]:
        """What was used beyond its declaration; kinds that are neither capped nor declared are nobody's promise."""
        capped = self.capped()
        for kind in actual:
            used, most = actual[kind], declared[kind]
            if used is not None and used > (most or 0) and (kind in capped or (kind in declared and most is not None)):
                yield Broken(kind, most or 0, used)

    def release(self, reservation: Reservation) -> None:
        """Give a reservation back unused."""
        with self._lock:
            payer = self._close(reservation)
            if payer is not None:
                payer.release(reservation.outer)

    def _close(self, reservation: Reservation) -> Payer | None:
        """Take a reservation off everywhere but at the payer, which is returned."""
        if reservation.ledger is not self:
            raise ConfigError("the reservation belongs to another ledger")
        if not reservation.open:
            raise ConfigError("the reservation is settled or released already")
        reservation.open = False
        for ledger in self._chain():
            for kind in reservation.worst_case:
                ledger._reserved[kind] -= reservation.worst_case[kind] or 0
            outermost = ledger
        return outermost._payer

    def book(self, spent: Resources) -> None:
        """Count what was spent before this ledger was made, whatever the caps say; the payer is not told.

        Raises:
            UnknownCostError: Of a capped kind an unknown amount was spent.
        """
        for kind in self.capped():
            if spent[kind] is None:
                raise UnknownCostError(
                    f"how much {kind} was spent before is unknown, so the cap on {kind} of the {self.name} ledger "
                    "cannot be kept; lift it"
                )
        with self._lock:
            for ledger in self._chain():
                for kind in spent:
                    ledger._used[kind] = ledger._used.get(kind, 0) + (spent[kind] or 0)
                    ledger._paid[kind] = ledger._paid.get(kind, 0) + (spent[kind] or 0)
                unknown_kinds = {kind for kind in spent if spent[kind] is None}
                ledger._unknown_used |= unknown_kinds
                ledger._unknown_paid |= unknown_kinds

    def remaining(self, kind: str) -> int | None:
        """Counts left of a kind here and in all parents, reservations taken off; None where nothing caps it.

        Never below 0, even where a broken declaration has led above a cap.
        """
        with self._lock:
            left = [
                ledger.budget[kind] - ledger._used.get(kind, 0) - ledger._reserved.get(kind, 0)
                for ledger in self._chain()
                if kind in ledger.budget
            ]
        return max(0, min(left)) if left else None

    def capped(self) -> tuple[str, ...]:
        """The kinds that this ledger or a parent caps, in alphabetical order."""
        return tuple(sorted({kind for ledger in self._chain() for kind in ledger.budget}))

    @property
    def used(self) -> Resources:
        """What was settled here; None for a kind of which an unknown amount was."""
        with self._lock:
            return Resources({**self._used, **dict.fromkeys(self._unknown_used)})

    @property
    def paid(self) -> Resources:
        """What that really cost: less than :attr:`used` where a cache answered."""
        with self._lock:
            return Resources({**self._paid, **dict.fromkeys(self._unknown_paid)})

    @property
    def reserved(self) -> Resources:
        """What is set aside and not yet settled or released."""
        with self._lock:
            return Resources(self._reserved)

    @property
    def violations(self) -> Mapping[str, int]:
        """Broken declarations, by kind."""
        with self._lock:
            return dict(self._violations)

    def overspent(self) -> tuple[str, ...]:
        """Kinds whose settled use is above the cap (only a broken declaration leads here)."""
        with self._lock:
            return tuple(kind for kind, cap in self.budget.items() if self._used.get(kind, 0) > cap)


def _booked(used: int | None, declared: int | None) -> int | None:
    """What is booked: an unknown usage as declared, and unknown only where that is unknown too."""
    return declared if used is None else used
