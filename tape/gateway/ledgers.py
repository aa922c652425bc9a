"""What the gateway pays from: a store whose scopes are a run, its clients and their sessions, and a shared ledger.

Every call is a hold in the store before it starts. The store and the shared ledger are asked in threads: one is on a
disk, and the other may be far away, or wait.
"""

from __future__ import annotations

import asyncio
import secrets
import sys
import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tape.budget import Budget, HoldRequest, LedgerError, Paused, Refused, Resources, StorePayer
from tape.budget.accounts import MOST
from tape.budget.amounts import Taken, booked, unknown
from tape.budget.contract import HoldRecord, State
from tape.budget.payer import StoreHold, calling
from tape.budget.rules import logger
from tape.budget.stores.addresses import require_file
from tape.budget.stores.file import FileStore
from tape.budget.stores.memory import BookStore, MemoryStore
from tape.errors import ConfigError
from tape.gateway.books import CHECKPOINT, NOTE, GatewayBooks, GatewayCaps, digest, is_note, refusal_of, scope_of
from tape.guard.left import ScopeReading, amount
from tape.guard.shared_scope import limits_of
from tape.waiting import answer_of

Answer = TypeVar("Answer")

SECONDS = 366 * 86_400
"""Of a hold: what was in flight when its gateway died counts until then, and after that as spent."""
MOST_HANDLES = 100
"""Of one session; each is kept, in memory and in the store."""
MOST_CALLS = 100
"""Calls of a session that a client gets which resumes it."""
MOST_PAYING = 1024
"""Calls for which the shared ledger is asked at once, each in a thread while it waits for room, or for a person."""


class Resumed(NamedTuple):
    """A session that a client goes on with.

    Attributes:
        scope: The session.
        calls: Its last calls that have ended, the latest last.
        in_flight: Those that another gateway has not settled, which is at work or has ended.
    """

    scope: str
    calls: Sequence[HoldRecord]
    in_flight: Sequence[HoldRecord]


class SessionCharge:
    """A worst case that is set aside; settled once.

    As a context manager it is settled at the whole worst case where the block leaves it open: what a call used that was
    cut off is unknown.

    Attributes:
        id: Of its hold in the store.
        worst: In counts.
        ended: Is told how the call has ended, and what is booked for it.
        open: It is not settled yet.
    """

    def __init__(self, ledgers: Ledgers, request: HoldRequest, capped: set[str], shared: StoreHold | None) -> None:
        self._ledgers, self._capped, self._shared = ledgers, capped, shared
        self.id, self.worst, self.open = request.id, Resources(request.amounts), True
        self.ended: Callable[[State, Resources], None] = lambda *_: None

    def settle(self, actual: Resources, state: State = "settled") -> list[dict[str, Any]]:
        """Book what was used; an unknown amount as it was set aside.

        Args:
            actual: In counts.
            state: ``booked`` where nobody knows what it took, ``voided`` where it was not made.

        Returns:
            What was used beyond the worst case.

        Raises:
            LedgerError: The gateway has ended; the worst case stays open in the store.
        """
        assert self.open, "a charge is settled once"
        self.open = False
        spent = Resources({kind: booked(actual[kind], self.worst[kind]) for kind in actual})
        self._ledgers.end(self.id, spent, state)
        self.ended(state, spent)
        self._ledgers.settle_shared(self._shared, spent)
        return [
            {"resource": item.kind, "declared": amount(item.kind, item.declared), "used": amount(item.kind, item.used)}
            for item in Taken(actual).broken(self.worst, self._capped)
        ]

    def __enter__(self) -> SessionCharge:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if not self.open:
            return
        if kind is GeneratorExit:  # perhaps the garbage collector's, in any thread, amid anything
            self.open = False
            self._ledgers.end_later(self.id, self._shared, self.worst)
        else:
            self.settle(unknown(self.worst), "booked")


