"""The ledgers of the gateway: a run, its clients, their sessions; every call is in the journal before it starts."""

from __future__ import annotations

import asyncio
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from tape.budget import Budget, Ledger, LedgerError, Reservation, Resources, StorePayer
from tape.budget.accounts import named
from tape.budget.amounts import booked, unknown
from tape.budget.contract import HoldRecord, State
from tape.gateway.journal import Journal, digest
from tape.gateway.shared_calls import Answer, SharedCalls, SharedHold, answer_of
from tape.guard.left import SessionLedger, amount
from tape.guard.shared_scope import seen, within

MOST_HANDLES = 100
"""Of one session; each is kept, in memory and in the journal."""
MOST_CALLS = 100
"""Calls of a session that a client gets which resumes it."""


class Resumed(NamedTuple):
    """A session that a client goes on with.

    Attributes:
        book: Its ledger.
        calls: Its last calls that have ended, the latest last.
        in_flight: Those that another gateway has not settled, which is at work or has ended.
    """

    book: SessionLedger
    calls: Sequence[HoldRecord]
    in_flight: Sequence[HoldRecord]


class SessionCharge:
    """A worst case that is set aside, in the ledgers and on the disk; settled once.

    As a context manager it is settled at the whole worst case where the block leaves it open: what a call used that was
    cut off is unknown.
    """

    def __init__(self, ledgers: Ledgers, id: str, reservation: Reservation, hold: SharedHold | None) -> None:
        self._ledgers, self.id, self._reservation, self._hold = ledgers, id, reservation, hold
        self.ended: Callable[[State, Resources], None] = lambda *_: None
        """Is told how the call has ended, and what is booked for it."""

    def settle(self, actual: Resources, state: State = "settled") -> list[dict[str, Any]]:
        """Book what was used; an unknown amount as it was set aside.

        Args:
            actual: In counts.
            state: See :meth:`Journal.settle`.

        Returns:
            What was used beyond the worst case.
        """
        worst = self._reservation.worst_case
        broken = self._reservation.settle(actual)
        spent = Resources({kind: booked(actual[kind], worst[kind]) for kind in actual})
        self._ledgers.write_down(self.id, spent, state)
        self.ended(state, spent)
        if self._hold is not None:
            self._hold.settle(spent)
        return [
            {"resource": item.kind, "declared": amount(item.kind, item.declared), "used": amount(item.kind, item.used)}
            for item in broken
        ]

    def __enter__(self) -> SessionCharge:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        worst = self._reservation.worst_case
        if not self._reservation.open:
            return
        if kind is GeneratorExit:  # perhaps the garbage collector's, in any thread, amid anything
            self._reservation.abandon()
            with suppress(LedgerError):  # it was closed, and the worst case stays open in the file
                self._ledgers.journal.settle(self.id, worst, "booked", later=True)
            if self._hold is not None:
                self._hold.settle_later(worst)
        else:
            self.settle(unknown(worst), "booked")


