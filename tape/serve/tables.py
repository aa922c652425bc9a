"""Runs in the PostgreSQL of the ledger, so that several servers play them: each run by one server, for a lease.

A server writes traces to files of its own, and sends their lines to the database. One that takes a run over goes on
from the lines that have arrived; what was called after them is known by its claims (:mod:`tape.budget.claims`).
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, ClassVar

from tape.budget.stores.addresses import Address, read_address
from tape.budget.stores.faults import WRITES, answered, connect, raise_fault
from tape.serve.records import FINAL, Beat, RunRecord, RunStore

try:
    import psycopg
    from psycopg.types.json import Jsonb
except ImportError:  # what needs it asks for it by name
    psycopg = None  # type: ignore[assignment]

LEASE = 15
"""Seconds after which a run of a server that does not answer any more is taken by another."""

_TABLES = """
create schema tape_serve;
create table tape_serve.run (
  id text primary key, key text not null, idempotency_key text not null, state text not null, record jsonb not null,
  created float not null, ended float not null, server text not null, until timestamptz not null, asked jsonb
);
create unique index run_once on tape_serve.run (key, idempotency_key) where idempotency_key <> '';
create index run_open on tape_serve.run (until) where state not in ('ended', 'cancelled', 'unknown');
create table tape_serve.line (
  run text not null references tape_serve.run on delete cascade, number int not null, line text not null,
  primary key (run, number)
);
"""
_FREE = (*FINAL, "parked", "unknown")
"""The states of runs that no server plays."""


class RunTables(RunStore):
    """The tables ``tape_serve``, made where they are missing.

    Args:
        url: Of the database.
        folder: For the traces of the runs that this server plays.

    Raises:
        LedgerError: The database cannot be reached, or does not allow it.
        ConfigError: The folder cannot be made.
    """

    shared: ClassVar[bool] = True

    def __init__(self, url: str | Address, folder: Path) -> None:
        super().__init__(folder)
        self._address, self._server = read_address(url), uuid.uuid4().hex
        self._connection: Any = None
        self._lock = threading.Lock()
        self._sent: dict[str, list[str]] = {}
        """Of each run that is played here, the lines that have arrived."""
        try:
            with connect(self._address) as connection, connection.transaction():
                connection.execute("select pg_advisory_xact_lock(7273042)")
                if connection.execute("select to_regclass('tape_serve.line')").fetchone() == (None,):
                    connection.execute(_TABLES)
        except psycopg.Error as error:
            raise_fault(self._address, error)

    def _do(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """A statement in a transaction of its own; over a cut connection it is made once more."""
        for attempt in (1, 2):
            with self._lock:
                try:
                    if self._connection is None or self._connection.closed:
                        self._connection = connect(self._address)
                    return answered(self._connection, WRITES, statement, *values)
                except psycopg.Error as error:
                    self.close()
                    if attempt == 2 or not isinstance(error, psycopg.OperationalError):
                        raise_fault(self._address, error)
        raise AssertionError("the second attempt has raised")

    def close(self) -> None:
        """See :class:`RunStore`."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def read(self, id: str) -> RunRecord | None:
        """See :class:`RunStore`."""
        rows = self._do("select record from tape_serve.run where id = %s", id)
        return RunRecord.model_validate(rows[0][0]) if rows else None

    def add(self, record: RunRecord) -> RunRecord:
        """See :class:`RunStore`."""
        self._do(
            "insert into tape_serve.run (id, key, idempotency_key, state, record, created, ended, server, until)"
            " values (%s, %s, %s, %s, %s, %s, 0, %s, now() + make_interval(secs => %s)) on conflict do nothing"
            " returning id",
            record.id, record.key, record.idempotency_key, record.state, _json(record), record.created, self._server,
            LEASE,
        )  # fmt: skip
        return self.find(record) or record

    def find(self, record: RunRecord) -> RunRecord | None:
        """See :class:`RunStore`."""
        rows = self._do(
            "select record from tape_serve.run where idempotency_key <> '' and key = %s and idempotency_key = %s",
            record.key, record.idempotency_key,
        )  # fmt: skip
        return RunRecord.model_validate(rows[0][0]) if rows else None

    def write(self, record: RunRecord) -> None:
        """See :class:`RunStore`; a run that is not played any more is free at once."""
        self._send(record.id)
        self._do(
            "update tape_serve.run set state = %s, record = %s, ended = %s, until = now() + make_interval(secs => %s)"
            " where id = %s and (server = %s or until <= now()) returning id",
            record.state, _json(record), record.ended, 0 if record.state in _FREE else LEASE, record.id, self._server,
        )  # fmt: skip

    def remove(self, id: str) -> None:
        """See :class:`RunStore`."""
        self._do("delete from tape_serve.run where id = %s returning id", id)
        self._sent.pop(id, None)
        self.trace(id).unlink(missing_ok=True)

    def listed(self, key: str | None = None, most: int | None = None) -> list[RunRecord]:
        """See :class:`RunStore`."""
        rows = self._do(
            "select record from tape_serve.run where coalesce(key = %s, true) order by created desc limit %s", key, most
        )
        return [RunRecord.model_validate(row[0]) for row in rows]

    def free(self) -> list[RunRecord]:
        """See :class:`RunStore`."""
        rows = self._do(
            "select record from tape_serve.run where until <= now() and state not in ('ended', 'cancelled', 'unknown')"
            " order by created limit 100"
        )
        return [RunRecord.model_validate(row[0]) for row in rows]

    def take(self, id: str) -> bool:
        """See :class:`RunStore`."""
        taken = self._do(
            "update tape_serve.run set server = %s, until = now() + make_interval(secs => %s), asked = null"
            " where id = %s and until <= now() returning id", self._server, LEASE, id,
        )  # fmt: skip
        if not taken:
            return False
        there, path = self.lines(id), self.trace(id)
        here = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self._sent[id] = there
        if here[: len(there)] != there:  # else this server has had it, and knows more
            path.write_text("".join(f"{line}\n" for line in there), encoding="utf-8")
        return True

    def beat(self, ids: Collection[str]) -> Beat:
        """See :class:`RunStore`."""
        if not ids:
            return Beat()
        for id in ids:
            self._send(id)
        rows = self._do(
            "with mine as (select id, asked from tape_serve.run where id = any (%s) and server = %s for update)"
            " update tape_serve.run set until = now() + make_interval(secs => %s), asked = null from mine"
            " where run.id = mine.id returning run.id, mine.asked", [*ids], self._server, LEASE,
        )  # fmt: skip
        kept = dict(rows)
        return Beat({id for id in ids if id not in kept}, {id: asked for id, asked in kept.items() if asked})

    def ask(self, id: str, what: Mapping[str, Any]) -> None:
        """See :class:`RunStore`."""
        self._do("update tape_serve.run set asked = %s where id = %s returning id", Jsonb(dict(what)), id)

    def lines(self, id: str, after: int = 0) -> list[str]:
        """See :class:`RunStore`."""
        rows = self._do("select line from tape_serve.line where run = %s and number >= %s order by number", id, after)
        return [row[0] for row in rows]

    def _send(self, id: str) -> None:
        """Send the lines of a trace that have come since; those of an end that was cut off go."""
        path, sent = self.trace(id), self._sent.setdefault(id, [])
        whole = path.read_text(encoding="utf-8").rpartition("\n")[0].splitlines() if path.exists() else []
        same = next((n for n, (old, new) in enumerate(zip(sent, whole, strict=False)) if old != new),
                    min(len(sent), len(whole)))  # fmt: skip
        if same == len(whole) == len(sent):
            return
        if same < len(sent):
            self._do("delete from tape_serve.line where run = %s and number >= %s returning run", id, same)
        self._do(
            "insert into tape_serve.line (run, number, line) select id, %s + place - 1, text"
            " from tape_serve.run, unnest(%s::text[]) with ordinality as added (text, place)"
            " where id = %s and server = %s on conflict (run, number) do update set line = excluded.line returning run",
            same, whole[same:], id, self._server,
        )  # fmt: skip
        self._sent[id] = whole


def _json(record: RunRecord) -> Any:
    return Jsonb(record.model_dump(mode="json"))
