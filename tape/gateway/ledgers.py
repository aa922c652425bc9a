"""The ledgers of the gateway: a run, its clients, their sessions; every call is in the journal before it starts."""

from __future__ import annotations

import asyncio
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tape.budget import Budget, Ledger, Reservation, Resources, amount_of
from tape.budget.amounts import unknown
from tape.errors import ConfigError, UnknownCostError
from tape.gateway.errors import JournalError
from tape.gateway.journal import Journal, digest
from tape.gateway.shared_calls import Hold, SharedCalls
from tape.gateway.shared_scope import seen, within
from tape.ledger import StorePayer

MOST_HANDLES = 100
"""Of one session; each is kept, in memory and in the journal."""


@dataclass(frozen=True, eq=False)
class SessionLedger:
    """The ledger of one session.

    Attributes:
        session: Its name in the journal.
        client: Whose it is.
        ledger: Within that of the client, which is within that of the run.
    """

    session: str
    client: str
    ledger: Ledger

    def ledgers(self) -> list[Ledger]:
        """The session's, the client's and the run's."""
        found: list[Ledger] = []
        ledger: Ledger | None = self.ledger
        while ledger is not None:
            found.append(ledger)
            ledger = ledger.parent
        return found

    def left(self) -> dict[str, int]:
        """Counts left of each capped resource."""
        return {kind: self.ledger.remaining(kind) or 0 for kind in self.ledger.capped()}

    def fits(self, worst: Resources) -> bool:
        """Whether a call of this worst case would be let through now."""
        return all((amount := worst[kind]) is not None and amount <= left for kind, left in self.left().items())


class Charge:
    """A worst case that is set aside, in the ledgers and on the disk; settled once.

    As a context manager it is settled at the whole worst case where the block leaves it open: what a call used that was
    cut off is unknown.
    """

    def __init__(self, journal: Journal, number: int, reservation: Reservation, hold: Hold | None) -> None:
        self._journal, self._number, self._reservation, self._hold = journal, number, reservation, hold
        self.outcome = "cut off"
        """What the journal holds of the call."""

    def settle(self, actual: Resources, outcome: str) -> list[dict[str, Any]]:
        """Book what was used; an unknown amount as it was set aside.

        Returns:
            What was used beyond the worst case.
        """
        worst = self._reservation.worst_case
        broken = self._reservation.settle(actual)
        spent = Resources({kind: worst[kind] if actual[kind] is None else actual[kind] for kind in actual})
        try:
            self._journal.settle(self._number, spent, outcome)
        except JournalError as error:  # the call has been made, and the file counts more than it took
            print(f"tape gateway: {error}; the worst case stays booked there", file=sys.stderr, flush=True)
        if self._hold is not None:
            self._hold.settle(spent)
        return [
            {"resource": one.kind, "declared": amount(one.kind, one.declared), "used": amount(one.kind, one.used)}
            for one in broken
        ]

    def __enter__(self) -> Charge:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if not self._reservation.open:
            return
        if kind is GeneratorExit:  # perhaps the garbage collector's, in any thread, amid anything
            self._reservation.abandon()
            self._journal.due.append((self._number, self._reservation.worst_case, self.outcome))
            if self._hold is not None:
                self._hold.settle_later(self._reservation.worst_case)
        else:
            self.settle(unknown(self._reservation.worst_case), self.outcome)


