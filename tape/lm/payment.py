"""What is reserved for some requests: the worst case of one call each, and of every call that a backend repeats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tape.budget import Broken, Reservation, Resources, unknown


class Payment:
    """The reservations of one batch of requests, settled together.

    Args:
        first: Covers one call for each request.
        bounds: The worst case of each request's call.
    """

    def __init__(self, first: Reservation, bounds: Sequence[Resources]) -> None:
        self._reservations = [first]
        self._declared = list(bounds)
        self._open = True

    def add(self, index: int, reserve: Callable[[], Reservation]) -> bool:
        """Reserve more for one request; False where the payment is settled already.

        Args:
            index: Of the request.
            reserve: Makes the reservation; what it raises is passed on.
        """
        if not self._open:
            return False
        reservation = reserve()
        self._reservations.append(reservation)
        self._declared[index] = self._declared[index] + reservation.worst_case
        return True

    def lacks(self, index: int, cost: Resources) -> Resources:
        """The part of a request's known cost that is not reserved."""
        declared = self._declared[index]
        return Resources({kind: max(0, (cost[kind] or 0) - (declared[kind] or 0)) for kind in cost})

    def settle(self, costs: Sequence[Resources], paid: Resources, unproven: Resources) -> tuple[Broken, ...]:
        """Book what was used.

        Args:
            costs: Of each request, whichever reservations were made for it.
            paid: What all of them really cost.
            unproven: The part of it that no endpoint has reported.

        Returns:
            The costs above their declared bounds, request by request.
        """
        self._open = False
        first, *further = self._reservations
        used, used_further = _spread(sum(costs, Resources()), further)
        spent, spent_further = _spread(paid, further)
        for reservation, part, paid_part in zip(further, used_further, spent_further, strict=True):
            reservation.settle(part, paid_part)
        return first.settle(used, spent, list(zip(self._declared, costs, strict=True)), unproven)

    def fail(self, *, metered: bool) -> Resources:
        """Close after a failure: the cost of a metered call is unknown, so all is booked; otherwise all is released.

        Returns:
            What was reserved.
        """
        self._open = False
        for reservation in self._reservations:
            if metered:
                reservation.settle(unknown(reservation.worst_case))
            else:
                reservation.release()
        return sum((reservation.worst_case for reservation in self._reservations), Resources())


def _spread(amount: Resources, reservations: Iterable[Reservation]) -> tuple[Resources, list[Resources]]:
    """Fill reservations one after the other.

    Returns:
        What is left, and what went into each. An unknown amount is unknown in all of them.
    """
    left, parts = dict(amount), []
    for reservation in reservations:
        part: dict[str, int | None] = {}
        for kind, count in left.items():
            part[kind] = None if count is None else min(count, reservation.worst_case[kind] or 0)
        left = {kind: None if count is None else count - (part[kind] or 0) for kind, count in left.items()}
        parts.append(Resources(part))
    return Resources(left), parts
