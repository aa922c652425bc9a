"""All stores against the contract, and in lock-step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from tape.budget import Held, LedgerStore, Warned
from tape.budget.stores.file import FileStore
from tape.budget.stores.memory import MemoryStore
from tape.budget.stores.postgres import PostgresStore
from tape.testing import LedgerStoreConformance
from tape.testing.ledger_parts import BEGIN, request
from tests.tape.budget.stores.lockstep import Steps, answer, plain, state
from tests.tape.budget.stores.model import Model
from tests.tape.budget.stores.server import Server
from tests.tape.conftest import Keep


class Clock:
    """A present that is set."""

    def __init__(self) -> None:
        self.at = BEGIN

    def __call__(self) -> datetime:
        return self.at


class TestMemory(LedgerStoreConformance):
    """In memory, where no other program has it."""

    _clock = Clock()

    def make(self) -> LedgerStore:
        return MemoryStore(self._clock)

    def set_time(self, store: LedgerStore, at: datetime) -> None:
        assert store
        self._clock.at = at

    def test_after_an_interrupt_amid_a_hold_nothing_of_it_is_there(
        self, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupted(hold: object) -> None:
            raise KeyboardInterrupt

        store.reserve(request("a"))
        monkeypatch.setattr(store._books, "set_aside", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.reserve(request("b", worst=50))
        assert [hold.id for hold in store.history()] == ["a"]
        assert store.reserve(request("b", worst=50)) == Held("b")


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


def sweep(file: FileStore, database: PostgresStore) -> None:
    """End what has expired."""
    with file.alone():
        pass
    for root in ("acme", "other"):
        database._batches.ask(do="sweep", scope=root)


def play(seed: int, count: int, file: Path, url: str) -> Counter[str]:
    """Random requests of both stores and the model, in lock-step; how often what happened."""
    steps, model, seen = Steps(seed), Model(), Counter[str]()
    clock: Callable[[], datetime] = lambda: steps.at  # noqa: E731
    stores = FileStore(file, clock), PostgresStore(url)
    warned: list[list[Warned]] = [[], []]
    for store, told in zip(stores, warned, strict=True):
        store.warned = told.append  # type: ignore[method-assign,assignment]
    for number in range(count):
        step = steps.draw()
        stores[1].at = steps.at
        if model.goes_on(steps.at):  # in all roots at once, so that both warn of it at once
            sweep(*stores)
        first, second = (answer(store, step) for store in stores)
        assert first == second, (seed, number)
        assert plain(first) == plain(answer(model, step)), (seed, number)
        assert warned[0] == warned[1], (seed, number)
        steps.answered(first)
        seen["refused as malformed" if isinstance(first, str) else type(first).__name__] += 1
        if number % 50 == 0 or number == count - 1:
            first, second = (state(store) for store in stores)
            assert first == second, (seed, number)
            assert plain(first[0]) == model.balances(), (seed, number)
            assert first[-1] == []  # the sums agree with the holds, and parts with the holds above them
    for store in stores:
        store.close()
    return seen + model.seen


@pytest.mark.parametrize("seed", [0])
def test_both_answer_alike(seed: int, database: str, tmp_path: Path) -> None:
    seen = play(seed, 250, tmp_path / "budget.ledger", database)
    assert seen["late ends"] >= 5
    assert seen["parts"] >= 5


SEEDS, STEPS = range(2, 102), 1000


@pytest.mark.soak
def test_the_ledger_as_a_machine(server: Server, tmp_path: Path, keep_figures: Keep) -> None:
    seen: Counter[str] = Counter()
    for seed in SEEDS:
        url = server.database(f"machine{seed}")
        PostgresStore.create(url)
        seen += play(seed, STEPS, tmp_path / f"{seed}.ledger", url)
    keep_figures("ledger_machine", {"steps": len(SEEDS) * STEPS, **seen})
