"""Hard budgets: kinds of resources, caps, and ledgers that reserve before anything is spent and settle after."""

from tape.budget.amounts import Broken, Limit, Payer, unknown
from tape.budget.caps import Budget, BudgetLike
from tape.budget.ledger import Earmark, Ledger
from tape.budget.reservation import Reservation
from tape.budget.resources import (
    ResourceKind,
    Resources,
    amount_of,
    declare,
    exceeded,
    in_units,
    kind_of,
    kinds,
    money_kinds,
    part_in_units,
    undeclared,
)
from tape.budget.spread import Spread, Total

__all__ = [
    "Broken",
    "Budget",
    "BudgetLike",
    "Earmark",
    "Ledger",
    "Limit",
    "Payer",
    "Reservation",
    "ResourceKind",
    "Resources",
    "Spread",
    "Total",
    "amount_of",
    "declare",
    "exceeded",
    "in_units",
    "kind_of",
    "kinds",
    "money_kinds",
    "part_in_units",
    "undeclared",
    "unknown",
]
