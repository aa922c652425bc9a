"""A PostgreSQL for the tests of a session."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import count

import pytest

from tests.tape.budget.stores.server import Pooler, Server, missing

_numbers = count()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    pytest.importorskip("psycopg")
    if (why := missing()) is not None:
        pytest.skip(why)
    result = Server()
    yield result
    result.close()


@pytest.fixture
def database(server: Server) -> str:
    """The address of a new database with the tables of a ledger."""
    from tape.budget.stores.postgres import PostgresStore

    url = server.database(f"ledger{next(_numbers)}")
    PostgresStore.create(url)
    return url


@pytest.fixture(scope="session")
def pooler(server: Server) -> Iterator[Pooler]:
    """A pgbouncer in transaction mode."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        pytest.skip("pgbouncer is not installed")
    result = Pooler(server, program)
    yield result
    result.close()
