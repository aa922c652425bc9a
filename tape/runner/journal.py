"""What a run has spent, on disk: whatever is set aside is written down before it is spent.

A kill loses nothing: a reservation that was neither settled nor released counts in full when the run goes on.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tape.budget import Resources
from tape.errors import RunDirectoryError
from tape.files import replace_file

SCHEMA = 1
MOST_LINES = 20_000
"""Lines after which the file is written anew: what is spent in one line, and one for each open reservation."""


class Journal:
    """Implements :class:`tape.budget.Payer`: it refuses nothing and remembers everything.

    Lines are flushed to the system before a reservation counts, so they survive the death of the process; a power
    cut may lose the last ones.

    Args:
        path: The file; made if missing.
        spent: What was spent before the file was made.

    Raises:
        RunDirectoryError: The file is malformed.
    """

    def __init__(self, path: Path, spent: Resources) -> None:
        self._path = path
        self._open: dict[int, Resources] = {}
        self._last = self._lines = 0
        self.spent = self._replay() if path.exists() else spent
        """What is settled; at the start also what an earlier process left open."""
        self._compact()

    def _replay(self) -> Resources:
        """Read the file: what is settled, and all that was left open."""
        spent, left_open = Resources(), dict[int, Resources]()
        # A torn last line was never acted on.
        whole = self._path.read_bytes().rpartition(b"\n")[0]
        for number, line in enumerate(whole.split(b"\n"), 1):
            try:
                record: dict[str, Any] = json.loads(line)
                if number == 1:
                    if record["schema"] != SCHEMA:
                        raise ValueError(f"schema {record['schema']} is not {SCHEMA}")
                    spent = Resources(record["spent"])
                elif "reserve" in record:
                    left_open[record["reserve"]] = Resources(record["worst"])
                else:
                    del left_open[record["close"]]
                    spent = spent + Resources(record["spent"])
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise RunDirectoryError(
                    f"{self._path}:{number}: not a line of a run's ledger ({error}); restore the file, or delete it: "
                    "then only what finished episodes spent is counted"
                ) from error
        return sum(left_open.values(), spent)

    def _compact(self) -> None:
        lines = [{"schema": SCHEMA, "spent": dict(self.spent)}]
        lines += [{"reserve": token, "worst": dict(worst)} for token, worst in self._open.items()]
        replace_file(self._path, "".join(json.dumps(line) + "\n" for line in lines))
        self._file = self._path.open("a", encoding="utf-8")
        self._lines = len(lines)

    def _write(self, **record: Any) -> None:
        if self._lines >= MOST_LINES + len(self._open):
            self._file.close()
            self._compact()
        self._file.write(json.dumps(record) + "\n")
        self._file.flush()
        self._lines += 1

    def reserve(self, worst_case: Resources) -> int:
        """See :class:`tape.budget.Payer`."""
        self._last += 1
        self._write(reserve=self._last, worst=dict(worst_case))
        self._open[self._last] = worst_case
        return self._last

    def settle(self, reservation: int, actual: Resources) -> None:
        """See :class:`tape.budget.Payer`."""
        self._write(close=reservation, spent=dict(actual))
        del self._open[reservation]
        self.spent = self.spent + actual

    def release(self, reservation: int) -> None:
        """See :class:`tape.budget.Payer`."""
        self.settle(reservation, Resources())

    def close(self) -> None:
        """Close the file; what is open stays open in it."""
        self._file.close()
