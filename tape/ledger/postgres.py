"""A store in PostgreSQL, which many hosts share. What may happen is decided in the database (``schema.sql``).

Requests of one process that come while a batch is under way go together in the next one: one statement, one commit.
"""

from __future__ import annotations

import os
import queue
import threading
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from importlib import resources
from typing import Any

from tape.budget.resources import in_units
from tape.errors import MissingExtraError
from tape.ledger.contract import (
    Amounts,
    Balance,
    Cap,
    Ended,
    Held,
    HoldRecord,
    Labels,
    LedgerError,
    LedgerStore,
    Note,
    Refused,
    Request,
    State,
    accounts_of,
    require_amounts,
    require_by_hand,
)
from tape.ledger.faults import first_line, raise_fault, shown
from tape.ledger.periods import Period
from tape.reading import short

try:
    import psycopg
    from psycopg.types.json import Jsonb
except ImportError:  # what needs it asks for it by name
    psycopg = None  # type: ignore[assignment]

VERSION = 1
MOST = 64
"""Requests of a batch."""
PATIENCE = 0.001
"""Seconds that a batch waits for one more request, where the one before had more."""
TRIES = 3
"""Of a batch whose connection was cut; each request may be made again."""

_STALE = "TL001"


class PostgresStore(LedgerStore):
    """A database with the ledger's tables, see :meth:`create`.

    Args:
        url: ``postgresql://user@host/database``.
        at: A fixed present, for tests; the database's own by default.

    Raises:
        MissingExtraError: psycopg is not installed.
        LedgerError: It cannot be reached, has no ledger, or one of another version.
    """

    def __init__(self, url: str, at: datetime | None = None) -> None:
        _require_extra()
        self._url, self.at = url, at
        self._seen: dict[str, int] = {}
        """The latest batch of each root: a server that has an earlier one has lost holds."""
        self._instance: Any = None
        self._closed, self._closing, self._program = False, threading.Lock(), os.getpid()
        self._requests: queue.SimpleQueue[tuple[Any, Future[Any]] | None] = queue.SimpleQueue()
        connection = self._connected(None)  # a fault shows here
        self._thread = threading.Thread(target=self._work, args=(connection,), name="tape ledger", daemon=True)
        self._thread.start()

    @classmethod
    def create(cls, url: str) -> None:
        """Make the tables; where they are there, nothing is done.

        Raises:
            LedgerError: The database cannot be reached, or does not allow it.
        """
        _require_extra()
        try:
            with psycopg.connect(url, connect_timeout=10) as connection:
                connection.execute("select pg_advisory_xact_lock(7273041)")
                there = connection.execute("select to_regclass('tape_ledger.meta') is not null").fetchone()
                if not (there and there[0]):
                    connection.execute(resources.files(__package__).joinpath("schema.sql").read_text("utf-8"))
        except psycopg.Error as error:
            raise_fault(url, error)

    # --- the contract -------------------------------------------------------------------------

    def reserve(self, request: Request) -> Held | Refused:
        """See :class:`LedgerStore`."""
        answer = self._ask(
            do="reserve", id=request.id, scope=request.scope, labels=dict(request.labels), name=request.name,
            worst=dict(request.amounts), seconds=request.seconds, free=request.free,
        )  # fmt: skip
        if answer.get("error") == "another":
            raise LedgerError(f"the id {request.id} belongs to a hold of {answer['scope']}; make ids anew")
        return _held(request.id, answer)

    def grow(self, id: str, amounts: Amounts) -> Held | Refused:
        """See :class:`LedgerStore`."""
        require_amounts(f"hold {short(id)}", amounts)
        answer = self._ask(do="grow", id=id, worst=dict(amounts))
        if answer.get("error") == "ended":
            raise LedgerError(f"the hold {id} has ended ({answer['state']}); reserve anew")
        return _held(id, answer)

    def settle(self, id: str, amounts: Mapping[str, int | None]) -> Ended:
        """See :class:`LedgerStore`."""
        return self._end(id, "settled", amounts)

    def void(self, id: str) -> Ended:
        """See :class:`LedgerStore`."""
        return self._end(id, "voided", {})

    def _end(self, id: str, state: State, amounts: Mapping[str, int | None]) -> Ended:
        require_amounts(f"hold {short(id)}", amounts, unknown=True)
        answer = self._ask(do="end", id=id, state=state, amounts=dict(amounts))
        _require_known(id, answer)
        return Ended(id, answer["ended"], answer["spent"])

    def read(self, scope: str, labels: Labels | None = None) -> Sequence[Balance]:
        """See :class:`LedgerStore`."""
        accounts = accounts_of(scope, labels or {})
        self._ask(do="sweep", scope=scope)
        return self._balances(accounts)

    def balances(self) -> Sequence[Balance]:
        """See :class:`LedgerStore`."""
        self._sweep()
        return self._balances(None)

    def _balances(self, accounts: Sequence[str] | None) -> list[Balance]:
        rows = self._select("select * from tape_ledger.balances(%s, %s)", accounts and list(accounts), self.at)
        amounts = dict(self._select("select account || ' ' || resource || ' ' || period, amount from tape_ledger.cap"))
        return [
            Balance(
                Cap(account, resource, amounts[f"{account} {resource} {period}"], Period.parse(period)),
                _time(begun),
                *counts,
            )
            for account, resource, period, begun, *counts in rows
        ]

    def history(self, scope: str = "", most: int = 100) -> Sequence[HoldRecord]:
        """See :class:`LedgerStore`."""
        self._sweep()
        rows = self._select(
            "select id, scope, labels, name, worst, spent, state, begun, expires from tape_ledger.hold"
            " where %s = '' or starts_with(scope || '/', %s || '/') order by number desc limit %s",
            scope, scope, max(0, most),
        )  # fmt: skip
        return [HoldRecord(*row[:7], *(at.astimezone(UTC) for at in row[7:])) for row in rows]

    def notes(self) -> Sequence[Note]:
        """See :class:`LedgerStore`."""
        rows = self._select("select at, who, why, what from tape_ledger.note order by number desc limit 1000")
        return [Note(at.astimezone(UTC), who, why, _note(what)) for at, who, why, what in rows]

    def set_cap(self, cap: Cap, who: str, why: str) -> None:
        """See :class:`LedgerStore`."""
        period = cap.period
        answer = self._by_hand(
            "cap", cap.key, who, why, amount=cap.amount, unit=period.unit, zone=period.zone, day=period.day,
            bucket=period.bucket,
        )  # fmt: skip
        if answer.get("error") == "clash":
            raise LedgerError(
                f"{cap.account} has a cap on {cap.resource} per {answer['period']} already, and would have two "
                f"beginnings of a {period.unit} with {period}; change that one"
            )
        if answer.get("error") == "below":
            raise LedgerError(
                f"a cap of {in_units(cap.resource, cap.amount)} on {cap.account} per {period} is below the "
                f"{in_units(cap.resource, answer['taken'])} that are spent and held; wait, reset it, or name a higher "
                "one"
            )

    def top_up(self, cap: Cap, who: str, why: str) -> None:
        """See :class:`LedgerStore`."""
        self._require(cap.key, "topped up", self._by_hand("top_up", cap.key, who, why, amount=cap.amount))

    def reset(self, account: str, resource: str, period: Period, who: str, why: str) -> None:
        """See :class:`LedgerStore`."""
        key = (account, resource, str(period))
        self._require(key, "reset", self._by_hand("reset", key, who, why))

    def _by_hand(self, do: str, key: tuple[str, str, str], who: str, why: str, **more: Any) -> Any:
        account, resource, period = key
        require_by_hand(who, why)
        # So that it is made once, also where its answer was lost.
        change = uuid.uuid4().hex
        return self._ask(
            do=do, account=account, resource=resource, period=period, who=who, why=why, change=change, **more
        )  # fmt: skip

    def _require(self, key: tuple[str, str, str], what: str, answer: Mapping[str, Any]) -> None:
        if answer.get("error") == "no cap":
            rows = self._select("select account, resource, period from tape_ledger.cap order by id limit 20")
            known = ", ".join(" ".join(row) for row in rows) or "none"
            raise LedgerError(f"there is no cap {' '.join(key)}; there is: {known[:500]}")
        if answer.get("error") == "rolling":
            raise LedgerError(f"a rolling cap is not {what}: what was spent leaves it by itself; change the cap")

    def check(self) -> Sequence[str]:
        """See :class:`LedgerStore`."""
        rows = self._select("select account, resource, period, begun, detail from tape_ledger.wrong()")
        return [
            f"{account} {kind} {period} {_time(begun) or ''}: {detail}" for account, kind, period, begun, detail in rows
        ]

    def close(self) -> None:
        """See :class:`LedgerStore`."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            self._requests.put(None)
        self._thread.join()

    # --- the database -------------------------------------------------------------------------

    def _sweep(self) -> None:
        for (root,) in self._select("select root from tape_ledger.root order by root"):
            self._ask(do="sweep", scope=root)

    def _ask(self, **request: Any) -> Any:
        """One request, in the next batch.

        Raises:
            LedgerError: The store cannot be reached, or refuses it.
        """
        if os.getpid() != self._program:  # the thread that sends is not there
            raise LedgerError(f"the ledger {shown(self._url)} was opened before a fork; open it anew after it")
        answered: Future[Any] = Future()
        with self._closing:
            if self._closed:
                raise LedgerError(f"the ledger {shown(self._url)} was closed; open it anew")
            self._requests.put((request, answered))
        answer = answered.result()
        assert isinstance(answer, dict)
        if answer.get("error") == "forbidden":
            raise LedgerError(f"the ledger {shown(self._url)} refuses the request: {answer['detail']}")
        return answer

    def _work(self, connection: Any) -> None:
        """Send batches until the store is closed."""
        sender, last, before = _Sender(self, connection), False, 0
        while not last and (first := self._requests.get()) is not None:
            batch = [first]
            while len(batch) < MOST and not last:
                try:
                    # Who was answered last asks again soon: as many are waited for, if not for long.
                    more = self._requests.get(timeout=PATIENCE if len(batch) < before else 0)
                except queue.Empty:
                    break
                last = more is None
                batch += [] if more is None else [more]
            before = len(batch)
            try:
                answers = sender.apply([request for request, _ in batch])
            except BaseException as error:
                for _, answered in batch:
                    answered.set_exception(error)
            else:
                assert len(answers) == len(batch)
                for (_, answered), answer in zip(batch, answers, strict=True):
                    answered.set_result(answer)
        sender.close()

    def _connected(self, connection: Any) -> Any:
        """The connection, or a new one where there is none or it was cut.

        Raises:
            LedgerError: The database cannot be reached, has no ledger, one of another version, or another one.
        """
        if connection is not None and not connection.closed:
            return connection
        try:
            connection = psycopg.connect(self._url, autocommit=True, connect_timeout=10, application_name="tape ledger")
            row = connection.execute("select version, instance from tape_ledger.meta").fetchone()
        except psycopg.Error as error:
            raise_fault(self._url, error)
        if row is None or row[0] != VERSION:
            raise LedgerError(
                f"the ledger {shown(self._url)} has version {row and row[0]}, and this program knows {VERSION}; run "
                "`tape ledger init` of the newer one"
            )
        if self._instance not in (None, row[1]):
            raise LedgerError(f"the ledger {shown(self._url)} is another one than before; open it anew")
        self._instance = row[1]
        return connection

    def _select(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Rows, read by a connection of their own, so that the one of the batches is used by its thread alone."""
        try:
            with psycopg.connect(self._url, autocommit=True, connect_timeout=10) as connection:
                return list(connection.execute(statement, values).fetchall())
        except psycopg.Error as error:
            raise_fault(self._url, error)


