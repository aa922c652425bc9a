"""What several programs spend of one guard's budget, in a file that they share: a ledger in a file without caps.

Each guard keeps its own caps, and books what the others hold and spend, before it checks whether its own call fits.
"""

from __future__ import annotations

import os
import uuid
from collections import defaultdict, deque
from contextlib import suppress
from pathlib import Path
from typing import Any

from tape.budget import Ledger, Reservation, Resources
from tape.budget.locks import JOURNAL
from tape.ledger import LedgerError, Request
from tape.ledger.file import FileStore

SCOPE = "guard"
SECONDS = 366 * 86_400
"""Of a hold: what was in flight when its program died counts until then, and after that as spent."""

_due: defaultdict[tuple[int, int, int], deque[tuple[str, Resources]]] = defaultdict(deque)
"""By program and file: settlements that are not written yet. Finalizers append to it, and take no lock."""


class SharedJournal:
    """A ledger that is kept up with the file.

    Args:
        path: Made if missing; files of earlier versions are read too.
        ledger: What all programs together have spent and reserved is booked there.

    Raises:
        LedgerError: The file is malformed or cannot be written, or this system has no locks on files.
    """

    def __init__(self, path: Path, ledger: Ledger) -> None:
        self._ledger = ledger
        self._seen: set[str] = set()
        """The holds that are booked: own ones, and those of others."""
        self._open: dict[str, Reservation] = {}
        """Of others."""
        self._closed = False
        self._store = FileStore(path, seen=self._take, rank=JOURNAL)
        file = os.stat(path)
        self._due = _due[os.getpid(), file.st_dev, file.st_ino]

    def catch_up(self) -> None:
        """Book what others have appended, and write what is due.

        Raises:
            LedgerError: The file is malformed or gone.
        """
        with self._store.alone():
            self._write_due()

    def reserve(self, ledger: Ledger, name: str, worst: Resources) -> tuple[Reservation, str]:
        """Set a worst case aside, in the ledger and on the disk.

        Args:
            ledger: The one of the file or one within it.
            name: What is called.
            worst: In counts.

        Returns:
            The reservation, and the id by which it is settled.

        Raises:
            BudgetExceededError: It does not fit beside what all programs have spent and reserved.
            UnknownCostError: It is unknown in what is capped.
            LedgerError: It cannot be written; nothing may be spent then.
        """
        request = Request(uuid.uuid4().hex, SCOPE, dict(worst), name=name[:1000], seconds=SECONDS)
        with self._store.alone():
            self._write_due()
            reservation = ledger.reserve(worst)
            self._seen.add(request.id)
            try:
                self._store.reserve_alone(request)
            except BaseException:
                reservation.release()
                raise
            with suppress(LedgerError):  # it stays due
                self._write_due()
        return reservation, request.id

    def settle(self, id: str, spent: Resources, *, later: bool = False) -> None:
        """Write down what a call took, in counts.

        Args:
            id: Of its reservation.
            spent: In counts.
            later: Only note it, without a lock; it is written at the next use of the file in this process.

        Raises:
            LedgerError: It cannot be written; until it can be, the worst case stays booked for other programs.
        """
        if self._closed:
            raise LedgerError(f"the journal {self._store.path} was closed; make a new guard")
        self._due.append((id, spent))
        if not later and self._store.free():  # else a finalizer has ended a call amid another's line
            self.catch_up()

    def close(self) -> None:
        """Write what is due and give the file up; what is open stays open in it.

        Raises:
            LedgerError: What is due cannot be written.
        """
        try:
            if self._due:
                self.catch_up()
        finally:
            self._closed = True
            self._store.close()

    def _write_due(self) -> None:
        while self._due:
            id, spent = self._due[0]
            if not self._store.knows(id):  # of a file that was removed, and whose place on the disk this one has
                self._due.popleft()
                continue
            ended = self._store.settle_alone(id, spent)
            self._due.popleft()
            self._take({"do": "end", "id": id, "spent": ended.spent})  # perhaps of another guard of this program

    def _take(self, record: dict[str, Any]) -> None:
        """Book a record of another guard, of this program, another one or one that has ended."""
        id = record.get("id", "")
        if record["do"] == "hold" and id not in self._seen:
            self._seen.add(id)
            # It was let through there, where caps may be larger, or something was settled that is written next.
            self._open[id] = self._ledger.reserve(Resources(record["worst"]), forced=True)
        elif record["do"] == "end" and (reservation := self._open.pop(id, None)) is not None:
            reservation.settle(Resources(record["spent"]))
