"""A worst case that a ledger has set aside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tape.budget.amounts import Broken, unknown
from tape.budget.resources import Resources


class Keeper(Protocol):
    """What a reservation needs of its ledger."""

    def settle(
        self,
        reservation: Any,
        actual: Resources,
        paid: Resources | None = None,
        parts: Sequence[tuple[Resources, Resources]] = (),
        unproven: Resources | None = None,
    ) -> tuple[Broken, ...]:
        """See :meth:`tape.budget.Ledger.settle`."""

    def release(self, reservation: Any) -> None:
        """See :meth:`tape.budget.Ledger.release`."""

    def abandon(self, reservation: Any) -> None:
        """See :meth:`tape.budget.Ledger.abandon`."""


@dataclass(eq=False)
class Reservation:
    """A worst case set aside; settle or release it exactly once.

    As a context manager it is settled at the whole worst case where the block leaves it open: what an interrupted
    call used is unknown. Where the block ends because its generator does, the garbage collector may have ended that at
    any moment; then it is abandoned.

    Attributes:
        ledger: The ledger that has set it aside; :meth:`tape.Ledger.reserve` makes reservations.
        worst_case: In counts.
        outer: What the ledger's payer has returned for it.
        open: It is neither settled nor released.

    Examples:
        >>> from tape import Budget, Ledger, Resources
        >>> ledger = Ledger(Budget.of(tokens=1000))
        >>> call = ledger.reserve(Resources.of(tokens=600))
        >>> ledger.remaining("tokens")
        400
        >>> _ = call.settle(Resources.of(tokens=250))
        >>> ledger.remaining("tokens"), call.open
        (750, False)
    """

    ledger: Keeper
    worst_case: Resources
    outer: Any = None
    open: bool = True

    def settle(
        self,
        actual: Resources,
        paid: Resources | None = None,
        parts: Sequence[tuple[Resources, Resources]] = (),
        unproven: Resources | None = None,
    ) -> tuple[Broken, ...]:
        """See :meth:`tape.budget.Ledger.settle`."""
        return self.ledger.settle(self, actual, paid, parts, unproven)

    def release(self) -> None:
        """See :meth:`tape.budget.Ledger.release`."""
        self.ledger.release(self)

    def abandon(self) -> None:
        """See :meth:`tape.budget.Ledger.abandon`; nothing where it is closed already."""
        if self.open:
            self.ledger.abandon(self)

    def __enter__(self) -> Reservation:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is GeneratorExit:
            self.abandon()
        elif self.open:
            self.settle(unknown(self.worst_case))
