"""Hard budgets: kinds of resources, caps, and ledgers that reserve before anything is spent and settle after."""

from tape.budget.ledger import Broken, Budget, Ledger, Payer, Reservation, unknown
from tape.budget.resources import ResourceKind, Resources, declare, in_units, kind_of, kinds

__all__ = [
    "Broken",
    "Budget",
    "Ledger",
    "Payer",
    "Reservation",
    "ResourceKind",
    "Resources",
    "declare",
    "in_units",
    "kind_of",
    "kinds",
    "unknown",
]
