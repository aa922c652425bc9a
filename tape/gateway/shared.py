"""What several programs spend of one budget, in a file that they share.

Every reservation and settlement is a line. Under a lock on the file a program first reads what others have appended,
then checks that its own call fits, and appends that, synced to the disk, before the call starts. Of a program that has
died what was in flight stays reserved: nobody knows what it took.
"""

from __future__ import annotations

import json
import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tape.budget import Ledger, Reservation, Resources
from tape.errors import DataError, UnknownCostError
from tape.files import is_there, open_plain, why
from tape.gateway.errors import JournalError
from tape.reading import parse_json

SCHEMA = 1
_HEAD = {"schema": SCHEMA, "what": "guard"}


class SharedJournal:
    """The file, and a ledger that is kept up with it.

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
        self._due: deque[dict[str, Any]] = deque()
        """Settlements that are not written yet."""
        self._lock = threading.RLock()
        self._within: int | None = None
        """The thread that has the file."""
        self._program = os.getpid()
        try:
            self._file = os.fdopen(open_plain(path, os.O_RDWR | os.O_CREAT | os.O_APPEND), "r+b", buffering=0)
        except OSError as error:
            raise JournalError(f"the journal {path} cannot be opened ({why(error)}); name another") from None
        try:
            with self._locked():
                if not self._read:
                    self._append(_HEAD)
        except BaseException:
            self._file.close()
            raise

    def catch_up(self) -> None:
        """Book what other programs have appended.

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
        with self._locked():
            reservation = ledger.reserve(worst)
            number = self._last + 1
            try:
                self._append({"reserve": number, "name": name, "worst": dict(worst)})
            except BaseException:
                reservation.release()
                raise
            self._last = number
        return reservation, number

    def settle(self, number: int, spent: Resources) -> None:
        """Write down what a call took, in counts.

        Raises:
            JournalError: It cannot be written; until it can be, the worst case stays booked for other programs.
        """
        self._due.append({"close": number, "spent": dict(spent)})
        if self._within != threading.get_ident():  # else the collector of garbage ended a call amid another's line
            self.catch_up()

    def close(self) -> None:
        """Close the file; what is open stays open in it."""
        with self._lock:
            self._file.close()

    # --- the file -----------------------------------------------------------------------------

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Have the file alone, caught up with it."""
        try:
            import fcntl
        except ImportError:
            raise JournalError("a guard's journal needs locks on files, which this system does not have") from None
        if os.getpid() != self._program:  # a lock on the file does not part what has been forked
            raise JournalError(f"the journal {self.path} was opened before a fork; make a new guard after it")
        with self._lock:
            try:
                descriptor = self._file.fileno()
            except ValueError:
                raise JournalError(f"the journal {self.path} was closed") from None
            self._within = threading.get_ident()
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                try:
                    if not is_there(descriptor, self.path):
                        raise JournalError(f"the journal {self.path} was removed or replaced; make a new guard")
                    self._follow()
                    self._write_due()
                    yield
                    with suppress(OSError):  # it stays due
                        self._write_due()
                finally:
                    fcntl.flock(descriptor, fcntl.LOCK_UN)
            except OSError as error:
                raise JournalError(
                    f"the journal {self.path} cannot be used ({why(error)}); no call is made without it"
                ) from error
            finally:
                self._within = None

    def _write_due(self) -> None:
        while self._due:
            self._append(self._due[0])
            self._due.popleft()

    def _follow(self) -> None:
        size = os.fstat(self._file.fileno()).st_size
        if size < self._read:
            raise JournalError(f"the journal {self.path} was cut; restore it, or name another")
        if size == self._read:
            return
        self._file.seek(self._read)
        new = self._file.read(size - self._read) or b""
        whole = new[: new.rfind(b"\n") + 1]
        if len(whole) < len(new):  # whoever wrote half a line has died before acting on it
            os.ftruncate(self._file.fileno(), self._read + len(whole))
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
        """Book a line of another program, or of one that has ended."""
        if self._line == 0:
            if record != _HEAD:
                raise ValueError(f"not the journal of a guard, schema {SCHEMA}")
        elif "reserve" in record:
            worst = Resources(record["worst"])
            self._last = int(record["reserve"])
            # It has been let through there, where caps may be larger, or something was settled that is written next.
            self._open[self._last] = self._ledger.reserve(worst, forced=True)
        else:
            self._open.pop(int(record["close"])).settle(Resources(record["spent"]))

    def _append(self, record: dict[str, Any]) -> None:
        line = json.dumps(record).encode() + b"\n"
        try:
            written = self._file.write(line) or 0
            while written < len(line):
                written += self._file.write(line[written:]) or 0
            os.fsync(self._file.fileno())
            self._read += len(line)
            self._line += 1
        except BaseException:  # an interrupt too: what is not known to be written is not there
            os.ftruncate(self._file.fileno(), self._read)  # the next line would be glued to half of this one
            raise
