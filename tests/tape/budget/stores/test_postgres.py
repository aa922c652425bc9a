"""The database: faults of server, network and rights, and many clients at once."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

psycopg = pytest.importorskip("psycopg")

from tape.budget import (  # noqa: E402  # noqa: E402
    Cap,
    Held,
    HoldRequest,
    Ledger,
    LedgerError,
    Reservation,
    Resources,
    Rule,
    StorePayer,
    UnreachableLedgerError,
)
from tape.budget.claims import Effect, claiming  # noqa: E402
from tape.budget.stores.postgres import PostgresStore  # noqa: E402
from tests.tape.budget.stores.server import Server  # noqa: E402
from tests.tape.commandline import Tape  # noqa: E402


@pytest.fixture
def store(database: str) -> PostgresStore:
    postgres_store = PostgresStore(database)
    postgres_store.set_cap(Cap("org", "usd", 100), "anna", "the beginning")
    return postgres_store


def cut(url: str) -> None:
    """Cut the connections of ledgers."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tape ledger'"
            " and datname = current_database()"
        )


def test_a_cut_connection_is_made_anew(database: str, store: PostgresStore) -> None:
    for number in range(5):
        assert store.reserve(HoldRequest(str(number), "org", {"usd": 1})) == Held(str(number))
        cut(database)
    assert store.balances()[0].held == 5


