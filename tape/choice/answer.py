"""What `select` answers: a plan or none, what it takes, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any


@dataclass(frozen=True)
class Why:
    """Why this plan, or why none; ``str()`` is the explanation in sentences.

    Attributes:
        text: The sentences.
        short: The budgets in the way: of every plan where none fits, else of the plan that would be best without them.
        least: Where no plan fits, for each budget the least amount that would do with the others as they are; None
            where no amount of it alone would.
        together: Where no plan fits and several budgets can be raised, one way to raise them together; none of these
            amounts can be less while the others stay.
    """

    text: str
    short: tuple[str, ...] = ()
    least: Mapping[str, Decimal | None] = field(default_factory=dict)
    together: Mapping[str, Decimal] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Choice:
    """The answer of `select`; true if a plan was found.

    Attributes:
        plan: The steps to take; None if no plan fits.
        spent: What the plan takes of each resource, in its unit; empty without a plan.
        left: What it leaves of each budget.
        value: Its value; None without a plan.
        alternatives: The next best plans that fit, best first, each as a choice.
        why: What stood in the way.
    """

    plan: list[Any] | None
    spent: Mapping[str, Decimal]
    left: Mapping[str, Decimal]
    value: float | None
    alternatives: tuple[Choice, ...] = ()
    why: Why = Why("")

    def __bool__(self) -> bool:
        return self.plan is not None
