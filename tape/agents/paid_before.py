"""What a store has been paid for already, while an episode is played again from its trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tape.budget import Payer, Resources, StorePayer
from tape.budget.claims import claimed_now


@dataclass(eq=False)
class _Held:
    """What is set aside: nothing at the store for a call that is played again."""

    worst: Resources
    hold: Any = None


class PaidBefore(Payer):
    """Asks a store for what is new alone, and for effects, whose claims say what became of them.

    What an earlier process had under way is still held by it, or is booked at its worst case.

    Args:
        payer: Pays from the store.

    Attributes:
        is_new: What is set aside from here on was not paid before.
    """

    def __init__(self, payer: StorePayer) -> None:
        self._payer, self._open = payer, list[_Held]()
        self.is_new = False

    @property
    def rank(self) -> int:
        """See :class:`tape.budget.Payer`."""
        return self._payer.rank

    def pay_open(self) -> None:
        """Set aside at the store what is set aside now, since the calls that it is for are made once more.

        Raises:
            BudgetExceededError: It does not fit.
        """
        for held in self._open:
            held.hold = held.hold or self._payer.reserve(held.worst)
        self._open.clear()

    def reserve(self, worst_case: Resources) -> _Held:
        """Set the worst case of a new call aside, or claim an effect."""
        held = _Held(worst_case)
        if self.is_new or claimed_now() is not None:
            held.hold = self._payer.reserve(worst_case)
        else:
            self._open.append(held)
        return held

    def settle(self, reservation: _Held, actual: Resources) -> None:
        """Book what a new call used."""
        if reservation in self._open:
            self._open.remove(reservation)
        if reservation.hold is not None:
            self._payer.settle(reservation.hold, actual)

    def release(self, reservation: _Held) -> None:
        """Give a new call back."""
        if reservation in self._open:
            self._open.remove(reservation)
        if reservation.hold is not None:
            self._payer.release(reservation.hold)
