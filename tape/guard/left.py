"""What is left of the budgets that a call has to fit into, as callers see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tape.budget import Limit, Resources, amount_of


class ScopeReading(NamedTuple):
    """What could be read of a scope at a moment, in counts.

    Attributes:
        scope: The scope.
        limits: The caps that its calls have to fit into, its own first.
        spent: What it has spent; None for an unknown amount.
        held: What it holds.
    """

    scope: str
    limits: tuple[Limit, ...]
    spent: Mapping[str, int | None]
    held: Mapping[str, int | None]

    def left(self) -> dict[str, int]:
        """Counts left of each capped resource."""
        kinds = sorted({limit.kind for limit in self.limits})
        return {kind: min(limit.left for limit in self.limits if limit.kind == kind) for kind in kinds}

    def fits(self, worst: Resources) -> bool:
        """Whether a call of this worst case would be let through now."""
        return all((amount := worst[kind]) is not None and amount <= left for kind, left in self.left().items())


def left(book: ScopeReading) -> dict[str, Any]:
    """Every cap that a session's calls have to keep, with what is left, reserved and spent of it."""
    caps = [
        {
            "scope": limit.ledger,
            "resource": limit.kind,
            "cap": amount(limit.kind, limit.cap),
            "left": amount(limit.kind, limit.left),
            "reserved": amount(limit.kind, limit.held),
            "spent": amount(limit.kind, limit.spent),
        }
        for limit in book.limits
    ]
    return {"budgets": caps, "left": amounts(book.left()), "spent_in_session": amounts(book.spent)}


def amount(kind: str, count: int | None) -> int | float | None:
    """A count in its unit, as a number of JSON."""
    if count is None:
        return None
    result = amount_of(kind, count)
    return int(result) if result == result.to_integral_value() else float(result)


def amounts(resources: Mapping[str, int | None]) -> dict[str, int | float | None]:
    """Counts in units, as numbers of JSON."""
    return {kind: amount(kind, resources[kind]) for kind in resources}
