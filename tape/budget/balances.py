"""Caps, and what has become of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from tape.budget.accounts import require_account, require_amounts
from tape.budget.periods import TOTAL, Period


@dataclass(frozen=True)
class Cap:
    """A limit on one resource of one account.

    Attributes:
        account: A scope, such as ``org/team/agent``, or the first name of one and a label, such as ``org#customer=42``.
        resource: The name of the resource, such as ``usd``.
        amount: The most that may be spent and held, in counts, from 0 to 10^15.
        period: The period that the amount is for.

    Raises:
        ConfigError: The account, the resource or the amount is malformed.

    Examples:
        >>> from tape.budget import Cap, Period
        >>> Cap("org#customer=42", "usd", 5_000_000, Period("month")).key
        ('org#customer=42', 'usd', 'month@UTC#1')
    """

    account: str
    resource: str
    amount: int
    period: Period = TOTAL

    def __post_init__(self) -> None:
        require_account(self.account)
        require_amounts(f"the cap of {self.account}", {self.resource: self.amount})

    @cached_property
    def key(self) -> tuple[str, str, str]:
        """What there is one cap of."""
        return self.account, self.resource, str(self.period)


class Balance(NamedTuple):
    """A cap and what has become of it in a period, in counts.

    Attributes:
        cap: The cap.
        begun: When the period began; None for one without a beginning.
        amount: The cap with what was added for this period.
        spent: What has ended, without what was forgiven by a reset.
        held: What is open, at its worst case.
        debt: By how much settlements were above their worst case.

    Examples:
        >>> from tape.budget import Cap, HoldRequest, open_store
        >>> store = open_store("file://budget.ledger")
        >>> store.set_cap(Cap("org", "usd", 50_000), "anna", "the first cap")
        >>> _ = store.reserve(HoldRequest("one", "org/team", {"usd": 20_000}))
        >>> [(one.amount, one.spent, one.held, one.left) for one in store.read("org/team")]
        [(50000, 0, 20000, 30000)]
    """

    cap: Cap
    begun: datetime | None
    amount: int
    spent: int
    held: int
    debt: int

    @property
    def left(self) -> int:
        """What can still be held; never below 0."""
        assert self.spent >= 0, self
        assert self.held >= 0, self
        return max(0, self.amount - self.spent - self.held)
