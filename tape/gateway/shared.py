"""What several programs spend of one budget, in a file that they share.

Every reservation and settlement is a line. Under a lock on the file a program first reads what was appended, then
checks that its own call fits, and appends that, synced to the disk, before the call starts. Of a program that has died
what was in flight stays reserved: what it took is unknown.
"""

from __future__ import annotations

import json
import os
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary, finalize

from tape.budget import Ledger, Reservation, Resources
from tape.budget.locks import JOURNAL, OrderedLock
from tape.errors import DataError, UnknownCostError
from tape.files import is_there, open_plain, why
from tape.gateway.errors import JournalError
from tape.reading import parse_json

SCHEMA = 1
_HEAD = {"schema": SCHEMA, "what": "guard"}

_open_files: WeakValueDictionary[tuple[int, int, int], _File] = WeakValueDictionary()
_opening = threading.RLock()
if hasattr(os, "register_at_fork"):  # else the lock of a thread that a child does not have would stay taken in it
    os.register_at_fork(before=_opening.acquire, after_in_parent=_opening.release, after_in_child=_opening.release)


class _File:
    """A journal's file, open once in this process: a second lock on it would wait for the first for ever.

    Args:
        descriptor: Closed with this object.

    Attributes:
        due: Settlements that are not written yet. Finalizers append to it, and take no lock.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.lock = OrderedLock(JOURNAL, "journal of a guard")
        self.due: deque[dict[str, Any]] = deque()
        self.close = finalize(self, os.close, descriptor)

    @classmethod
    def open(cls, path: Path) -> _File:
        """The file of a path; the one that this process has open, if it has.

        Raises:
            OSError: It cannot be opened.
        """
        descriptor = open_plain(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        found = os.fstat(descriptor)
        key = (os.getpid(), found.st_dev, found.st_ino)
        with _opening:
            if (file := _open_files.get(key)) is None:
                _open_files[key] = file = cls(descriptor)
            else:
                os.close(descriptor)
        return file

    def append(self, records: Sequence[dict[str, Any]], *, sync: bool) -> None:
        """Add lines; the caller has the lock.

        Args:
            records: Their contents.
            sync: They are on the disk when this returns.

        Raises:
            OSError: They cannot be written; nothing of them is there then.
        """
        lines = "".join(json.dumps(record) + "\n" for record in records).encode()
        size = os.fstat(self.descriptor).st_size
        try:
            while lines:
                lines = lines[os.write(self.descriptor, lines) :]
            if sync:
                os.fsync(self.descriptor)
        except BaseException:  # an interrupt too: what is not known to be written is not there
            os.ftruncate(self.descriptor, size)  # the next line would be glued to half of this one
            raise

    def write_due(self) -> None:
        """Write the settlements that are due. What a power cut loses of them counts as the worst case."""
        while due := [self.due.popleft() for _ in range(len(self.due))]:
            try:
                self.append(due, sync=False)
            except BaseException:
                self.due.extendleft(reversed(due))
                raise


class SharedJournal:
    """A ledger that is kept up with the file.

    Args:
        path: Made if missing.
        ledger: What all programs together have spent and reserved is booked there.

    Raises:
        JournalError: The file is malformed or cannot be written, or this system has no locks on files.
    """

    def __init__(self, path: Path, ledger: Ledger) -> None:
        self.path = path
        self._ledger = ledger
        self._read = self._line = self._last = 0
        self._open: dict[int, Reservation] = {}
        """Of others, by number."""
        self._own: set[int] = set()
        """The numbers that were reserved here, whose lines have to be passed over."""
        self._program = os.getpid()
        self._file: _File | None = None
        try:
            self._file = _File.open(path)
        except OSError as error:
            raise JournalError(f"the journal {path} cannot be opened ({why(error)}); name another") from None
        with self._locked() as file:
            if not self._read:
                file.append([_HEAD], sync=True)

    def catch_up(self) -> None:
        """Book what others have appended.

        Raises:
            JournalError: The file is malformed or gone.
        """
        with self._locked():
            pass

    def reserve(self, ledger: Ledger, name: str, worst: Resources) -> tuple[Reservation, int]:
        """Set a worst case aside, in the ledger and on the disk.

        Args:
            ledger: The one of the file or one within it.
            name: What is called.
            worst: In counts.

        Returns:
            The reservation, and the number by which it is settled.

        Raises:
            BudgetExceededError: It does not fit beside what all programs have spent and reserved.
            UnknownCostError: It is unknown in what is capped.
            JournalError: It cannot be written; nothing may be spent then.
        """
        with self._locked() as file:
            reservation = ledger.reserve(worst)
            number = self._last + 1
            self._own.add(number)
            try:
                file.append([{"reserve": number, "name": name, "worst": dict(worst)}], sync=True)
            except BaseException:
                self._own.discard(number)
                reservation.release()
                raise
        return reservation, number

    def settle(self, number: int, spent: Resources, *, later: bool = False) -> None:
        """Write down what a call took, in counts.

        Args:
            number: Of its reservation.
            spent: In counts.
            later: Only note it, without a lock; it is written at the next use of the file in this process.

        Raises:
            JournalError: It cannot be written; until it can be, the worst case stays booked for other programs.
        """
        if self._file is None:
            raise self._closed()
        self._file.due.append({"close": number, "spent": dict(spent)})
        if not later and self._file.lock.free():  # else a finalizer has ended a call amid another's line
            self.catch_up()

    def close(self) -> None:
        """Write what is due and give the file up; what is open stays open in it.

        Raises:
            JournalError: What is due cannot be written.
        """
        try:
            if self._file is not None and self._file.due:
                self.catch_up()
        finally:
            self._file = None

    def _closed(self) -> JournalError:
        return JournalError(f"the journal {self.path} was closed; make a new guard")

    # --- the file -----------------------------------------------------------------------------

    @contextmanager
    def _locked(self) -> Iterator[_File]:
        """Have the file alone, caught up with it."""
        try:
            import fcntl
        except ImportError:
            raise JournalError("a guard's journal needs locks on files, which this system does not have") from None
        if os.getpid() != self._program:  # a lock on the file does not part what has been forked
            raise JournalError(f"the journal {self.path} was opened before a fork; make a new guard after it")
        if (file := self._file) is None:
            raise self._closed()
        with file.lock, file.lock.mutex:
            try:
                fcntl.flock(file.descriptor, fcntl.LOCK_EX)
                try:
                    if not is_there(file.descriptor, self.path):
                        raise JournalError(f"the journal {self.path} was removed or replaced; make a new guard")
                    self._follow(file.descriptor)
                    if file.due:  # also what other guards of this program have left
                        file.write_due()
                        self._follow(file.descriptor)
                    yield file
                    with suppress(OSError):  # it stays due
                        file.write_due()
                finally:
                    fcntl.flock(file.descriptor, fcntl.LOCK_UN)
            except OSError as error:
                raise JournalError(
                    f"the journal {self.path} cannot be used ({why(error)}); no call is made without it"
                ) from error

    def _follow(self, descriptor: int) -> None:
        size = os.fstat(descriptor).st_size
        if size < self._read:
            raise JournalError(f"the journal {self.path} was cut; restore it, or name another")
        new = _read(descriptor, self._read, size)
        whole = new[: new.rfind(b"\n") + 1]
        if len(whole) < len(new):  # the writer of half a line has died before acting on it
            os.ftruncate(descriptor, self._read + len(whole))
        for line in whole.splitlines(keepends=True):
            where = f"{self.path}:{self._line + 1}"
            try:
                self._take(parse_json(line, "line"))
            except (DataError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
                raise JournalError(
                    f"{where}: no line of a guard's journal ({str(error)[:200]}); restore the file, "
                    "or name another, which begins with nothing spent"
                ) from error
            except UnknownCostError as error:
                raise JournalError(f"{where}: {error}, or name another journal") from error
            self._read += len(line)
            self._line += 1

    def _take(self, record: dict[str, Any]) -> None:
        """Book a line of another guard, of this program, another one or one that has ended."""
        if self._line == 0:
            if record != _HEAD:
                raise ValueError(f"not the journal of a guard, schema {SCHEMA}")
        elif "reserve" in record:
            number, worst = int(record["reserve"]), Resources(record["worst"])
            if number not in self._own:
                # It was let through there, where caps may be larger, or something was settled that is written next.
                self._open[number] = self._ledger.reserve(worst, forced=True)
            self._last = number
        elif (number := int(record["close"])) > self._last:
            raise ValueError(f"call {number} was never begun")
        elif number in self._own:
            self._own.discard(number)
        elif (reservation := self._open.pop(number, None)) is not None:  # else it is there twice, after an interrupt
            reservation.settle(Resources(record["spent"]))


def _read(descriptor: int, begin: int, end: int) -> bytes:
    """The bytes of a file between two places."""
    found = bytearray()
    while begin + len(found) < end and (more := os.pread(descriptor, end - begin - len(found), begin + len(found))):
        found += more
    return bytes(found)