class Ledgers:
    """All ledgers, as the journal left them.

    Args:
        run: The caps of the run.
        clients: The caps of each client.
        session: The caps of a session.
        journal: The journal's file; what it holds is booked, what is open in it at its worst case.
        payer: What other programs pay from too. It is asked in threads, since it may be far away, or wait.

    Raises:
        LedgerError: The journal is malformed, or an unknown amount of what is capped now was spent before.
    """

    def __init__(
        self,
        run: Budget,
        clients: Mapping[str, Budget],
        session: Budget,
        journal: Path,
        payer: StorePayer | None = None,
    ) -> None:
        self.run = Ledger(run, name="run")
        self._shared = None if payer is None else SharedCalls(payer)
        self._caps, self._session = clients, session
        self._clients: dict[str, Ledger] = {}
        self._books: dict[str, SessionLedger] = {}
        self._current: dict[tuple[str, str | int], SessionLedger] = {}
        self.journal = Journal(journal, lambda scope: self._book(scope).ledger)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tape journal")

    def _book(self, scope: str) -> SessionLedger:
        """The ledger of a session; the journal's thread asks for it too, and what comes first is kept."""
        if scope not in self._books:
            ledger = Ledger(self._session, parent=self.of_client(scope.rpartition("/")[0]), name="session")
            self._books.setdefault(scope, SessionLedger(scope, ledger))
        return self._books[scope]

    def current(self, client: str, key: str | int) -> SessionLedger:
        """The book of a client's session.

        Args:
            client: Whose it is.
            key: A slot, which goes on with what was spent in it, also after a restart; 0 is shared by all requests that
                belong to no session. Or what a connection is called that begins with nothing spent.
        """
        if (client, key) not in self._current:
            name = (key or "shared") if isinstance(key, int) else secrets.token_hex(6)
            self._current[client, key] = self._book(f"{scope_of(client)}/{name}")
        return self._current[client, key]

    @property
    def payer(self) -> StorePayer | None:
        """What other programs pay from too."""
        return None if self._shared is None else self._shared.payer

    def clients(self) -> dict[str, Ledger]:
        """The ledger of each client that has made a call, by scope."""
        return dict(self._clients)

    def sessions(self) -> list[SessionLedger]:
        """The ledgers of all sessions, also of those that have ended."""
        return list(self._books.values())

    async def _in_thread(self, do: Callable[..., Answer], *given: Any) -> Answer:
        """Have the journal's thread do something, in the order of what it is asked."""
        return await asyncio.wrap_future(self._thread.submit(do, *given))

    async def note(self, scope: str, text: str) -> None:
        """Write into the journal what a person has decided.

        Raises:
            LedgerError: It cannot be written.
        """
        await self._in_thread(self.journal.note, scope, text)

    def end(self, client: str, slot: int) -> None:
        """End the session in a slot: the next one there goes on with the slot's own book, whatever was resumed."""
        self._current.pop((client, slot), None)

    async def begin(self, book: SessionLedger, tool: str, worst: Resources, asked: str = "") -> SessionCharge:
        """Set a worst case aside everywhere, or nowhere.

        Args:
            book: Whose call it is.
            tool: What is called.
            worst: What it may take.
            asked: Its arguments.

        Raises:
            BudgetExceededError: It does not fit.
            UnknownCostError: It is unknown in what is capped.
            LedgerError: It cannot be written down.
        """
        asking = self._thread.submit(self.journal.reserve, book.ledger, tool, worst, book.scope)
        reservation, id = await answer_of(asking, self._release)
        try:
            hold = None if self._shared is None else await self._shared.reserve(tool, asked, worst)
        except BaseException:
            self._release((reservation, id))
            raise
        return SessionCharge(self, id, reservation, hold)

    async def require_room(self, book: SessionLedger, tool: str, worst: Resources) -> None:
        """Refuse what :meth:`begin` would refuse now, with its errors; afterwards nothing is held, here or anywhere."""
        await self._in_thread(self.journal.require_room, book.ledger, worst)
        if self._shared is not None:
            await self._shared.require_room(tool, worst)

    def _release(self, reserved: tuple[Reservation, str]) -> None:
        reservation, id = reserved
        reservation.release()
        self.write_down(id, Resources(), "voided")

    def write_down(self, id: str, spent: Resources, state: State) -> None:
        """Have the journal's thread write how a call has ended, soon; what cannot be written stays open in the file."""
        self.journal.settle(id, spent, state, later=True)
        with suppress(RuntimeError):  # it has ended, and what is due is written by :meth:`close`
            self._thread.submit(self._catch_up)

    def _catch_up(self) -> None:
        try:
            self.journal.catch_up()
        except LedgerError as error:  # the calls have been made, and the file counts more than they took
            print(f"tape gateway: {error}; worst cases stay booked there", file=sys.stderr, flush=True)

    async def others(self) -> Sequence[HoldRecord]:
        """What others have open in the journal, once what they have spent is booked; raises a LedgerError."""
        return await self._in_thread(self.journal.of_others)

    def of_client(self, scope: str) -> Ledger:
        """The ledger of a client, by its scope."""
        if scope not in self._clients:
            caps = next((caps for name, caps in self._caps.items() if scope_of(name) == scope), None)
            self._clients.setdefault(scope, Ledger(caps, parent=self.run, name="client"))
        return self._clients[scope]

    async def caught_up(self) -> None:
        """Book what other programs have spent.

        Raises:
            LedgerError: The journal cannot be read.
        """
        await self._in_thread(self.journal.catch_up)

    async def seen(self, book: SessionLedger) -> SessionLedger:
        """A session's ledger within what others have left of the shared caps now.

        Raises:
            LedgerError: The journal cannot be read, or the shared ledger cannot be reached.
        """
        await self.caught_up()
        if self._shared is None:
            return book
        outermost = await asyncio.to_thread(seen, self._shared.payer)
        return replace(book, ledger=within(book.ledger, outermost))

    def close(self) -> None:
        """Write what is due, and settle with what other programs pay from too.

        Raises:
            LedgerError: It cannot be written.
        """
        self._thread.shutdown()
        try:
            self.journal.close()
        finally:
            if self._shared is not None:
                self._shared.close()

    async def checkpoint(self, book: SessionLedger) -> str:
        """A handle by which the client of a session goes on with it, in another connection or after a restart.

        Raises:
            LedgerError: It cannot be written down, or the session has too many.
        """
        if sum(scope == book.scope for scope in self.journal.handles.values()) >= MOST_HANDLES:
            raise LedgerError(f"this session has {MOST_HANDLES} handles; resume it by one of them")
        handle = secrets.token_urlsafe(24)
        await self._in_thread(self.journal.checkpoint, handle, book.scope)
        return handle

    async def resume(self, client: str, key: str | int, handle: str) -> Resumed | None:
        """Go on with an earlier session: from now on calls are booked there. None where the handle is not theirs.

        Raises:
            LedgerError: The journal cannot be read.
        """
        await self.caught_up()
        scope = self.journal.handles.get(digest(handle))
        if scope is None or scope.rpartition("/")[0] != scope_of(client):
            return None
        calls = await self._in_thread(self.journal.calls, scope, MOST_CALLS)
        others = await self.others()
        self._current[client, key] = book = self._book(scope)
        ended = [call for call in calls if call.state != "held"]
        return Resumed(book, ended, [record for record in others if record.scope == scope])


def scope_of(client: str) -> str:
    """The scope of a client in the journal."""
    return f"gateway/{named(client)}"
