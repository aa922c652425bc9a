"""Resources, budgets and ledgers: integers, reserved before anything is spent (DESIGN section 4)."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from tape.errors import BudgetExceededError, ConfigError, UnknownCostError


@dataclass(frozen=True)
class ResourceKind:
    """A kind of resource, held as an integer count of its resolution.

    Attributes:
        name: For instance ``"usd"``.
        unit: For people, for instance ``"US dollar"``.
        resolution: The size of one count in units, for instance ``Decimal("1e-6")``.
    """

    name: str
    unit: str
    resolution: Decimal

    def count(self, amount: int | float | str | Decimal) -> int:
        """Turn an amount in units into counts.

        Raises:
            ConfigError: The amount is negative, not a number, or not a whole number of counts.
        """
        try:
            value = Decimal(str(amount)) / self.resolution
        except ArithmeticError:
            raise ConfigError(f"{self.name}: {amount!r} is not a number of {self.unit}s") from None
        if not value.is_finite() or value < 0:
            raise ConfigError(f"{self.name}: {amount!r} must be a finite number >= 0")
        if value != value.to_integral_value():
            raise ConfigError(f"{self.name}: {amount!r} is finer than the resolution of {self.resolution} {self.unit}")
        return int(value)

    def amount(self, count: int) -> Decimal:
        """Turn counts into units."""
        return count * self.resolution


_KINDS: dict[str, ResourceKind] = {}


def declare(name: str, unit: str, resolution: str | int = 1) -> ResourceKind:
    """Declare a resource kind; declaring the same kind again is harmless.

    Raises:
        ConfigError: The name is taken by a different declaration, or the resolution is not positive.
    """
    kind = ResourceKind(name, unit, Decimal(str(resolution)))
    if kind.resolution <= 0:
        raise ConfigError(f"{name}: the resolution must be positive, got {resolution}")
    if _KINDS.setdefault(name, kind) != kind:
        raise ConfigError(f"resource {name!r} is already declared as {_KINDS[name]}")
    return kind


declare("steps", "step")
declare("calls", "call")
declare("tokens", "token")
declare("usd", "US dollar", "1e-6")
declare("seconds", "second", "1e-3")


def kind_of(name: str) -> ResourceKind:
    """Look a declared kind up.

    Raises:
        ConfigError: It was never declared.
    """
    try:
        return _KINDS[name]
    except KeyError:
        known = ", ".join(sorted(_KINDS))
        raise ConfigError(
            f"resource {name!r} is not declared; declared: {known}. Use tape.budget.declare(name, unit, resolution)"
        ) from None


class Resources(Mapping[str, int | None]):
    """An immutable amount of each of some resources, in counts; kinds not named are zero.

    ``None`` means that the amount is unknown; it is never treated as zero.
    """

    __slots__ = ("_counts",)

    def __init__(self, counts: Mapping[str, int | None] | None = None) -> None:
        for name, count in (counts or {}).items():
            if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 0):
                raise ConfigError(f"{name}: a count is an integer >= 0, got {count!r}; Resources.of takes units")
        self._counts = {k: v for k, v in sorted((counts or {}).items()) if v != 0}

    @classmethod
    def of(cls, **amounts: int | float | str | Decimal | None) -> Resources:
        """Build from amounts in units, for instance ``Resources.of(steps=3, usd="0.05")``."""
        return cls({name: None if value is None else kind_of(name).count(value) for name, value in amounts.items()})

    def __getitem__(self, name: str) -> int | None:
        return self._counts.get(name, 0)

    def __contains__(self, name: object) -> bool:
        return name in self._counts

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)

    def __add__(self, other: Resources) -> Resources:
        total: dict[str, int | None] = dict(self._counts)
        for name, count in other._counts.items():
            mine = total.get(name, 0)
            total[name] = None if mine is None or count is None else mine + count
        return Resources(total)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Resources) and self._counts == other._counts

    def __hash__(self) -> int:
        return hash(tuple(self._counts.items()))

    def __repr__(self) -> str:
        return f"Resources({self._counts})"


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

    def __repr__(self) -> str:
        return f"Budget({self._caps})"


@dataclass(eq=False)
class Reservation:
    """A worst case set aside; settle or release it exactly once."""

    ledger: Ledger
    worst_case: Resources
    open: bool = True


class Ledger:
    """Keeps a budget: refuses a reservation that does not fit, settles what was really used.

    Ledgers nest: a reservation must fit into the ledger and all its parents at once. All ledgers of
    a tree share one lock, so concurrent reservations never oversubscribe.

    Args:
        budget: The caps.
        parent: The enclosing ledger, if any.
        name: For error messages, for instance ``"episode"``.
    """

    def __init__(self, budget: Budget | None = None, parent: Ledger | None = None, name: str = "episode") -> None:
        self.budget = budget or Budget()
        self.parent = parent
        self.name = name
        self._lock: threading.RLock = parent._lock if parent else threading.RLock()
        self._used: dict[str, int] = {}
        self._reserved: dict[str, int] = {}
        self._violations: dict[str, int] = {}

    def _chain(self) -> Iterator[Ledger]:
        ledger: Ledger | None = self
        while ledger is not None:
            yield ledger
            ledger = ledger.parent

    def reserve(self, worst_case: Resources) -> Reservation:
        """Set the worst case aside in this ledger and all its parents, or in none.

        Raises:
            UnknownCostError: A capped kind has an unknown worst case.
            BudgetExceededError: It does not fit.
        """
        with self._lock:
            for ledger in self._chain():
                for kind, cap in ledger.budget.items():
                    wanted = worst_case[kind]
                    if wanted is None:
                        raise UnknownCostError(
                            f"the worst case of {kind} is unknown under the hard cap of the {ledger.name} ledger; "
                            f"declare it or lift the cap on {kind}"
                        )
                    taken = ledger._used.get(kind, 0) + ledger._reserved.get(kind, 0)
                    if wanted > 0 and taken + wanted > cap:
                        raise BudgetExceededError(kind, cap, taken, wanted, ledger.name)
            for ledger in self._chain():
                for kind in worst_case:
                    ledger._reserved[kind] = ledger._reserved.get(kind, 0) + (worst_case[kind] or 0)
        return Reservation(self, worst_case)

    def settle(self, reservation: Reservation, actual: Resources) -> None:
        """Book what was used and free the rest.

        More than was reserved is a broken declaration: it is booked in full and counted as a
        violation. An unknown usage is booked as the whole reservation.

        Raises:
            ConfigError: The reservation belongs to another ledger or is closed already.
        """
        with self._lock:
            self._close(reservation)
            kinds = {*actual, *reservation.worst_case}
            for ledger in self._chain():
                for kind in kinds:
                    set_aside = reservation.worst_case[kind] or 0
                    used = actual[kind]
                    booked = set_aside if used is None else used
                    ledger._used[kind] = ledger._used.get(kind, 0) + booked
                    if booked > set_aside and kind in ledger.budget:
                        ledger._violations[kind] = ledger._violations.get(kind, 0) + 1

    def release(self, reservation: Reservation) -> None:
        """Give a reservation back unused."""
        with self._lock:
            self._close(reservation)

    def _close(self, reservation: Reservation) -> None:
        if reservation.ledger is not self:
            raise ConfigError("the reservation belongs to another ledger")
        if not reservation.open:
            raise ConfigError("the reservation is settled or released already")
        reservation.open = False
        for ledger in self._chain():
            for kind in reservation.worst_case:
                ledger._reserved[kind] -= reservation.worst_case[kind] or 0

    def remaining(self, kind: str) -> int | None:
        """Counts left of a kind here and in all parents, reservations taken off; None where nothing caps it."""
        with self._lock:
            left = [
                ledger.budget[kind] - ledger._used.get(kind, 0) - ledger._reserved.get(kind, 0)
                for ledger in self._chain()
                if kind in ledger.budget
            ]
        return min(left) if left else None

    def capped(self) -> tuple[str, ...]:
        """The kinds that this ledger or a parent caps, in alphabetical order."""
        return tuple(sorted({kind for ledger in self._chain() for kind in ledger.budget}))

    @property
    def used(self) -> Resources:
        """What was settled here."""
        with self._lock:
            return Resources(self._used)

    @property
    def violations(self) -> Mapping[str, int]:
        """Settlements above their reservation, per capped kind."""
        with self._lock:
            return dict(self._violations)

    def overspent(self) -> tuple[str, ...]:
        """Kinds whose settled use is above the cap (only a broken declaration leads here)."""
        with self._lock:
            return tuple(kind for kind, cap in self.budget.items() if self._used.get(kind, 0) > cap)
