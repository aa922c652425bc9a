"""What gateways spend, in a file that several programs may share: a ledger in a file without caps.

Each program keeps its own caps, and books what the others hold and spend, before it checks whether its own call fits.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, NamedTuple

from tape.budget import HoldRequest, Ledger, LedgerError, Reservation, Resources
from tape.budget.contract import HoldRecord, State
from tape.budget.locks import JOURNAL
from tape.budget.rules import logger
from tape.budget.stores.addresses import require_file
from tape.budget.stores.file import FileStore
from tape.errors import ConfigError

SECONDS = 366 * 86_400
"""Of a hold: what was in flight when its program died counts until then, and after that as spent."""
CHECKPOINT = "checkpoint"
"""The name of a hold of nothing, whose id is the digest of a handle."""
NOTE = "note: "
"""How the name of a hold of nothing begins that says what a person has decided."""

Due = tuple[str, Resources, State]
_due: defaultdict[tuple[int, int, int], deque[Due]] = defaultdict(deque)
"""By program and file: settlements that are not written yet. Finalizers append to it, and take no lock."""


class Day(NamedTuple):
    """What became of the calls that ended on a day and were made.

    Attributes:
        calls: How many.
        spent: What is booked for them.
    """

    calls: int = 0
    spent: Resources = Resources()


class Journal:
    """Ledgers that are kept up with the file.

    Args:
        path: Made if missing.
        ledger_of: The ledger of a scope; what all programs together have spent and reserved is booked there.

    Attributes:
        path: Of the file.
        handles: The scope of each checkpoint, by the digest of its handle.
        days: What was spent on each day, in UTC.

    Raises:
        ConfigError: It looks like the address of a ledger, and is no file's name.
        LedgerError: The file is malformed or cannot be written, or this system has no locks on files.
    """

    def __init__(self, path: Path, ledger_of: Callable[[str], Ledger]) -> None:
        require_file(str(path))
        self.path, self._ledger_of = path, ledger_of
        self.handles: dict[str, str] = {}
        self.days: dict[date, Day] = {}
        self._seen: dict[str, bool] = {}
        """The holds that are booked, own ones and those of others, and whether their day counts them."""
        self._others: dict[str, Reservation] = {}
        """What others have open."""
        self._closed = False
        self._store = FileStore(path, seen=self._take, rank=JOURNAL)
        file = os.stat(path)
        self._due = _due[os.getpid(), file.st_dev, file.st_ino]

    def catch_up(self) -> None:
        """Book what others have appended, and write what is due.

        Raises:
            LedgerError: The file is malformed or gone.
        """
        with self._alone():
            pass

    def reserve(self, ledger: Ledger, name: str, worst: Resources, scope: str) -> tuple[Reservation, str]:
        """Set a worst case aside, in the ledger and on the disk.

        Args:
            ledger: The one of the scope or one within it.
            name: What is called.
            worst: In counts.
            scope: Who calls.

        Returns:
            The reservation, and the id by which it is settled.

        Raises:
            BudgetExceededError: It does not fit beside what all programs have spent and reserved.
            UnknownCostError: It is unknown in what is capped.
            LedgerError: It cannot be written; nothing may be spent then.
        """
        request = HoldRequest(uuid.uuid4().hex, scope, dict(worst), name=name[:1000], seconds=SECONDS)
        reservation: Reservation | None = None
        try:
            with self._alone():
                reservation = ledger.reserve(worst)
                self._seen[request.id] = False
                self._store.reserve_alone(request)
        except BaseException:
            self._seen.pop(request.id, None)
            if reservation is not None:
                reservation.release()
            raise
        return reservation, request.id

    def require_room(self, ledger: Ledger, worst: Resources) -> None:
        """Refuse what :meth:`reserve` would refuse now, with its errors; nothing is held, and nothing is written."""
        with self._alone():
            ledger.reserve(worst).release()

    def settle(self, id: str, spent: Resources, state: State = "settled", *, later: bool = False) -> None:
        """Write down how a call has ended.

        Args:
            id: Of its reservation.
            spent: In counts.
            state: ``booked`` where nobody knows what it took, ``voided`` where it was not made.
            later: Only note it, without a lock; it is written at the next use of the file in this process.

        Raises:
            LedgerError: It cannot be written; until it can be, the worst case stays booked for other programs.
        """
        if self._closed:
            raise LedgerError(f"the journal {self.path} was closed; start the gateway again")
        self._due.append((id, spent, state))
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

    # --- sessions -----------------------------------------------------------------------------

    def calls(self, scope: str, most: int) -> list[HoldRecord]:
        """The latest calls of a scope, the latest last."""
        return [
            record for record in reversed(self._store.history(scope, most)) if not _is_note(record.name, record.worst)
        ]

    def of_others(self) -> list[HoldRecord]:
        """What others have open: programs that are at work, or have ended amid a call."""
        with self._alone():
            return [record for id in self._others if (record := self._store.find(id)) is not None]

    def checkpoint(self, handle: str, scope: str) -> None:
        """Remember a scope by a handle, of which only a digest is kept.

        Raises:
            LedgerError: It cannot be written.
        """
        id = digest(handle)
        self._hold_nothing(id, scope, CHECKPOINT)
        self.handles[id] = scope

    def note(self, scope: str, text: str) -> None:
        """Write down what a person has decided about a call of a scope.

        Raises:
            LedgerError: It cannot be written.
        """
        self._hold_nothing(uuid.uuid4().hex, scope, f"{NOTE}{text}"[:1000])

    def _hold_nothing(self, id: str, scope: str, name: str) -> None:
        with self._alone():
            self._store.reserve_alone(HoldRequest(id, scope, {}, name=name))
            self._store.settle_alone(id, {})

    # --- the file -----------------------------------------------------------------------------

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Have the file alone, and write what is due before and after."""
        written: list[Due] = []
        try:
            with self._store.alone():
                self._write_due(written)
                yield
                self._write_due(written)
        except BaseException:  # perhaps it is not on the disk; what is ended again stays as it is
            self._due.extendleft(reversed(written))
            raise

    def _write_due(self, written: list[Due]) -> None:
        while self._due:
            written.append(self._due.popleft())
            id, spent, state = written[-1]
            if self._store.find(id) is None:  # of a file that was removed, in whose place on the disk this one is
                written.pop()
                continue
            try:
                ended = self._store.settle_alone(id, spent, state)
            except ConfigError as error:  # for good: a person finds the hold, and what comes after it is written
                logger.error("what the call of hold %s took (%s, in counts) cannot be written: %s", id, spent, error)
                continue
            # It is perhaps of another journal of this program.
            self._take({"do": "end", "at": datetime.now(UTC), **ended._asdict()})

    def _take(self, record: dict[str, Any]) -> None:
        """Book a record of another one, of this program, another one or one that has ended."""
        id = record.get("id", "")
        if record["do"] == "hold" and _is_note(record["name"], record["worst"]):
            if record["name"] == CHECKPOINT:
                self.handles[id] = record["scope"]
        elif record["do"] == "hold" and id not in self._seen:
            self._seen[id] = False
            # It was let through there, where caps may be larger, or something was settled that is written next.
            self._others[id] = self._ledger_of(record["scope"]).reserve(Resources(record["worst"]), forced=True)
        elif record["do"] == "end":
            spent = Resources(record["spent"])
            if self._seen.get(id) is False and record["state"] != "voided":
                self._seen[id], day = True, record["at"].astimezone(UTC).date()
                calls, before = self.days.get(day, Day())
                self.days[day] = Day(calls + 1, before + spent)
            if (reservation := self._others.pop(id, None)) is not None:
                reservation.settle(spent)


def _is_note(name: str, worst: Mapping[str, int | None]) -> bool:
    """Whether a hold is no call: it holds nothing, and its name says what it is for."""
    return not worst and (name == CHECKPOINT or name.startswith(NOTE))


def digest(handle: str) -> str:
    """What stands for a handle in the file."""
    return hashlib.sha256(handle.encode()).hexdigest()
