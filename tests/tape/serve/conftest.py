"""A PostgreSQL for runs of several servers."""

from tests.tape.budget.stores.conftest import database, server

__all__ = ["database", "server"]
