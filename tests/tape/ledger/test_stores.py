"""Both stores against the contract, and in lock-step."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from tape.ledger import LedgerStore, Warned
from tape.ledger.file import FileStore
from tape.ledger.postgres import PostgresStore
from tape.testing.ledger import BEGIN, LedgerStoreConformance
from tests.tape.ledger.lockstep import Steps, answer, state


class Clock:
    """A present that is set."""

    def __init__(self) -> None:
        self.at = BEGIN

    def __call__(self) -> datetime:
        return self.at


class TestFile(LedgerStoreConformance):
    """The file."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self._path, self._clock = tmp_path / "budget.ledger", Clock()

    def make(self) -> LedgerStore:
        return FileStore(self._path, self._clock)

    def open_again(self, store: LedgerStore) -> LedgerStore:
        assert store
        return FileStore(self._path, self._clock)

    def set_time(self, store: LedgerStore, at: datetime) -> None:
        assert store
        self._clock.at = at


class TestPostgres(LedgerStoreConformance):
    """The database."""

    @pytest.fixture(autouse=True)
    def _database(self, database: str) -> None:
        self._url = database

    def make(self) -> LedgerStore:
        return PostgresStore(self._url)

    def open_again(self, store: LedgerStore) -> LedgerStore:
        assert store
        return PostgresStore(self._url)

    def set_time(self, store: LedgerStore, at: datetime) -> None:
        assert isinstance(store, PostgresStore)
        store.at = at


@pytest.mark.parametrize(
    ("seed", "count"), [(0, 600), (1, 600), *(pytest.param(n, 10_000, marks=pytest.mark.soak) for n in range(2, 12))]
)
def test_both_answer_alike(seed: int, count: int, database: str, tmp_path: Path) -> None:
    steps = Steps(seed)
    clock: Callable[[], datetime] = lambda: steps.at  # noqa: E731
    stores = FileStore(tmp_path / "budget.ledger", clock), PostgresStore(database)
    warned: list[list[Warned]] = [[], []]
    for store, told in zip(stores, warned, strict=True):
        store.warned = told.append  # type: ignore[method-assign,assignment]
    for number in range(count):
        step = steps.draw()
        stores[1].at = steps.at
        first, second = (answer(store, step) for store in stores)
        assert first == second, (seed, number)
        assert warned[0] == warned[1], (seed, number)
        steps.answered(first)
        if number % 50 == 0 or number == count - 1:
            first, second = (state(store) for store in stores)
            assert first == second, (seed, number)
            assert first[-1] == []  # the sums agree with the holds
    for store in stores:
        store.close()
