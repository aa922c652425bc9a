"""Programs that spend one cap in PostgreSQL while backends, the server, and they themselves are killed.

Each program writes down what it was answered; at the end the database has to agree with all of it.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg

from tape.budget import Cap, LedgerStore, open_store

CAP = 10**9
CLIENT = """
import random, sys, threading
from tape.budget import Held, LedgerError, HoldRequest, UnreachableLedgerError, open_store

url, name, log = sys.argv[1:]
written = open(log, "a", buffering=1)

def sure(ask):
    while True:
        try:
            return ask()
        except UnreachableLedgerError:
            pass

def work(thread):
    rng, number = random.Random(f"{name}{thread}"), 0
    while True:
        number += 1
        id, worst = f"{name}-{thread}-{number}", rng.randrange(1, 100)
        if not isinstance(sure(lambda: store.reserve(HoldRequest(id, f"org/{name}", {"usd": worst}))), Held):
            continue
        written.write(f"held {id} {worst}\\n")
        if rng.random() < 0.1:
            continue  # it forgets it
        used = rng.randrange(worst + 1)
        ended = sure(lambda: store.settle(id, {"usd": used}))
        written.write(f"{ended.state} {id} {ended.spent['usd']}\\n")

store = sure(lambda: open_store(url))
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for thread in threads:
    thread.start()
"""


class Programs:
    """Some of them at work; a context manager.

    Args:
        url: Of the database.
        count: How many.
    """

    def __init__(self, url: str, count: int = 3) -> None:
        self.url, self._count = url, count
        self._folder = tempfile.TemporaryDirectory()
        self._running: list[subprocess.Popen[bytes]] = []
        self._made = 0
        store = open_store(url)
        store.set_cap(Cap("org", "usd", CAP), "chaos", "")
        store.close()

    def __enter__(self) -> Programs:
        for _ in range(self._count):
            self._start()
        while not self.answered():  # a busy machine takes seconds to start them
            time.sleep(0.05)
        return self

    def __exit__(self, *_: object) -> None:
        while self._running:
            self._end(self._running.pop())
        self._folder.cleanup()

    def _start(self) -> None:
        self._made += 1
        log = Path(self._folder.name) / f"{self._made}.log"
        command = [sys.executable, "-c", CLIENT, self.url, f"c{self._made}", str(log)]
        self._running.append(subprocess.Popen(command))

    @staticmethod
    def _end(process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait()

    def kill(self, rng: random.Random) -> None:
        """``kill -9`` one, and start another."""
        self._end(self._running.pop(rng.randrange(len(self._running))))
        self._start()

    def answered(self) -> list[list[str]]:
        """What they were answered: state, id, amount. A last line may be torn."""
        lines = [
            line for path in Path(self._folder.name).iterdir() for line in path.read_text().splitlines(keepends=True)
        ]
        return [line.split() for line in lines if line.endswith("\n")]

    def check(self) -> dict[str, int]:
        """End all, and compare.

        Raises:
            AssertionError: The database does not agree.
        """
        while self._running:
            self._end(self._running.pop())
        while cut(self.url):  # what they had asked may still be under way
            time.sleep(0.1)
        store = open_store(self.url)
        holds = {record.id: record for record in store.history(most=10**7)}
        answered = self.answered()
        for state, id, amount in answered:
            hold = holds[id]
            if state == "held":
                assert hold.worst == {"usd": int(amount)}, (id, hold)
                assert hold.state in ("held", "settled"), (id, hold)
            else:
                assert (hold.state, hold.spent) == (state, {"usd": int(amount)}), (id, hold)
        _agrees(store, list(holds.values()))
        store.close()
        return {"answers": len(answered), "holds": len(holds), "programs": self._made}


def _agrees(store: LedgerStore, holds: Sequence[Any]) -> None:
    [balance] = store.balances()
    assert balance.spent == sum(hold.spent.get("usd", 0) for hold in holds)
    assert balance.held == sum(hold.worst["usd"] for hold in holds if hold.state == "held")
    assert balance.spent + balance.held <= CAP
    assert list(store.check()) == []


def cut(url: str) -> int:
    """Kill the backends of all ledgers; how many there were."""
    with psycopg.connect(url, autocommit=True) as connection:
        return len(
            connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tape ledger'"
                " and datname = current_database()"
            ).fetchall()
        )