class _Sender:
    """Sends batches by a connection of its own.

    Args:
        store: Whose batches.
        connection: None until it is needed.
    """

    def __init__(self, store: PostgresStore, connection: Any) -> None:
        self._store, self._connection = store, connection

    def apply(self, batch: Sequence[Mapping[str, Any]]) -> Sequence[Any]:
        """A batch in one statement and one commit; a cut connection is made anew, and the batch again."""
        store = self._store
        given = (Jsonb(list(batch)), store.at, Jsonb(dict(store._seen)))
        for attempt in range(TRIES):
            try:
                self._connection = store._connected(self._connection)
                row = self._connection.execute("select tape_ledger.apply(%s, %s, %s)", given).fetchone()
            except psycopg.Error as error:
                self.close()
                if error.sqlstate == _STALE:
                    raise LedgerError(
                        f"the server of {shown(store._url)} is behind what was answered before ({first_line(error)}): "
                        "a replica took over that lacks holds; restore it before anything is spent"
                    ) from None
                if attempt == TRIES - 1 or not isinstance(error, psycopg.OperationalError):
                    raise_fault(store._url, error)
                continue
            for root, number in row[0]["batches"].items():
                store._seen[root] = number
            answers: Sequence[Any] = row[0]["answers"]
            return answers
        raise AssertionError("a batch is sent or raises")

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _held(id: str, answer: Mapping[str, Any]) -> Held | Refused:
    _require_known(id, answer)
    if "refused" in answer:
        return Refused(*answer["refused"])
    return Held(id, answer["held"])


def _require_known(id: str, answer: Mapping[str, Any]) -> None:
    if answer.get("error") == "none":
        raise LedgerError(f"there is no hold {id}")


def _note(what: Mapping[str, Any]) -> str:
    amount = [in_units(what["resource"], what["amount"])] if what.get("amount") else []
    return " ".join((what["do"], what["account"], what["resource"], what["period"], *amount))


def _require_extra() -> None:
    if psycopg is None:
        raise MissingExtraError("a ledger in PostgreSQL needs psycopg: pip install 'tape-planner[postgres]'")


def _time(at: datetime | None) -> datetime | None:
    """A moment in UTC; None for the beginning of what has none."""
    return None if at is None else at.astimezone(UTC)