def test_a_change_whose_answer_was_lost_is_made_once(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    real, lost = psycopg.Connection.execute, [1]

    def losing(self: Any, *args: Any, **options: Any) -> Any:
        result = real(self, *args, **options)
        if "apply" in str(args[0]) and lost:
            lost.pop()
            raise psycopg.OperationalError("the connection was cut")
        return result

    monkeypatch.setattr(psycopg.Connection, "execute", losing)
    store.top_up(Cap("org", "usd", 50), "anna", "once")
    assert (store.balances()[0].amount, len(store.notes())) == (150, 2)


def test_a_fork_has_to_open_it_anew(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tape.budget.stores.batches.os.getpid", lambda: 1)
    with pytest.raises(LedgerError, match="was opened before a fork; open it anew"):
        store.void("a")


def test_an_id_that_is_used_in_two_places_is_refused_alone(database: str, store: PostgresStore) -> None:
    other = PostgresStore(database)
    assert other.reserve(HoldRequest("a", "elsewhere", {"usd": 1})) == Held("a")
    with pytest.raises(LedgerError, match="the id a belongs to a hold of elsewhere"):
        store.reserve(HoldRequest("a", "org", {"usd": 1}))


@pytest.mark.usefixtures("server")  # which skips where there is none
def test_a_server_that_is_down_pays_for_nothing_and_goes_on() -> None:
    server = Server()
    try:
        url = server.database("ledger")
        PostgresStore.create(url)
        store = PostgresStore(url)
        payer = StorePayer(store, "org")
        store.set_cap(Cap("org", "usd", 100), "anna", "")
        hold = payer.reserve({"usd": 10})  # type: ignore[arg-type]
        server.stop("immediate")  # as a crash
        with pytest.raises(UnreachableLedgerError, match=r"cannot be reached .* no call is made without it"):
            store.reserve(HoldRequest("b", "org", {"usd": 1}))
        payer.settle(hold, {"usd": 4})  # type: ignore[arg-type]
        server.start()
        payer.release(payer.reserve({"usd": 90}))  # type: ignore[arg-type]
        assert (store.balances()[0].spent, store.balances()[0].held) == (4, 0)
        store.close()
    finally:
        server.close()
    with pytest.raises(UnreachableLedgerError, match="cannot be reached"):
        PostgresStore(url)


def test_what_is_no_ledger_is_named(server: Server, database: str, store: PostgresStore) -> None:
    with pytest.raises(LedgerError, match="has no tables of a ledger yet; make them by `tape ledger init"):
        PostgresStore(server.url())
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("update tape_ledger.meta set version = 9")
    with pytest.raises(LedgerError, match="has version 9, and this program knows 5; install the version"):
        PostgresStore(database)
    with pytest.raises(LedgerError, match="has version 9, and this program knows 5; install the version"):
        store.reserve(HoldRequest("a", "org", {"usd": 1}))
    with pytest.raises(LedgerError, match="has version 9; this program knows 5"):
        PostgresStore.create(database)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("update tape_ledger.meta set version = 5")
        connection.execute("update tape_ledger.meta set instance = gen_random_uuid()")
    cut(database)
    with pytest.raises(LedgerError, match="is another one than before"):
        store.reserve(HoldRequest("a", "org", {"usd": 1}))


class Held2:
    """Gives a reservation back when the garbage collector finds it."""

    def __init__(self, reservation: Reservation) -> None:
        self.reservation, self.me = reservation, self

    def __del__(self) -> None:
        self.reservation.release()


def test_a_warning_and_a_finalizer_may_use_the_ledger_whatever_thread_they_are_in(store: PostgresStore) -> None:
    store.set_rule(Rule("org", warn=(10,)), "anna", "")
    store.warned = lambda item: store.pause("elsewhere", "anna", f"{item.percent} %")
    ledger = Ledger(payer=StorePayer(store, "org"))
    before = gc.get_threshold()
    gc.freeze()  # what other tests have left takes seconds to go through
    gc.set_threshold(20, 2, 2)
    try:
        for _ in range(40):
            Held2(ledger.reserve(Resources({"usd": 2})))
            gc.collect()
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
    ledger.reserve(Resources({"usd": 60})).release()
    assert (store.balances()[0].held, store.pauses()[0].why) == (0, "10 %")


def test_a_request_that_cannot_be_sent_fails_alone(store: PostgresStore) -> None:
    store.reserve(HoldRequest("a", "org", {"usd": 1}))
    batches = store._batches
    good: Future[Any] = Future()
    bad: Future[Any] = Future()
    end = {"do": "end", "id": "a", "state": "settled", "amounts": {"usd": 1}}
    batches._answer([({**end, "id": "\0"}, bad), (end, good)])
    assert good.result()["ended"] == "settled"
    with pytest.raises(LedgerError):
        bad.result()


def test_a_replica_that_lacks_holds_is_refused(database: str, store: PostgresStore) -> None:
    store.reserve(HoldRequest("a", "org", {"usd": 1}))
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("update tape_ledger.root set batch = batch - 2")
    with pytest.raises(LedgerError, match=r"is behind what was answered before .* a replica took over"):
        store.reserve(HoldRequest("b", "org", {"usd": 1}))
    with psycopg.connect(database) as connection:
        assert connection.execute("select id from tape_ledger.hold").fetchall() == [("a",)]


def test_the_tables_refuse_what_the_functions_should_have(database: str, store: PostgresStore) -> None:
    store.reserve(HoldRequest("a", "org", {"usd": 60}))
    with psycopg.connect(database, autocommit=True) as connection:
        with pytest.raises(psycopg.errors.CheckViolation):
            connection.execute("update tape_ledger.span set held = held + 41")
        connection.execute("update tape_ledger.span set held = held + 1")
    [line] = store.check()
    assert "org usd total : held, spent and debt are (61, 0, 0), the holds (60, 0, 0)" in line


CHILD = """
import sys
from tape.budget import Held, HoldRequest, open_store
store, held = open_store(sys.argv[1]), 0
for number in range(60):
    found = store.reserve(HoldRequest(f"{sys.argv[2]}-{number}", "org/run", {"usd": 1}))
    held += isinstance(found, Held)
print(held)
"""


def test_hosts_at_once_use_a_cap_whole_and_never_exceed_it(database: str, store: PostgresStore) -> None:
    programs = [
        subprocess.Popen([sys.executable, "-c", CHILD, database, name], stdout=subprocess.PIPE, text=True)
        for name in "xyzw"
    ]
    held = [int(program.communicate(timeout=100)[0]) for program in programs]
    assert sum(held) == store.balances()[0].held == 100
    assert list(store.check()) == []


def test_threads_share_batches(database: str, store: PostgresStore) -> None:
    store.set_cap(Cap("org", "usd", 10_000), "anna", "more")

    def work(name: str) -> None:
        for number in range(20):
            id = f"{name}-{number}"
            assert store.reserve(HoldRequest(id, f"org/{name}", {"usd": 3})) == Held(id)
            assert store.settle(id, {"usd": 2}).spent == {"usd": 2}

    threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.balances()[0].spent == 16 * 20 * 2
    with psycopg.connect(database, autocommit=True) as connection:
        row = connection.execute("select batch from tape_ledger.root where root = 'org'").fetchone()
    assert row is not None
    assert row[0] < 16 * 20 * 2  # fewer commits than requests


def test_the_command_line_makes_the_tables(server: Server, tape: Tape, tmp_path: Path) -> None:
    url = server.database(f"cli{tmp_path.name.replace('-', '_')}")
    for _ in range(2):
        assert "the ledger is there, with 0 caps" in tape("ledger", "--url", url, "init")[1]
    assert "$100" in tape("ledger", "--url", url, "cap", "org", "$100", "--per", "day@Europe/Berlin")[1]
    assert tape("ledger", "--url", url, "check")[0] == 0


def test_a_changing_call_takes_two_transactions(database: str, store: PostgresStore) -> None:
    def batches() -> int:
        with psycopg.connect(database) as connection:
            [[count]] = connection.execute("select batch from tape_ledger.root where root = 'org'").fetchall()
            return int(count)

    payer = StorePayer(store, "org/run")
    payer.release(payer.reserve(Resources({"usd": 1})))  # it has read its rules
    before = batches()
    with claiming(effect := Effect("k")):
        held = payer.reserve(Resources({"usd": 10}))
    effect.end = ("done", "{}")
    payer.settle(held, Resources({"usd": 10}))
    assert batches() - before == 2
    assert [claim.state for claim in store.claims("org")] == ["done"]
