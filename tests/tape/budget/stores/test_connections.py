"""Sessions of the database: poolers, settings of roles and databases, rights, and faults under the right name."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any

import pytest

psycopg = pytest.importorskip("psycopg")

from tape import Guard  # noqa: E402
from tape.budget import Cap, Held, HoldRequest, LedgerError, Period, Rule, UnreachableLedgerError  # noqa: E402
from tape.budget.contract import HoldRecord  # noqa: E402
from tape.budget.stores.postgres import PostgresStore  # noqa: E402
from tests.tape.budget.stores.server import Pooler, Server  # noqa: E402
from tests.tape.commandline import Tape  # noqa: E402

_roles = count()

ODD = {
    "DateStyle": "SQL, DMY",
    "TimeZone": "Asia/Kathmandu",
    "IntervalStyle": "sql_standard",
    "bytea_output": "escape",
    "client_encoding": "LATIN1",
    "search_path": "nowhere",
    "standard_conforming_strings": "off",
    "backslash_quote": "off",
    "default_transaction_isolation": "serializable",
    "default_transaction_read_only": "on",
    "default_transaction_deferrable": "on",
    "transform_null_equals": "on",
    "enable_indexscan": "off",
}
"""Settings of a role that change what statements mean or how rows come back."""


def do(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in ("set default_transaction_read_only = off", *statements):
            connection.execute(statement)


@contextmanager
def role(url: str, *statements: str) -> Iterator[str]:
    """A new role, named ROLE in the statements that are made first; the address with it."""
    name = f"role{next(_roles)}"
    do(url, f"create role {name} login", *(statement.replace("ROLE", name) for statement in statements))
    yield url.replace("tape@", f"{name}@")
    do(url, f"drop owned by {name}", f"drop role {name}")


GRANTS = (
    "grant usage on schema tape_ledger to ROLE",
    "grant select, insert, update, delete on all tables in schema tape_ledger to ROLE",
)


def play(store: PostgresStore) -> list[HoldRecord]:
    """All that a store can do, with names beyond ASCII and odd signs in them."""
    store.set_cap(Cap("org/team", "usd", 1000, Period("day", "Europe/Berlin")), "änna", r"it's \100 %s; 水")
    for number in range(4):
        id = f"h-{number}"
        assert store.reserve(HoldRequest(id, "org/team", {"usd": 10}, {"customer": "42"}, r"\'größe %s")) == Held(id)
        store.settle(id, {"usd": number})
    store.pause("org", "änna", r"a \' b")
    assert [pause.who for pause in store.pauses()] == ["änna"]
    store.resume("org", "änna", "")
    [balance] = store.read("org/team", {})
    assert (balance.spent, balance.held) == (6, 0)
    assert balance.begun is not None
    assert str(balance.begun).endswith("+00:00")
    assert store.notes()[-1].why == r"it's \100 %s; 水"
    assert list(store.check()) == []
    return list(store.history("org"))


def test_a_pooler_that_gives_each_transaction_any_session(server: Server, pooler: Pooler) -> None:
    server.database("pooled")
    url = pooler.url("pooled")
    for _ in range(2):
        PostgresStore.create(url)
    play(PostgresStore(url))
    stores = [PostgresStore(url) for _ in range(4)]
    stores[0].set_cap(Cap("root", "usd", 10_000), "anna", "")
    faults: list[Exception] = []

    def work(store: PostgresStore, name: str) -> None:
        try:
            for number in range(15):
                store.reserve(HoldRequest(f"{name}-{number}", "root", {"usd": 3}))
                store.settle(f"{name}-{number}", {"usd": 2})
        except Exception as error:
            faults.append(error)

    threads = [
        threading.Thread(target=work, args=(store, f"{number}{half}"))
        for number, store in enumerate(stores)
        for half in "ab"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    [balance] = stores[0].read("root", {})
    assert (balance.spent, balance.held) == (8 * 15 * 2, 0)
    for store in stores:
        store.close()


def test_a_session_is_left_as_it_was(server: Server, pooler: Pooler) -> None:
    server.database("left")
    url = pooler.url("left")
    PostgresStore.create(url)
    with psycopg.connect(url, autocommit=True, prepare_threshold=None) as other:  # it gets the same sessions
        ask = "select name, setting from pg_settings where source = 'session' and name <> 'application_name'"
        before = other.execute(ask).fetchall()
        play(PostgresStore(url))
        assert other.execute(ask).fetchall() == before
        assert other.execute("select count(*) from pg_prepared_statements").fetchone() == (0,)
        assert other.execute("select count(*) from pg_locks where locktype = 'advisory'").fetchone() == (0,)


@pytest.mark.parametrize("pooled", [False, True])
def test_what_a_role_has_set_changes_nothing(
    pooled: bool, server: Server, database: str, tape: Tape, request: pytest.FixtureRequest
) -> None:
    name = database.rpartition("/")[2]
    odd = server.database(f"{name}odd")
    do(odd, *(f"alter database {name}odd set {setting} = '{value}'" for setting, value in ODD.items()))
    if pooled:
        odd = request.getfixturevalue("pooler").url(f"{name}odd")
    PostgresStore.create(odd)
    plain, other = play(PostgresStore(database)), play(PostgresStore(odd))
    assert [record[:7] for record in other] == [record[:7] for record in plain]
    assert {record.begun.utcoffset() for record in other} == {record.begun.utcoffset() for record in plain}
    with Guard("$1", journal=odd, scope="org/guard", tools={"look": {"usd": "0.1"}}).tool("look") as call:
        call.answered("it")
    for command in ("show", "holds", "notes", "pauses", "check", "export"):
        assert tape("ledger", "--url", odd, command)[0] == 0, command


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_programs_at_once_whatever_isolation_a_role_has(level: str, database: str) -> None:
    with role(database, *GRANTS, f"alter role ROLE set default_transaction_isolation = '{level}'") as url:
        stores = [PostgresStore(url) for _ in range(4)]
        stores[0].set_cap(Cap("org", "usd", 10_000), "anna", "")
        faults: list[Exception] = []

        def work(store: PostgresStore, name: int) -> None:
            for number in range(25):
                try:
                    store.reserve(HoldRequest(f"{name}-{number}", "org", {"usd": 1}))
                except LedgerError as error:
                    faults.append(error)

        threads = [threading.Thread(target=work, args=(store, n)) for n, store in enumerate(stores)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert faults == []
        assert stores[0].balances()[0].held == 100
        for store in stores:
            store.close()


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("statement_timeout", r"has ended the statement, .* statement_timeout .* nothing was done"),
        ("lock_timeout", r"did not get a lock within lock_timeout; .* nothing was done"),
    ],
)
def test_a_timeout_is_named_and_loses_nothing(setting: str, says: str, database: str) -> None:
    PostgresStore(database).set_cap(Cap("org", "usd", 100), "anna", "")
    with role(database, *GRANTS, f"alter role ROLE set {setting} = '300ms'") as url:
        store = PostgresStore(url)
        with psycopg.connect(database) as other:
            other.execute("select from tape_ledger.root for update")
            with pytest.raises(UnreachableLedgerError, match=says) as error:
                store.reserve(HoldRequest("a", "org", {"usd": 1}))
            assert "cannot be reached" not in str(error.value)
        assert store.reserve(HoldRequest("a", "org", {"usd": 1})) == Held("a")
        assert store.balances()[0].held == 1
        store.close()


@pytest.mark.parametrize(
    ("code", "times", "says"),
    [
        ("40001", 2, None),
        ("40P01", 2, None),
        ("40001", 3, "could not bring it into order with others"),
        ("40P01", 3, "could not bring it into order with others"),
        ("53100", 3, "has no room for it"),
        ("22012", 1, "has failed"),
    ],
)
def test_faults_of_a_transaction_are_tried_again_and_named(
    code: str, times: int, says: str | None, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, real = PostgresStore(database), psycopg.ClientCursor.execute
    left = [*range(times)]

    def failing(self: Any, query: Any, *args: Any, **options: Any) -> Any:
        if "apply" in str(query) and left:
            left.pop()
            return real(self, f"do $$ begin raise exception 'so' using errcode = '{code}'; end $$")
        return real(self, query, *args, **options)

    monkeypatch.setattr(psycopg.ClientCursor, "execute", failing)
    if says is None:
        assert store.reserve(HoldRequest("a", "org", {"usd": 1})) == Held("a")
    else:
        with pytest.raises(LedgerError, match=says) as error:
            store.reserve(HoldRequest("a", "org", {"usd": 1}))
        assert "cannot be reached" not in str(error.value)
    assert left == []
    store.close()


def test_an_encoding_that_holds_no_names_is_refused(server: Server) -> None:
    url = server.database("ascii", "encoding 'SQL_ASCII' locale 'C' template template0")
    with pytest.raises(LedgerError, match=r"has the encoding SQL_ASCII, .* create database NAME encoding 'UTF8'"):
        PostgresStore.create(url)
    with psycopg.connect(url) as connection:
        assert connection.execute("select to_regnamespace('tape_ledger')").fetchone() == (None,)


@pytest.mark.parametrize(
    ("given", "revoked", "named"),
    [
        ((), (), ["grant usage on schema tape_ledger to ROLE", "grant select, insert, update, delete on all tables"]),
        (GRANTS[:1], (), ["grant select, insert, update, delete on all tables in schema tape_ledger to ROLE"]),
        (GRANTS, ("revoke delete on tape_ledger.rule from ROLE",), ["grant select, insert, update, delete on all"]),
        (
            GRANTS,
            ("revoke execute on all functions in schema tape_ledger from public",),
            ["grant execute on all functions in schema tape_ledger to ROLE"],
        ),
    ],
)
def test_the_right_that_is_missing_is_named_and_is_enough(
    given: tuple[str, ...], revoked: tuple[str, ...], named: list[str], database: str
) -> None:
    PostgresStore(database).set_cap(Cap("org", "usd", 100), "anna", "")
    with role(database, *given, *revoked) as url:
        user = url.partition("//")[2].partition("@")[0]
        with pytest.raises(LedgerError, match="does not give this user its rights") as error:
            use(url)
        _, _, advice = str(error.value).partition("an administrator: ")
        assert [word.replace(user, "ROLE").startswith(two) for word, two in zip(advice.split("; "), named, strict=True)]
        assert "select, insert" not in advice or any("select, insert" in name for name in named)
        do(database, *advice.split("; "))
        use(url)


def use(url: str) -> None:
    store = PostgresStore(url)
    with suppress(UnreachableLedgerError):
        store.reserve(HoldRequest("a", "org", {"usd": 1}))
        store.check()
        store.set_rule(Rule("org"), "anna", "")
    store.close()


def test_who_may_not_make_the_tables_is_told_so(server: Server) -> None:
    url = server.database("unowned")
    with role(url) as theirs:
        user = theirs.partition("//")[2].partition("@")[0]
        with pytest.raises(LedgerError, match=f"an administrator: grant create on database unowned to {user}$"):
            PostgresStore.create(theirs)
        do(url, f"grant create on database unowned to {user}")
        PostgresStore.create(theirs)
        PostgresStore(theirs).close()
        do(url, f"create role {user}second login", f"grant create on database unowned to {user}second")
        do(url, f"grant usage on schema tape_ledger to {user}second")
        with pytest.raises(
            LedgerError, match=r"an administrator: run `tape ledger init` as the user who owns the tables$"
        ):
            PostgresStore.create(theirs.replace(user, f"{user}second"))
        do(url, f"drop owned by {user}second", f"drop role {user}second")
