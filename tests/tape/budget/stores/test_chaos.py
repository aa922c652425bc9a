"""Backends, programs and the server are killed: nothing that was answered is lost, and nothing is held twice."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest

pytest.importorskip("psycopg")

from tape.budget.stores.postgres import PostgresStore
from tests.tape.budget.stores.chaos import Programs, cut
from tests.tape.budget.stores.server import Server

Record = Callable[[str, object], None]


def write(record: Record, **counts: int) -> None:
    """Into the report."""
    for name, count in counts.items():
        record(name, count)
    assert counts["answers"] > 0


def pause(rng: random.Random) -> None:
    """A little while, so that it strikes between calls and within them."""
    time.sleep(rng.random() / 20)


@pytest.mark.parametrize("kills", [30, pytest.param(2000, marks=pytest.mark.soak)])
def test_backends_are_killed(kills: int, database: str, record_property: Record) -> None:
    rng, done = random.Random(kills), 0
    with Programs(database) as programs:
        while done < kills or not programs.answered():
            pause(rng)
            done += cut(database)
        write(record_property, kills=done, **programs.check())


@pytest.mark.parametrize("kills", [3, pytest.param(200, marks=pytest.mark.soak)])
def test_programs_are_killed(kills: int, database: str, record_property: Record) -> None:
    rng = random.Random(kills)
    with Programs(database) as programs:
        for _ in range(kills):
            time.sleep(0.5 + rng.random())
            programs.kill(rng)
        write(record_property, kills=kills, **programs.check())


@pytest.mark.usefixtures("server")  # which skips where there is none
@pytest.mark.parametrize("restarts", [2, pytest.param(200, marks=pytest.mark.soak)])
def test_the_server_restarts(restarts: int, record_property: Record) -> None:
    rng, server = random.Random(restarts), Server()
    try:
        url = server.database("ledger")
        PostgresStore.create(url)
        with Programs(url) as programs:
            for _ in range(restarts):
                time.sleep(0.3 + rng.random())
                server.stop(rng.choice(("fast", "immediate")))  # the second is as a crash
                server.start()
            write(record_property, restarts=restarts, **programs.check())
    finally:
        server.close()
