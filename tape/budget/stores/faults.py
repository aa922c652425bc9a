"""What goes to a database, and its faults in one sentence each."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NoReturn

from tape.budget.rules import LedgerError, UnreachableLedgerError
from tape.budget.stores.addresses import Address
from tape.errors import TapeError
from tape.redaction import redacted

try:
    import psycopg
    from psycopg.adapt import Loader
except ImportError:  # what needs it asks for it by name
    psycopg = None  # type: ignore[assignment]
    Loader = object  # type: ignore[assignment,misc]

READS = (
    "set transaction isolation level read committed; set local search_path = pg_catalog, tape_ledger, pg_temp; "
    "set local DateStyle = ISO; set local IntervalStyle = postgres; set local TimeZone = 'UTC'; "
)
"""Begins each transaction: what statements rely on, whatever roles, databases and poolers have set. It is sent with the
statement, as one message, so it takes no time of the network, and ends with the transaction."""
WRITES = f"set transaction read write; {READS}"

_TABLES = "(select oid from pg_namespace where nspname = 'tape_ledger')"
_LACKS = f"""
select format('grant %s to %I', lack, current_user) from (values
  ('create on database ' || quote_ident(current_database()), {_TABLES} is null),
  ('usage on schema tape_ledger', not has_schema_privilege({_TABLES}, 'usage')),
  ('select, insert, update, delete on all tables in schema tape_ledger', exists (
    select from pg_class, unnest(array['select', 'insert', 'update', 'delete']) as needed
    where relnamespace = {_TABLES} and relkind = 'r' and not has_table_privilege(pg_class.oid, needed))),
  ('execute on all functions in schema tape_ledger', exists (
    select from pg_proc where pronamespace = {_TABLES} and not has_function_privilege(oid, 'execute')))
) as one (lack, lacks) where lacks
"""  # noqa: S608  # made of constants
_ENDED = {
    "40": "could not bring it into order with others",
    "53": "has no room for it",
    "55P03": "did not get a lock within lock_timeout; see who holds it in pg_locks, or raise the timeout",
    "57014": "has ended the statement, as a person or statement_timeout asks; raise the timeout if it is that",
}
"""By code, or its class: what has undone a transaction that may be made again."""


class _Moment(Loader):
    """As the settings of a transaction write it; psycopg sees those of the session alone."""

    def load(self, data: Any) -> datetime:
        at = datetime.fromisoformat(bytes(data).decode()).astimezone(UTC)
        assert bytes(data).endswith(b"+00"), "each transaction is in UTC"
        return at


def connect(address: Address) -> psycopg.Connection[Any]:
    """A connection that leaves nothing in its session, which a pooler gives to others between transactions."""
    assert address.conninfo, "a file is not connected to"
    made = psycopg.connect(
        address.conninfo, autocommit=True, connect_timeout=10, application_name="tape ledger", client_encoding="utf8",
        prepare_threshold=None, cursor_factory=psycopg.ClientCursor,
    )  # fmt: skip
    assert made.prepare_threshold is None, "a pooler does not know what was prepared"
    made.adapters.register_loader("timestamptz", _Moment)
    return made


def answered(connection: psycopg.Connection[Any], before: str, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    """The rows of a statement, which is a transaction of its own unless one has begun."""
    assert before in (READS, WRITES), "each transaction says what it relies on"
    cursor = connection.execute(before + statement, values or None)
    while cursor.nextset():
        pass
    assert cursor.description, "the last statement has rows"
    return cursor.fetchall()


def first_line(error: BaseException) -> str:
    """The first line of what an error says."""
    lines = str(error).strip().splitlines()
    line = lines[0] if lines else type(error).__name__
    assert line, "something is said in any case"
    assert "\n" not in line, "it is one line"
    return redacted(line)


def raise_fault(address: Address, error: psycopg.Error, *, making: bool = False) -> NoReturn:
    """A fault of the database as one sentence."""
    assert not isinstance(error, TapeError), "what is a sentence already is not told as a fault of the database"
    where, said, state = f"the ledger {address}", first_line(error), error.sqlstate or ""
    if state in ("3F000", "42P01", "42883"):
        raise LedgerError(f"{where} has no tables of a ledger yet; make them by `tape ledger init --url ...`") from None
    if state == "42501":
        lacks = [("see the owner of the schema tape_ledger",)]
        with suppress(psycopg.Error), connect(address) as connection:
            lacks = answered(connection, READS, _LACKS) or lacks
        if making and "create on database" not in lacks[0][0]:
            lacks = [("run `tape ledger init` as the user who owns the tables",)]
        told = "; ".join(text for (text,) in lacks)
        raise LedgerError(f"{where} does not give this user its rights ({said}); an administrator: {told}") from None
    if ended := _ENDED.get(state) or _ENDED.get(state[:2]):
        raise UnreachableLedgerError(f"{where} {ended} ({said}); nothing was done, so it can be asked again") from None
    if isinstance(error, psycopg.OperationalError):  # it has no connection, or a cut one
        raise UnreachableLedgerError(
            f"{where} cannot be reached ({said}); no call is made without it. See to the server, or name another"
        ) from None
    raise LedgerError(f"{where} has failed ({said}); no call is made without it") from None