class Ledgers:
    """The store and the shared ledger of a gateway.

    Args:
        run: The caps of the run.
        clients: The caps of each client.
        session: The caps of a session.
        journal: The store's file, made if missing; None for a store in memory. What it holds is booked, what is open in
            it at its worst case.
        payer: What other programs pay from too.

    Attributes:
        journal: As it was given.
        payer: As it was given.

    Raises:
        ConfigError: The journal looks like the address of a ledger, and is no file's name; or a cap is too large.
        LedgerError: The journal is malformed or cannot be written, or an unknown amount of what is capped now was spent
            before.
    """

    def __init__(
        self,
        run: Budget,
        clients: Mapping[str, Budget],
        session: Budget,
        journal: Path | None,
        payer: StorePayer | None = None,
    ) -> None:
        self.journal, self.payer = journal, payer
        self._caps = GatewayCaps(run, {scope_of(name): caps for name, caps in clients.items()}, session)
        self._due: deque[tuple[str, Resources, State]] = deque()
        """Ends of calls that are not written yet. Finalizers append to it, and take no lock."""
        self._own: set[str] = set()
        """The ids of calls that this gateway has begun and not ended."""
        self._current: dict[tuple[str, str | int], str] = {}
        self._closed = False
        if journal is None:
            self._store: BookStore = MemoryStore(books=self._begin_books)
        else:
            require_file(str(journal))
            self._store = FileStore(journal, books=self._begin_books)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tape journal")
        self._paying = ThreadPoolExecutor(MOST_PAYING, thread_name_prefix="tape gateway pays")
        self._settling = ThreadPoolExecutor(1, thread_name_prefix="tape gateway settles")

    def _begin_books(self) -> GatewayBooks:
        self.books = GatewayBooks(self._caps)
        return self.books

    # --- sessions -----------------------------------------------------------------------------

    def current(self, client: str, key: str | int) -> str:
        """The scope of a client's session.

        Args:
            client: Whose it is.
            key: A slot, which goes on with what was spent in it, also after a restart; 0 is shared by all requests that
                belong to no session. Or what a connection is called that begins with nothing spent.
        """
        if (client, key) not in self._current:
            name = (key or "shared") if isinstance(key, int) else secrets.token_hex(6)
            self._current[client, key] = f"{scope_of(client)}/{name}"
        return self._current[client, key]

    def end_session(self, client: str, slot: int) -> None:
        """End the session in a slot: the next one there goes on with the slot's own scope, whatever was resumed."""
        self._current.pop((client, slot), None)

    async def checkpoint(self, scope: str) -> str:
        """A handle by which the client of a session goes on with it, in another connection or after a restart.

        Raises:
            LedgerError: It cannot be written down, or the session has too many.
        """
        if await self.look(lambda books: [*books.handles.values()].count(scope)) >= MOST_HANDLES:
            raise LedgerError(f"this session has {MOST_HANDLES} handles; resume it by one of them")
        handle = secrets.token_urlsafe(24)
        await self._in_thread(self._hold_nothing, digest(handle), scope, CHECKPOINT)
        return handle

    async def resume(self, client: str, key: str | int, handle: str) -> Resumed | None:
        """Go on with an earlier session: from now on calls are booked there. None where the handle is not theirs.

        Raises:
            LedgerError: The journal cannot be read.
        """
        scope = await self.look(lambda books: books.handles.get(digest(handle)))
        if scope is None or scope.rpartition("/")[0] != scope_of(client):
            return None
        latest = await self._in_thread(self._store.history, scope, MOST_CALLS)
        others = await self.look(self.others)
        self._current[client, key] = scope
        ended = [call for call in reversed(latest) if call.state != "held" and not is_note(call.name, call.worst)]
        return Resumed(scope, ended, [call for call in others if call.scope == scope])

    async def note(self, scope: str, text: str) -> None:
        """Write into the journal what a person has decided.

        Raises:
            LedgerError: It cannot be written.
        """
        await self._in_thread(self._hold_nothing, uuid.uuid4().hex, scope, f"{NOTE}{text}"[:1000])

    def _hold_nothing(self, id: str, scope: str, name: str) -> None:
        with self._alone():
            self._store.reserve_alone(HoldRequest(id, scope, {}, name=name))
            self._store.settle_alone(id, {})

    # --- reading ------------------------------------------------------------------------------

    def read(self, what: Callable[[GatewayBooks], Answer]) -> Answer:
        """Something of the books, once what others have spent is booked.

        Raises:
            LedgerError: The journal cannot be read.
        """
        with self._alone():
            return what(self.books)

    async def look(self, what: Callable[[GatewayBooks], Answer]) -> Answer:
        """As :meth:`read`, in the journal's thread."""
        return await self._in_thread(self.read, what)

    def others(self, books: GatewayBooks) -> Sequence[HoldRecord]:
        """What others have open: gateways that are at work, or have ended amid a call."""
        return [hold.record() for id, hold in books.open.items() if id not in self._own]

    async def seen(self, scope: str) -> ScopeReading:
        """What is left for a session, also of the shared caps.

        Raises:
            LedgerError: The journal cannot be read, or the shared ledger cannot be reached.
        """
        reading = await self.look(lambda books: books.reading(scope))
        if self.payer is None:
            return reading
        return reading._replace(limits=reading.limits + await asyncio.to_thread(limits_of, self.payer))

    # --- calls --------------------------------------------------------------------------------

    async def begin(self, scope: str, tool: str, worst: Resources, asked: str = "") -> SessionCharge:
        """Set a worst case aside everywhere, or nowhere.

        Args:
            scope: Whose call it is.
            tool: What is called.
            worst: What it may take.
            asked: Its arguments.

        Raises:
            BudgetExceededError: It does not fit.
            UnknownCostError: It is unknown in what is capped.
            LedgerError: It cannot be written down.
        """
        request = HoldRequest(uuid.uuid4().hex, scope, dict(worst), name=tool[:1000], seconds=SECONDS)
        asking = self._thread.submit(partial(self._ask, request, hold=True))
        capped = await answer_of(asking, lambda _: self.end(request.id, Resources(), "voided"))
        try:
            return SessionCharge(self, request, capped, await self._pay(tool, asked, worst))
        except BaseException:
            self.end(request.id, Resources(), "voided")
            raise

    async def require_room(self, scope: str, tool: str, worst: Resources) -> None:
        """Refuse what :meth:`begin` would refuse now, with its errors; afterwards nothing is held, here or anywhere.

        The shared ledger may wait for room, and counts it as no call in a row.
        """
        await self._in_thread(partial(self._ask, HoldRequest(uuid.uuid4().hex, scope, dict(worst)), hold=False))
        if self.payer is not None and (held := await self._pay(tool, None, worst)) is not None:
            await asyncio.shield(asyncio.wrap_future(self._settling.submit(self.payer.release, held)))

    def _ask(self, request: HoldRequest, *, hold: bool) -> set[str]:
        """Hold it in the store, or only see that it would be held; the resources that are capped there."""
        if hold:
            self._own.add(request.id)
        try:
            with self._alone():
                answer = self._store.reserve_alone(request) if hold else self._store.refusal_alone(request)
                capped = {cap.resource for cap in self.books.of_call(request.scope, {})}
            if isinstance(answer, Refused | Paused):
                raise refusal_of(answer, Resources(request.amounts))
        except BaseException:
            self._own.discard(request.id)
            raise
        return capped

    async def _pay(self, tool: str, asked: str | None, worst: Resources) -> StoreHold | None:
        """Hold it in the shared ledger; ``asked`` is None where the call is not made yet."""
        if (payer := self.payer) is None:
            return None
        given_up = threading.Event()

        def pay() -> StoreHold:
            with calling(tool, asked or "", counts=asked is not None):
                return payer.reserve(worst, given_up=given_up)

        try:
            return await answer_of(self._paying.submit(pay), payer.release)
        except asyncio.CancelledError:
            given_up.set()
            raise

    # --- ends ---------------------------------------------------------------------------------

    def end(self, id: str, spent: Resources, state: State) -> None:
        """Write how a call has ended, soon; raises a LedgerError where the gateway has ended."""
        if self._closed:
            raise LedgerError(f"the journal {self.journal} was closed; start the gateway again")
        self._due.append((id, spent, state))
        with suppress(RuntimeError):  # the thread has ended, and :meth:`close` writes what is due
            self._thread.submit(self._catch_up)

    def settle_shared(self, hold: StoreHold | None, spent: Resources) -> None:
        """Book in the shared ledger what was spent, soon."""
        if self.payer is not None and hold is not None:
            self._settling.submit(self.payer.settle, hold, spent)

    def end_later(self, id: str, hold: StoreHold | None, worst: Resources) -> None:
        """Book a worst case with the next call, here and in the shared ledger; a finalizer may do it."""
        self._due.append((id, worst, "booked"))
        if self.payer is not None and hold is not None:
            self.payer.settle_later(hold, worst)

    def _catch_up(self) -> None:
        try:
            with self._alone():
                pass
        except LedgerError as error:  # the calls have been made, and the journal counts more than they took
            print(f"tape gateway: {error}; worst cases stay booked there", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Write what is due, and settle with what other programs pay from too; what is open stays open.

        Raises:
            LedgerError: It cannot be written.
        """
        self._thread.shutdown()
        try:
            if self._due:
                self.read(lambda _: None)
        finally:
            self._closed = True
            self._store.close()
            if self.payer is not None:
                self.payer.close()  # nothing waits any more
                self._paying.shutdown()
                self._settling.shutdown()
                self.payer.close()

    # --- the store ----------------------------------------------------------------------------

    async def _in_thread(self, do: Callable[..., Answer], *given: Any) -> Answer:
        """Have the journal's thread do something, in the order of what it is asked."""
        return await asyncio.wrap_future(self._thread.submit(do, *given))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        written: list[tuple[str, Resources, State]] = []
        try:
            with self._store.alone():
                while self._due:
                    written.append(self._due.popleft())
                    self._end(*written[-1])
                yield
        except BaseException:  # perhaps it is not on the disk; what is ended again stays as it is
            self._due.extendleft(reversed(written))
            raise
        self._own.difference_update(id for id, *_ in written)

    def _end(self, id: str, spent: Resources, state: State) -> None:
        if id not in self.books.holds:  # of a file that was removed
            return
        counts = {kind: count if count is None else min(count, MOST) for kind, count in spent.items()}
        try:
            self._store.settle_alone(id, counts, state)
        except ConfigError as error:  # for good: a person finds the hold, and what comes after it is written
            logger.error("what the call of hold %s took (%s, in counts) cannot be written: %s", id, spent, error)
