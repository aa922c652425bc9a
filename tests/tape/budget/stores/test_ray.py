"""A study on a Ray cluster of two nodes, all of whose workers pay from one cap in PostgreSQL."""

from __future__ import annotations

import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

pytest.importorskip("psycopg")
pytest.importorskip("ray")

from tape.budget import Cap
from tape.budget.stores.postgres import PostgresStore

ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "token"}
NODE = ("--num-cpus=1", "--node-ip-address=127.0.0.1", "--disable-usage-stats", "--object-store-memory=100000000")


def ports(count: int) -> list[int]:
    """Some that are free now."""
    sockets = [socket.socket() for _ in range(count)]
    for item in sockets:
        item.bind(("127.0.0.1", 0))
    result = [entry.getsockname()[1] for entry in sockets]
    for item in sockets:
        item.close()
    return result


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Two nodes with a processor each, on this machine; what is started ends with it."""
    port, client = ports(2)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
    head = ("--head", f"--port={port}", f"--ray-client-server-port={client}", "--include-dashboard=false")
    nodes: list[subprocess.Popen[bytes]] = []
    try:
        for words, awaited in ((head, client), ((f"--address=127.0.0.1:{port}",), client)):
            command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", *words, *NODE]
            nodes.append(subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL))
            await_port(awaited, nodes[-1])
        yield f"ray://127.0.0.1:{client}"
    finally:
        for node in nodes:
            node.terminate()  # it ends the others of its node
            node.wait(60)


def await_port(port: int, program: subprocess.Popen[bytes]) -> None:
    """Wait until something listens there."""
    while program.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise AssertionError(f"Ray has ended with {program.returncode}")


def tape(*words: object) -> tuple[int, str]:
    """A program of its own, since Ray reads its settings once; its exit code, and what it says of errors."""
    command = [sys.executable, "-m", "tape", *map(str, words)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=200)
    return done.returncode, done.stderr


@pytest.mark.soak
@pytest.mark.timeout(400)
def test_one_cap_over_all_workers(
    cluster: str, database: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    store = PostgresStore(database)
    store.set_cap(Cap("org", "steps", 30), "anna", "")
    run = ("run", "tool_chains", "--limit", "12", "--agent", "react", "--batch", "1", "--quiet", "--out", tmp_path)
    run += ("--workers", cluster, "--ledger", database, "--ledger-scope", "org/study")
    code, error = tape(*run)
    assert (code, "org has left" in error) == (3, True), error
    [balance] = store.balances()
    assert (balance.held, balance.spent <= 30) == (0, True)
    assert balance.spent > 20
    code, error = tape(*run, "--run-budget", "steps=5")
    assert (code, "cannot be shared with a Ray cluster" in error) == (2, True), error
    store.set_cap(Cap("org", "steps", 1000), "anna", "more")
    code, error = tape(*run)
    assert code in (0, 1), error
    assert sum(record.spent.get("steps", 0) for record in store.history(most=10**6)) == store.balances()[0].spent
    assert {record.scope for record in store.history()} == {"org/study"}
    killed = killing(store, (*run[:-8], "--seed", "7", "--out", tmp_path / "killed", *run[-6:]))
    held = store.balances()[0].held
    store.at = datetime.now(UTC) + timedelta(hours=2)
    lost = [record for record in store.history(most=10**6) if record.state == "booked"]
    assert sum(record.worst["steps"] or 0 for record in lost) == held
    assert all(record.spent == record.worst for record in lost)
    record_property("workers killed", killed)
    record_property("holds of theirs that were booked", len(lost))
    assert list(store.check()) == []
    store.close()


def killing(store: PostgresStore, run: tuple[object, ...]) -> int:
    """Kill workers of a run while they hold something, some times; how many were killed."""
    program = subprocess.Popen([sys.executable, "-m", "tape", *map(str, run)], stderr=subprocess.DEVNULL)
    killed = 0
    while program.poll() is None:
        if killed < 3 and store.read("org/study")[0].held:
            subprocess.run(["pkill", "-9", "-o", "-f", "^ray::_remote"], check=False)
            killed += 1
            time.sleep(1)
    return killed
