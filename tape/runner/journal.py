"""The spending of a run, on disk: every reservation is written before anything is spent.

A kill loses nothing: a reservation that was neither settled nor released counts in full when the run goes on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tape.budget import Resources
from tape.budget.amounts import Payer
from tape.budget.locks import CLIENT, OrderedLock
from tape.errors import BudgetExceededError, RunDirectoryError
from tape.files import append, is_there, open_plain, replace_file, what_is_odd
from tape.reading import json_lines
from tape.runner.commits import unwritten

SCHEMA = 1
MOST_LINES = 20_000
"""Lines after which the file is compacted: one line for all spending, and one for each open reservation."""


class RunJournal:
    """Implements :class:`tape.budget.Payer`: it refuses nothing and records everything.

    Lines are written before a reservation counts, so they survive the death of the process; a power cut may lose the
    last ones. After the file was removed or replaced nothing more is reserved, because it would not be recorded.

    Args:
        path: The file; made if missing.
        spent: The spending before the file was made.

    Raises:
        RunDirectoryError: The file is malformed, a link, or cannot be written.
    """

    rank = CLIENT

    def __init__(self, path: Path, spent: Resources) -> None:
        self._path = path
        self._lock = OrderedLock(CLIENT, "journal of a run")
        self._open: dict[int, Resources] = {}
        self._last = self._lines = 0
        self._file: int | None = None
        self.spent = self._replay() if path.exists() else spent
        """All settled spending; at the start also reservations that an earlier process left open."""
        self._compact()

    def _replay(self) -> Resources:
        """Read the file: the settled spending, and all open reservations in full."""
        spent, left_open = Resources(), dict[int, Resources]()
        if odd := what_is_odd(self._path):
            raise RunDirectoryError(f"{self._path} is {odd}, which may lead out of the run; put the run's ledger there")
        number = 0
        # A torn last line was never acted on.
        for number, record in json_lines(self._path, whole=True, error=_BrokenError):
            try:
                if number == 1:
                    if record["schema"] != SCHEMA:
                        raise ValueError(f"schema {record['schema']} is not {SCHEMA}")
                    spent = Resources(record["spent"])
                elif "reserve" in record:
                    left_open[_number(record["reserve"])] = Resources(record["worst"])
                else:
                    del left_open[_number(record["close"])]
                    spent = spent + Resources(record["spent"])
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise _BrokenError(f"{self._path}:{number}: {str(error)[:200]}") from error
        if not number:
            raise _BrokenError(f"{self._path}:1: it is empty")
        return sum(left_open.values(), spent)

    def _compact(self) -> None:
        lines = [{"schema": SCHEMA, "spent": dict(self.spent)}]
        lines += [{"reserve": token, "worst": dict(worst)} for token, worst in self._open.items()]
        before = self._file
        try:
            replace_file(self._path, "".join(json.dumps(line) + "\n" for line in lines))
            self._file = open_plain(self._path, os.O_WRONLY | os.O_APPEND)
        except OSError as error:
            raise unwritten(self._path, error) from error
        self._lines = len(lines)
        if before is not None:
            os.close(before)

    def _write(self, **record: Any) -> None:
        if self._lines >= MOST_LINES + len(self._open):
            self._compact()
        assert self._file is not None
        try:
            append(self._file, json.dumps(record).encode() + b"\n")
        except OSError as error:
            raise unwritten(self._path, error) from error
        self._lines += 1

    def reserve(self, worst_case: Resources) -> int:
        """See :class:`tape.budget.Payer`.

        Raises:
            RunDirectoryError: The file was removed or replaced, or cannot be written.
        """
        with self._lock, self._lock.mutex:
            assert self._file is not None
            if not is_there(self._file, self._path):
                raise RunDirectoryError(
                    f"{self._path} was removed or replaced while this run was at work, perhaps for another process: "
                    "this one spends nothing more. See what is there; the same command then goes on"
                )
            self._last += 1
            self._write(reserve=self._last, worst=dict(worst_case))
            self._open[self._last] = worst_case
            return self._last

    def settle(self, reservation: int, actual: Resources) -> None:
        """See :class:`tape.budget.Payer`.

        Raises:
            RunDirectoryError: It cannot be written; the whole reservation counts when the run goes on.
        """
        with self._lock, self._lock.mutex:
            self._write(close=reservation, spent=dict(actual))
            del self._open[reservation]
            self.spent = self.spent + actual

    def release(self, reservation: int) -> None:
        """See :class:`tape.budget.Payer`."""
        self.settle(reservation, Resources())

    def close(self) -> None:
        """Close the file; open reservations stay open in it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


class _BrokenError(RunDirectoryError):
    """A malformed line of a run's ledger."""

    def __init__(self, message: str) -> None:
        super().__init__(
            f"{message}; this is not a line of a run's ledger: restore the file, or delete it: then only what finished "
            "episodes spent is counted"
        )


def _number(value: Any) -> int:
    if not isinstance(value, int):
        raise ValueError(f"{value!r} is no number of a reservation")
    return value


class BothPayers(Payer):
    """Asks a payer that may refuse, and then writes down in the run's journal.

    Args:
        payer: What others pay from too.
        journal: The run's own record.
        refused: Is called with every refusal of the payer.
    """

    rank = CLIENT

    def __init__(self, payer: Payer, journal: RunJournal, refused: Callable[[BudgetExceededError], None]) -> None:
        self._payer, self._journal, self._refused = payer, journal, refused

    def reserve(self, worst_case: Resources) -> tuple[Any, int]:
        """See :class:`tape.budget.Payer`."""
        try:
            outer = self._payer.reserve(worst_case)
        except BudgetExceededError as error:
            self._refused(error)
            raise
        try:
            return outer, self._journal.reserve(worst_case)
        except BaseException:
            self._payer.release(outer)
            raise

    def settle(self, reservation: tuple[Any, int], actual: Resources) -> None:
        """See :class:`tape.budget.Payer`."""
        outer, mine = reservation
        try:
            self._journal.settle(mine, actual)
        finally:
            self._payer.settle(outer, actual)

    def release(self, reservation: tuple[Any, int]) -> None:
        """See :class:`tape.budget.Payer`."""
        outer, mine = reservation
        try:
            self._journal.release(mine)
        finally:
            self._payer.release(outer)
