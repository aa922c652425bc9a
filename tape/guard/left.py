"""What is left of the budgets that a call has to fit into, as callers see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tape.budget import Ledger, Resources, amount_of


@dataclass(frozen=True, eq=False)
class SessionLedger:
    """The ledger of one session.

    Attributes:
        scope: Its scope in the journal, below that of its client.
        ledger: Within that of the client, which is within that of the run.
    """

    scope: str
    ledger: Ledger

    def ledgers(self) -> list[Ledger]:
        """The session's, the client's and the run's."""
        ledgers: list[Ledger] = []
        ledger: Ledger | None = self.ledger
        while ledger is not None:
            ledgers.append(ledger)
            ledger = ledger.parent
        return ledgers

    def left(self) -> dict[str, int]:
        """Counts left of each capped resource."""
        return {kind: self.ledger.remaining(kind) or 0 for kind in self.ledger.capped()}

    def fits(self, worst: Resources) -> bool:
        """Whether a call of this worst case would be let through now."""
        return all((amount := worst[kind]) is not None and amount <= left for kind, left in self.left().items())


def left(book: SessionLedger) -> dict[str, Any]:
    """Every cap that a session's calls have to keep, with what is left, reserved and spent of it."""
    caps = []
    for ledger in book.ledgers():
        used, reserved = ledger.used, ledger.reserved
        for kind, cap in ledger.budget.items():
            spent, held = used[kind] or 0, reserved[kind] or 0
            caps.append(
                {
                    "scope": ledger.name,
                    "resource": kind,
                    "cap": amount(kind, cap),
                    "left": amount(kind, max(0, cap - spent - held)),
                    "reserved": amount(kind, held),
                    "spent": amount(kind, spent),
                }
            )
    spent_all = book.ledger.used
    return {
        "budgets": caps,
        "left": {kind: amount(kind, count) for kind, count in book.left().items()},
        "spent_in_session": {kind: amount(kind, count) for kind, count in spent_all.items()},
    }


def amount(kind: str, count: int | None) -> int | float | None:
    """A count in its unit, as a number of JSON."""
    if count is None:
        return None
    result = amount_of(kind, count)
    return int(result) if result == result.to_integral_value() else float(result)


def amounts(resources: Mapping[str, int | None]) -> dict[str, int | float | None]:
    """Counts in units, as numbers of JSON."""
    return {kind: amount(kind, resources[kind]) for kind in resources}
