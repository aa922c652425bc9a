"""Hard budgets: amounts are reserved before anything is spent, and settled after.

===================  =============================================================================
``resources.py``     kinds of resources and their units (``units.py``), and counts of them
``caps.py``          a budget: the most of each kind
``ledger.py``        a budget within a program, nested (``reservation.py``, ``amounts.py``, ``readings.py``)
``spread.py``        amounts that are not known in advance
``deadline.py``      a cap on real time
``contract.py``      what a store promises: requests, holds, answers
``claims.py``        that a call that changes something is made once
``accounts.py``      what accounts, amounts and words may be
``balances.py``      the caps of accounts, and what has become of them
``periods.py``       for what time a cap is
``rules.py``         what happens at a cap: rules, pauses, warnings; and the errors
``payer.py``         a scope of a store as what a ledger asks: waits, asks, hands on
``stores/``          where holds are kept: files and databases that programs and hosts share
===================  =============================================================================

See docs/reference/budgets.md and docs/reference/ledger.md.
"""

from tape.budget.accounts import Labels
from tape.budget.amounts import Broken, Limit, Payer, unknown
from tape.budget.balances import Balance, Cap
from tape.budget.caps import Budget, BudgetLike
from tape.budget.claims import Claimed, ClaimRecord, ClaimRequest
from tape.budget.contract import Ended, Held, HoldRequest, LedgerStore, Refused
from tape.budget.ledger import Earmark, Ledger
from tape.budget.payer import StorePayer
from tape.budget.periods import Period
from tape.budget.reservation import Reservation
from tape.budget.resources import (
    STEP,
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
from tape.budget.rules import (
    LedgerError,
    Pause,
    Paused,
    PausedError,
    Rule,
    UnknownHoldError,
    UnreachableLedgerError,
    Wanted,
    Warned,
)
from tape.budget.spread import Spread, Total
from tape.budget.stores import open_store, paying

__all__ = [
    "STEP",
    "Balance",
    "Broken",
    "Budget",
    "BudgetLike",
    "Cap",
    "ClaimRecord",
    "ClaimRequest",
    "Claimed",
    "Earmark",
    "Ended",
    "Held",
    "HoldRequest",
    "Labels",
    "Ledger",
    "LedgerError",
    "LedgerStore",
    "Limit",
    "Pause",
    "Paused",
    "PausedError",
    "Payer",
    "Period",
    "Refused",
    "Reservation",
    "ResourceKind",
    "Resources",
    "Rule",
    "Spread",
    "StorePayer",
    "Total",
    "UnknownHoldError",
    "UnreachableLedgerError",
    "Wanted",
    "Warned",
    "amount_of",
    "declare",
    "exceeded",
    "in_units",
    "kind_of",
    "kinds",
    "money_kinds",
    "open_store",
    "part_in_units",
    "paying",
    "undeclared",
    "unknown",
]