class Ledgers:
    """All ledgers, as the journal left them.

    Args:
        run: The caps of the run.
        clients: The caps of each client.
        session: The caps of a session.
        journal: The journal; what it holds is booked, what it left open at its worst case.
        payer: What other programs pay from too. It is asked in threads, since it may be far away, or wait.

    Raises:
        ConfigError: An unknown amount of what is capped now was spent before.
    """

    def __init__(
        self,
        run: Budget,
        clients: Mapping[str, Budget],
        session: Budget,
        journal: Journal,
        payer: StorePayer | None = None,
    ) -> None:
        self.journal = journal
        self.run = Ledger(run, name="run")
        self._shared = None if payer is None else SharedCalls(payer)
        self._caps, self._session = clients, session
        self._clients: dict[str, Ledger] = {}
        self._books: dict[str, SessionLedger] = {}
        self._current: dict[tuple[str, str | int], SessionLedger] = {}
        self.left_open = dict(journal.open)
        """What an earlier gateway had reserved and not settled, by number."""
        for name, kept in journal.sessions.items():
            lost = (one.worst for one in journal.open.values() if one.session == name)
            try:
                self._book(name, kept.client).ledger.book(sum(lost, kept.spent))
            except UnknownCostError as error:
                raise ConfigError(f"{journal.path}: {error}, or name another journal by --journal") from error

    def _book(self, session: str, client: str) -> SessionLedger:
        if session not in self._books:
            if client not in self._clients:
                self._clients[client] = Ledger(self._caps.get(client), parent=self.run, name="client")
            ledger = Ledger(self._session, parent=self._clients[client], name="session")
            self._books[session] = SessionLedger(session, client, ledger)
        return self._books[session]

    def current(self, client: str, key: str | int) -> SessionLedger:
        """The book of a client's session.

        Args:
            client: Whose it is.
            key: A slot, which goes on with what was spent in it, also after a restart; 0 is shared by all requests that
                belong to no session. Or what a connection is called that begins with nothing spent.
        """
        if (client, key) not in self._current:
            name = (key or "shared") if isinstance(key, int) else secrets.token_hex(6)
            self._current[client, key] = self._book(f"{client}:{name}", client)
        return self._current[client, key]

    def end(self, client: str, slot: int) -> None:
        """End the session in a slot: the next one there goes on with the slot's own book, whatever was resumed."""
        self._current.pop((client, slot), None)

    async def begin(self, book: SessionLedger, tool: str, worst: Resources, asked: str = "") -> Charge:
        """Set a worst case aside everywhere, or nowhere.

        Args:
            book: Whose call it is.
            tool: What is called.
            worst: What it may take.
            asked: Its arguments.

        Raises:
            BudgetExceededError: It does not fit.
            UnknownCostError: It is unknown in what is capped.
            JournalError: It cannot be written down.
        """
        reservation, hold = book.ledger.reserve(worst), None
        try:
            if self._shared is not None:
                hold = await self._shared.reserve(tool, asked, worst)
            number = await self.journal.reserve(book.session, book.client, tool, worst)
        except BaseException:
            reservation.release()
            if hold is not None:
                hold.release()
            raise
        return Charge(self.journal, number, reservation, hold)

    async def seen(self, book: SessionLedger) -> SessionLedger:
        """A session's ledger within what others have left of the shared caps now.

        Raises:
            LedgerError: The shared ledger cannot be reached.
        """
        if self._shared is None:
            return book
        outermost = await asyncio.to_thread(seen, self._shared.payer)
        return replace(book, ledger=within(book.ledger, outermost))

    def close(self) -> None:
        """Settle with what other programs pay from too."""
        if self._shared is not None:
            self._shared.close()

    def checkpoint(self, book: SessionLedger) -> str:
        """A handle by which the client of a session goes on with it, in another connection or after a restart.

        Raises:
            JournalError: It cannot be written down, or the session has too many.
        """
        if sum(session == book.session for session in self.journal.handles.values()) >= MOST_HANDLES:
            raise JournalError(f"this session has {MOST_HANDLES} handles; resume it by one of them")
        handle = secrets.token_urlsafe(24)
        self.journal.checkpoint(handle, book.session, book.client)
        return handle

    def resume(self, client: str, key: str | int, handle: str) -> SessionLedger | None:
        """Go on with an earlier session: from now on calls are booked there. None where the handle is not theirs."""
        name = self.journal.handles.get(digest(handle))
        if name is None or self.journal.sessions[name].client != client:
            return None
        book = self._book(name, client)
        self._current[client, key] = book
        return book


def amount(kind: str, count: int | None) -> int | float | None:
    """A count in its unit, as a number of JSON."""
    if count is None:
        return None
    found = amount_of(kind, count)
    return int(found) if found == found.to_integral_value() else float(found)


def amounts(resources: Mapping[str, int | None]) -> dict[str, int | float | None]:
    """Counts in units, as numbers of JSON."""
    return {kind: amount(kind, resources[kind]) for kind in resources}
