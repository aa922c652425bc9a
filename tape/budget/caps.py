"""Budgets: hard caps in counts, and how they are written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal

from tape.budget.resources import MOST, kind_of
from tape.errors import ConfigError
from tape.reading import short


class Budget(Mapping[str, int]):
    """Hard caps in counts; a kind without a cap is not limited."""

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
        """Build from amounts in units, for instance ``Budget.of(steps=8, usd="0.05")``."""
        return cls({name: kind_of(name).count(value) for name, value in amounts.items()})

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Read ``steps=8,usd=0.05``; amounts may be written as ``usd=$0.05,wall_seconds=2 min,tokens=10k``.

        Raises:
            ConfigError: A part is malformed; the message names it.
        """
        amounts: dict[str, str] = {}
        # A comma before three digits is one within a number, as in tokens=1,000.
        for part in filter(None, (p.strip() for p in re.split(r",(?!\d{3}(?!\d))", text))):
            name, equals, value = part.partition("=")
            if not equals or not value:
                raise ConfigError(f"budget {short(part)}: expected KIND=AMOUNT, for instance steps=8")
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
