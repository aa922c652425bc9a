"""Budgets: hard caps in counts, and how they are written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from tape.budget.resources import MOST, kind_of, kinds
from tape.budget.units import MONEY, TIME, unit_of
from tape.errors import ConfigError
from tape.reading import short


def resource_of(amount: str) -> str:
    """The resource that an amount with a unit is of: ``$0.05``, ``5 cents``, ``20 steps``; empty where it has no unit.

    Raises:
        ConfigError: It is a time, which two resources have.
    """
    unit = unit_of(amount)
    if unit in MONEY:
        return "usd"
    if unit in TIME:
        raise ConfigError(
            f"budget {short(amount)}: say which time: wall_seconds={amount} is real time, seconds={amount} what tools "
            "declare"
        )
    return next((name for name in kinds() if unit in (name, kind_of(name).unit, f"{kind_of(name).unit}s")), "")


class Budget(Mapping[str, int]):
    """Hard caps by resource, in counts; a kind without a cap is not limited.

    It is a mapping of names to counts. :meth:`of` and :meth:`parse` take amounts in units. ``a | b`` has the caps of
    both, and the tighter one where both cap a kind.

    Args:
        caps: Counts of each resource's resolution, such as millionths of a dollar.

    Raises:
        ConfigError: A cap is no integer, negative, or above 2**63 - 1.

    Examples:
        >>> from tape import Budget
        >>> Budget.of(usd="$0.05", steps=8)
        Budget({'steps': 8, 'usd': 50000})
        >>> Budget.parse("5 cents, 2k tokens") | Budget.of(tokens=500)
        Budget({'tokens': 500, 'usd': 50000})
    """

    __slots__ = ("_caps",)

    def __init__(self, caps: Mapping[str, int] | None = None) -> None:
        for name, cap in (caps or {}).items():
            if isinstance(cap, bool) or not isinstance(cap, int) or cap < 0:
                raise ConfigError(f"budget {name}: a cap is an integer >= 0, got {short(cap)}")
            if cap > MOST:
                raise ConfigError(f"budget {name}: a cap is at most {MOST} counts, got {short(cap)}; leave it out")
        self._caps = dict(sorted((caps or {}).items()))

    @classmethod
    def of(cls, **amounts: int | float | str | Decimal) -> Budget:
        """Build from amounts in units, for instance ``Budget.of(steps=8, usd="0.05")``.

        Raises:
            ConfigError: A resource is not declared, or an amount is malformed or finer than its resolution.
        """
        return cls({name: kind_of(name).count(value) for name, value in amounts.items()})

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Read ``"$0.05, 20 steps"`` or ``"usd=0.05,steps=20,wall_seconds=2 min,tokens=10k"``.

        Raises:
            ConfigError: A part is malformed; the message names it.
        """
        amounts: dict[str, str] = {}
        # A comma before three digits is one within a number, as in tokens=1,000.
        for part in filter(None, (p.strip() for p in re.split(r",(?!\d{3}(?!\d))", text))):
            name, equals, value = (item.strip() for item in part.partition("="))
            if not equals:
                name, value = resource_of(part), part
            if not name or not value:
                raise ConfigError(
                    f"budget {short(part)}: expected AMOUNT UNIT or KIND=AMOUNT, such as 8 steps or usd=0.05"
                )
            if name in amounts:
                raise ConfigError(f"budget: {name} is given twice")
            amounts[name] = value
        return cls.of(**amounts)

    @classmethod
    def read(cls, given: object, what: str = "budget") -> Budget:
        """A budget as people give it: a `Budget`, amounts in units by resource, a text, or None for no caps.

        Raises:
            ConfigError: It is none of these, or malformed; a cap that was not understood would not be kept.
        """
        if given is None or isinstance(given, Budget):
            return given or cls()
        if isinstance(given, str):
            return cls.parse(given)
        if isinstance(given, Mapping) and all(isinstance(name, str) for name in given):
            return cls.of(**given)
        raise ConfigError(f'{what} is {given!r}; write "$0.05, 8 steps" or Budget.of(usd="$0.05", steps=8)')

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


BudgetLike = Budget | Mapping[str, Any] | str | None
"""What :meth:`Budget.read` takes."""
