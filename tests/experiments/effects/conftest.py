"""A PostgreSQL, as the tests of stores have it."""

from tests.tape.budget.stores.conftest import database, server

__all__ = ["database", "server"]
