"""One ledger for several processes: it stays in one of them, the others ask it over any channel.

The process that owns the ledger keeps a :class:`LedgerHost`; every other one makes its ledgers with a
:class:`LedgerClient` as ``payer``. Reserving waits for the answer; settling and giving back do not.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Literal

from tape.budget.amounts import Payer, unknown
from tape.budget.locks import CLIENT, HOST, OrderedLock
from tape.budget.resources import Resources, exceeded
from tape.errors import BudgetExceededError, UnknownCostError


@dataclass(frozen=True)
class LedgerMessage:
    """What a client sends to its host; made of plain values, so that any channel carries it.

    Attributes:
        what: A ``reserve`` is answered by a :class:`LedgerReply`, the others are not.
        token: The client's own number of the reservation.
        amounts: Counts by kind.
    """

    what: Literal["reserve", "settle", "release"]
    token: int
    amounts: dict[str, int | None]


@dataclass(frozen=True)
class LedgerReply:
    """The answer to a ``reserve``: granted where both are empty.

    Attributes:
        exceeded: The fields of :class:`~tape.errors.BudgetExceededError`.
        unknown: The message of :class:`~tape.errors.UnknownCostError`.
    """

    exceeded: tuple[str, int, int, int, str] | None = None
    unknown: str = ""


class LedgerHost:
    """Answers for a payer, and knows what each client has open.

    Args:
        payer: Usually a ledger.
    """

    def __init__(self, payer: Payer) -> None:
        self._payer = payer
        self._open: dict[Hashable, dict[int, tuple[Any, Resources]]] = {}
        self._lock = OrderedLock(HOST, "host of a ledger")

    def answer(self, client: Hashable, message: LedgerMessage) -> LedgerReply | None:
        """Do what a client asks for; a reply only where it waits for one."""
        amounts = Resources(message.amounts)
        with self._lock, self._lock.mutex:
            mine = self._open.setdefault(client, {})
            if message.what == "reserve":
                try:
                    mine[message.token] = self._payer.reserve(amounts), amounts
                except BudgetExceededError as error:
                    return LedgerReply((error.kind, error.limit, error.used, error.requested, error.ledger))
                except UnknownCostError as error:
                    return LedgerReply(unknown=str(error))
                return LedgerReply()
            reservation, _ = mine.pop(message.token)
            if message.what == "settle":
                self._payer.settle(reservation, amounts)
            else:
                self._payer.release(reservation)
            return None

    def end(self, client: Hashable) -> Resources:
        """A client is gone, perhaps killed: what it had set aside may be spent, so all of it is booked.

        Returns:
            What was booked.
        """
        lost = Resources()
        with self._lock, self._lock.mutex:
            for reservation, worst_case in self._open.pop(client, {}).values():
                self._payer.settle(reservation, unknown(worst_case))
                lost = lost + worst_case
        return lost


class LedgerClient:
    """Implements :class:`~tape.budget.Payer` by asking a host.

    Args:
        ask: Sends a message and waits for the reply.
        send: Sends a message; messages arrive in order.
    """

    def __init__(self, ask: Callable[[LedgerMessage], LedgerReply], send: Callable[[LedgerMessage], None]) -> None:
        self._ask, self._send = ask, send
        self._lock = OrderedLock(CLIENT, "ledger of another process")
        self.rank = CLIENT
        self._last = 0

    def reserve(self, worst_case: Resources) -> int:
        """See :class:`~tape.budget.Payer`."""
        with self._lock, self._lock.mutex:
            self._last += 1
            token = self._last
            reply = self._ask(LedgerMessage("reserve", token, dict(worst_case)))
        if reply.exceeded is not None:
            raise exceeded(*reply.exceeded)
        if reply.unknown:
            raise UnknownCostError(reply.unknown)
        return token

    def settle(self, reservation: int, actual: Resources) -> None:
        """See :class:`~tape.budget.Payer`."""
        with self._lock, self._lock.mutex:
            self._send(LedgerMessage("settle", reservation, dict(actual)))

    def release(self, reservation: int) -> None:
        """See :class:`~tape.budget.Payer`."""
        with self._lock, self._lock.mutex:
            self._send(LedgerMessage("release", reservation, {}))
