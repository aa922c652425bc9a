"""A PostgreSQL for the tests of a session."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from tests.tape.ledger.server import Server, missing

_numbers = count()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    pytest.importorskip("psycopg")
    if (why := missing()) is not None:
        pytest.skip(why)
    found = Server()
    yield found
    found.close()


@pytest.fixture
def database(server: Server) -> str:
    """The address of a new database with the tables of a ledger."""
    from tape.ledger.postgres import PostgresStore

    url = server.database(f"ledger{next(_numbers)}")
    PostgresStore.create(url)
    return url
