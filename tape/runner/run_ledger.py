"""The money of a run: a scope of a ledger in a file of its folder, from which each of its processes pays.

A kill loses nothing: what was neither settled nor voided stays held there, and counts in full when the run goes on.
"""

from __future__ import annotations

import sys
import uuid
from contextlib import closing
from pathlib import Path

from tape.budget import Budget, Cap, HoldRequest, LedgerError, LedgerStore, Payer, Resources, StorePayer, open_store
from tape.budget.accounts import MOST
from tape.budget.locks import CLIENT
from tape.budget.payer import StoreHold
from tape.budget.stores.file import FileStore
from tape.errors import BudgetExceededError, RunDirectoryError, UnknownCostError
from tape.files import partial_file
from tape.runner.commits import unwritten
from tape.runner.work import PaidFrom

SCOPE = "run"
SECONDS = 366 * 86_400
"""Of a hold of a run; after that it is booked at its worst case."""


class RunPayer(Payer):
    """Pays for a run in one of its processes: from its own ledger first, and then from the shared one."""

    rank = CLIENT

    def __init__(self, paid_from: PaidFrom) -> None:
        self._payers: list[StorePayer] = []
        self._own = paid_from.file is not None
        if paid_from.file is not None:
            self._payers.append(StorePayer(FileStore(paid_from.file), SCOPE, seconds=SECONDS, patient=False))
        if paid_from.shared is not None:
            self._payers.append(StorePayer(open_store(paid_from.shared[0]), paid_from.shared[1], patient=False))

    def reserve(self, worst_case: Resources) -> list[StoreHold]:
        """See :class:`tape.budget.Payer`."""
        held: list[StoreHold] = []
        try:
            for payer in self._payers:
                held.append(payer.reserve(worst_case))
        except BaseException as error:
            self.release(held)
            if isinstance(error, LedgerError) and self._own and not held:
                raise _stopped(error) from error
            raise
        return held

    def settle(self, reservation: list[StoreHold], actual: Resources) -> None:
        """See :class:`tape.budget.Payer`."""
        for payer, hold in zip(self._payers, reservation, strict=True):
            payer.settle(hold, actual)

    def release(self, reservation: list[StoreHold]) -> None:
        """See :class:`tape.budget.Payer`; also where the last one has refused."""
        for payer, hold in zip(self._payers, reservation, strict=False):
            payer.release(hold)

    def close(self) -> None:
        """End what is due, and close the stores; what is open stays held."""
        for payer in self._payers:
            payer.close()
            payer.store.close()

    @property
    def stores(self) -> list[LedgerStore]:
        """The stores, in the order in which they are asked."""
        return [payer.store for payer in self._payers]


class RunLedger:
    """The ledger of a run, as the process has it that owns the run's folder.

    Args:
        path: Of the file. It is made anew, with what was spent in it before, so that new caps count that too.
        budget: The caps of the run.
        spent: The spending before there was a file.
        shared: See :class:`PaidFrom`.

    Attributes:
        budget: As it was given.
        paid_from: For processes that pay too.
        payer: Pays in this process.
        refused: The last refusal, which a pool tells.

    Raises:
        RunDirectoryError: The file is malformed, a link, or cannot be written.
        UnknownCostError: Of a capped resource an unknown amount was spent.
        LedgerError: The shared ledger cannot be opened.
    """

    def __init__(self, path: Path, budget: Budget, spent: Resources, shared: tuple[str, str] | None = None) -> None:
        self.budget, self._path = budget, path
        self.refused: BudgetExceededError | None = None
        try:
            if (exists := path.exists()) and not path.stat().st_size:
                raise LedgerError(
                    f"the ledger {path} is empty; restore it, or delete it to count finished episodes alone"
                )
            self._begin(spent_in(path) if exists else spent)
        except LedgerError as error:
            raise _stopped(error) from error
        except OSError as error:
            raise unwritten(path, error) from error
        self.paid_from = PaidFrom(path.absolute(), shared)
        self.payer = RunPayer(self.paid_from)

    def _begin(self, spent: Resources) -> None:
        for kind in self.budget:
            if spent[kind] is None:
                raise UnknownCostError(
                    f"how much {kind} was spent before is unknown, so the cap on {kind} of the run cannot be kept; "
                    "lift it"
                )
        partial, id = partial_file(self._path), uuid.uuid4().hex
        partial.unlink(missing_ok=True)
        try:
            with closing(FileStore(partial)) as store:
                for kind, count in self.budget.items():
                    store.set_cap(Cap(SCOPE, kind, count), SCOPE, "the budget of the run")
                unknown = {kind: None for kind, count in spent.items() if count is None}
                store.reserve(HoldRequest(id, SCOPE, unknown, name="what was spent before"))
                store.settle(id, {kind: n if n is None else min(n, MOST) for kind, n in spent.items()})
            partial.replace(self._path)
        finally:
            partial.unlink(missing_ok=True)

    def left(self) -> dict[str, int]:
        """What is left of each cap; raises a LedgerError where the file cannot be read."""
        return {balance.cap.resource: balance.left for balance in self.payer.stores[0].read(SCOPE)}

    def spent(self) -> Resources:
        """See :func:`spent_in`."""
        return _spent(self.payer.stores[0])


def spent_in(path: Path) -> Resources:
    """What a run has spent, with what is open in full; None for a resource of which that is unknown."""
    with closing(FileStore(path)) as store:
        return _spent(store)


def _spent(store: LedgerStore) -> Resources:
    total = Resources()
    for hold in store.history(SCOPE, sys.maxsize):
        # Known amounts of nothing are not settled, so what is booked as nothing is unknown.
        ended = {kind: count or None for kind, count in hold.spent.items()}
        total += Resources(hold.worst if hold.state == "held" else ended)
    return total


_payers: dict[PaidFrom, RunPayer] = {}
"""Of a worker process: the payer of the run that it works for."""


def payer_of(paid_from: PaidFrom) -> RunPayer:
    """The payer of a run in a worker process, which keeps it for the next batch; raises a LedgerError."""
    if paid_from not in _payers:
        while _payers:
            _payers.popitem()[1].close()
        _payers[paid_from] = RunPayer(paid_from)
    return _payers[paid_from]


def _stopped(error: LedgerError) -> RunDirectoryError:
    return RunDirectoryError(f"{error}. This run spends nothing more, and what is finished is kept")
