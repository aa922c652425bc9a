"""Kinds of resources, and amounts of them as integers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from tape.budget.units import exactly, nearest, parse_amount
from tape.errors import BudgetExceededError, ConfigError
from tape.reading import short

MOST = 2**63 - 1
"""Largest amount and largest cap, in counts: the largest whole number of most programs that read results. Of dollars
that is nine trillion, of seconds 292 million years. A sum of amounts may be more."""
_MOST_TOTAL = 10**60
"""Largest count that :class:`Resources` hold, which may be a sum: more than any number of amounts comes to."""
_NAME = re.compile(r"[A-Za-z0-9_.@:+-]{1,100}")
_MOST_EXPONENT = 30
"""Of a resolution: exact arithmetic has 60 digits."""


@dataclass(frozen=True)
class ResourceKind:
    """A kind of resource, held as an integer count of its resolution.

    Attributes:
        name: For instance ``"usd"``.
        unit: For people, for instance ``"US dollar"``.
        resolution: The size of one count in units, for instance ``Decimal("1e-6")``.
        money: It is a currency: a tool that declares no price costs an unknown amount of it (:func:`undeclared`).

    Examples:
        >>> from tape.budget import kind_of
        >>> dollars = kind_of("usd")
        >>> dollars.count("5 cents"), dollars.amount(50_000)
        (50000, Decimal('0.050000'))
    """

    name: str
    unit: str
    resolution: Decimal
    money: bool = False

    def count(self, amount: int | float | str | Decimal) -> int:
        """Turn an amount in units into counts.

        Args:
            amount: A number, or a text as `tape.budget.units.parse_amount` reads it: ``"$0.05"``, ``"2 min"``.

        Raises:
            ConfigError: The amount is negative, not a number, or not a whole number of counts.
        """
        value = exactly(parse_amount(self.name, amount, self.unit), self.resolution)
        if value is None or value != value.to_integral_value():
            raise ConfigError(
                f"{self.name}: {short(amount)} is finer than the resolution of {self.resolution} {self.unit}"
            )
        if value > MOST:
            raise ConfigError(f"{self.name}: {short(amount)} is too much; the most is {in_units(self.name, MOST)}")
        return int(value)

    def amount(self, count: int) -> Decimal:
        """Turn counts into units."""
        return count * self.resolution


_KINDS: dict[str, ResourceKind] = {}


def require_kind_name(name: object) -> None:
    """Refuse what is no name of a resource, for declarations and for all that keeps amounts.

    Raises:
        ConfigError: It is no text of 1 to 100 letters, digits and ``_ . @ : + -``.
    """
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        raise ConfigError(f"{short(name)} is no name of a resource: that has 1 to 100 letters, digits and _ . @ : + -")


def declare(name: str, unit: str, resolution: str | int = 1, *, money: bool = False) -> ResourceKind:
    """Declare a resource kind of your own; declaring the same kind again is harmless.

    Do it where the module of your environment or tools is imported, so that worker processes know the kind too.

    Args:
        name: What budgets and costs call it, for instance ``"gold"``.
        unit: For people, in the singular, for instance ``"coin"``.
        resolution: The smallest difference between amounts, in units: ``1`` for things that are counted, ``"1e-6"``
            for micro-dollars.
        money: It is a currency, so that a tool without a declared price is not taken to be free.

    Returns:
        The kind, which :func:`kind_of` finds by its name from then on.

    Raises:
        ConfigError: The name is malformed or taken by a different declaration, or the resolution is no positive number.

    Examples:
        >>> from tape.budget import Budget, declare, in_units
        >>> declare("petrol", "litre", resolution="0.1").name
        'petrol'
        >>> in_units("petrol", Budget.of(petrol="7.5")["petrol"])
        '7.5 litres of petrol'
    """
    require_kind_name(name)
    try:
        size = Decimal(resolution)
    except (InvalidOperation, TypeError, ValueError):
        raise ConfigError(f"{name}: the resolution {short(resolution)} is no number") from None
    if not (size.is_finite() and size > 0 and abs(size.adjusted()) <= _MOST_EXPONENT):
        raise ConfigError(
            f"{name}: the resolution must be positive, from 1e-{_MOST_EXPONENT} to 1e{_MOST_EXPONENT}, "
            f"got {short(resolution)}"
        )
    kind = ResourceKind(name, unit, size, money)
    if _KINDS.setdefault(name, kind) != kind:
        raise ConfigError(f"resource {name!r} is already declared as {_KINDS[name]}")
    return kind


declare("steps", "step")
declare("calls", "call")
declare("tokens", "token")
declare("usd", "US dollar", "1e-6", money=True)
declare("seconds", "second", "1e-3")
"""What tools declare to take, on a simulated clock; ``wall_seconds`` is real time."""
declare("wall_seconds", "second", "1e-3")


def money_kinds() -> tuple[str, ...]:
    """The names of all declared currencies."""
    return tuple(name for name, kind in _KINDS.items() if kind.money)


def undeclared() -> Resources:
    """What a call of a tool takes for which no price is declared; agents, guards and the gateway all ask this.

    ==========================  ==========================================================
    resource                    what a call of a tool takes of it
    ==========================  ==========================================================
    money                       what is declared; an unknown amount where nothing is
    ``calls``, ``tokens``       nothing that is not declared: models take them
    ``steps``                   one, which is counted, not declared
    ``wall_seconds``            real time, which is measured
    ``seconds``, own resources  what is declared; nothing where nothing is
    ==========================  ==========================================================
    """
    return Resources(dict.fromkeys(money_kinds()))


def amount_of(name: str, count: int) -> Decimal:
    """A count of a resource in its unit, without zeros at the end; of a kind that is not declared here the count.

    Examples:
        >>> from tape.budget import amount_of
        >>> amount_of("usd", 50_000)
        Decimal('0.05')
    """
    kind = _KINDS.get(name)
    return Decimal(count) if kind is None else Decimal(f"{kind.amount(count).normalize():f}")


def in_units(name: str, count: int) -> str:
    """A count of a resource as people read it: ``$0.05``, ``1.5 s``, ``10,000 tokens``, ``7.5 litres of water``.

    Of a kind that is not declared here it stays a count.

    Examples:
        >>> from tape.budget import in_units
        >>> in_units("usd", 50_000), in_units("tokens", 10_000)
        ('$0.05', '10,000 tokens')
    """
    kind = _KINDS.get(name)
    if kind is None:
        return f"{count:,} {name}"
    amount = kind.amount(count)
    text = f"{amount:,f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    unit, _, rest = kind.unit.partition(" of ")
    if not rest and name not in (unit, f"{unit}s", "usd", "wall_seconds"):
        rest = name  # kinds of one's own may share a unit
    if unit == "US dollar":
        cents = len(text.partition(".")[2])
        text = f"${text}0" if cents == 1 else f"${text}"
    elif unit == "second":
        text = f"{text} s"
    else:
        several = amount != 1 and unit.islower()  # symbols such as MB have no plural
        text = f"{text} {unit}{'s' if several else ''}"
    return f"{text} of {rest}" if rest else text


def part_in_units(name: str, part: int, whole: int) -> str:
    """How much of an amount, as people read it: ``$0.02 of $0.05``, ``2 of 8 steps``."""
    return f"{in_units(name, part).partition(' ')[0]} of {in_units(name, whole)}"


def exceeded(kind: str, limit: int, used: int, requested: int, ledger: str = "") -> BudgetExceededError:
    """The error of a reservation that does not fit, in units; the arguments are those of the error."""
    where = f" of the {ledger} ledger" if ledger else ""
    message = (
        f"{kind}{where}: {in_units(kind, requested)} requested, {part_in_units(kind, used, limit)} used or reserved; "
        f"it takes a cap of at least {in_units(kind, used + requested)}"
    )
    return BudgetExceededError(kind, limit, used, requested, ledger, message)


def kind_of(name: str) -> ResourceKind:
    """Look a declared kind up.

    Raises:
        ConfigError: It was never declared.

    Examples:
        >>> from tape.budget import kind_of
        >>> kind_of("seconds").resolution
        Decimal('0.001')
    """
    try:
        return _KINDS[name]
    except KeyError:
        known = ", ".join(sorted(_KINDS))
        raise ConfigError(
            f"resource {name!r} is not declared{nearest(name, _KINDS)}; declared: {known}. "
            "Use tape.budget.declare(name, unit, resolution)"
        ) from None


def kinds() -> tuple[str, ...]:
    """The names of all declared resources, in the order of their declarations.

    Examples:
        >>> from tape.budget import kinds
        >>> kinds()[:6]
        ('steps', 'calls', 'tokens', 'usd', 'seconds', 'wall_seconds')
    """
    return tuple(_KINDS)


class Resources(Mapping[str, int | None]):
    """An immutable amount of each of some resources, in counts; kinds not named are zero.

    ``None`` means that the amount is unknown; it is never treated as zero. A sum with it is unknown too.

    Args:
        counts: Counts of each resource's resolution; :meth:`of` takes amounts in units.

    Raises:
        ConfigError: A count is no integer, or negative.

    Examples:
        >>> from tape import Resources
        >>> Resources.of(usd="$0.02", tokens="1k") + Resources.of(usd="$0.01")
        Resources({'tokens': 1000, 'usd': 30000})
        >>> Resources.of(usd=None) + Resources.of(usd="$0.01")
        Resources({'usd': None})
    """

    __slots__ = ("_counts",)

    def __init__(self, counts: Mapping[str, int | None] | None = None) -> None:
        for name, count in (counts or {}).items():
            if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 0):
                raise ConfigError(f"{name}: a count is an integer >= 0, got {short(count)}; Resources.of takes units")
            if count is not None and count > _MOST_TOTAL:
                raise ConfigError(f"{name}: a count is at most {_MOST_TOTAL:.0e}, got {short(count)}")
        self._counts = {k: v for k, v in sorted((counts or {}).items()) if v != 0}

    @classmethod
    def of(cls, **amounts: int | float | str | Decimal | None) -> Resources:
        """Build from amounts in units, for instance ``Resources.of(steps=3, usd="0.05")``.

        Raises:
            ConfigError: A resource is not declared, or an amount is malformed or finer than its resolution.
        """
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


STEP = Resources({"steps": 1})
"""What every call takes beside its price."""
