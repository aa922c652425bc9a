"""A store in a file that several programs of one host share; the embedded default.

The file is only appended to. Under a lock on it a program reads what others have appended, decides, and appends its own
record, synced to the disk, before it answers.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path

from tape.budget.contract import Refused
from tape.budget.rules import LedgerError, logger
from tape.budget.stores.chain import linked, unlinked
from tape.budget.stores.claims import ClaimBooks
from tape.budget.stores.memory import BookStore, Clock, present
from tape.budget.stores.shared_file import SharedFile
from tape.budget.stores.windows import Record
from tape.errors import DataError, UnknownCostError
from tape.files import why
from tape.reading import parse_json

SCHEMA = 1
_TIMES = ("at", "expires", "until")
_HEAD = {"schema": SCHEMA, "what": "ledger"}
HEADS = (_HEAD, _HEAD | {"chain": True})
"""First lines; with ``chain`` each line after it is linked."""
_MALFORMED = (DataError, LedgerError, ValueError, KeyError, TypeError, AttributeError, OverflowError, AssertionError)


class FileStore(BookStore):
    """The file.

    Args:
        path: Made if missing.
        clock: Says the present.
        books: See :class:`BookStore`.
        chain: A new file links its lines by hashes.

    Raises:
        LedgerError: It is malformed or cannot be written, or this system has no locks on files.
    """

    def __init__(
        self, path: Path, clock: Clock = present, *, books: Callable[[], ClaimBooks] = ClaimBooks, chain: bool = False
    ) -> None:
        super().__init__(clock, books)
        self._last: str | None = None
        """The hash of the last line, where lines are linked."""
        self._file = SharedFile(path, self._take, self._forget)
        try:
            with self.alone():
                if not self._file.count:
                    self._file.append([json.dumps(_HEAD | ({"chain": True} if chain else {})) + "\n"])
                    self._last = "" if chain else None
            if chain and self._last is None:
                raise LedgerError(f"the lines of {path} are not linked; only a new file can begin with that")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """See :class:`LedgerStore`."""
        self._file.close()

    def _exclusive(self) -> AbstractContextManager[None]:
        return self._file.alone()

    def _append(self, *records: Record) -> None:
        lines, last = [json.dumps(record, default=datetime.isoformat) for record in records], self._last
        for number, line in enumerate(lines if last is not None else ()):
            lines[number], last = linked(line, last or "")
        self._file.append([f"{line}\n" for line in lines])
        self._last = last

    def _forget(self) -> None:
        super()._forget()
        self._last = None

    def _warn(self, at: datetime, refused: Refused | None = None) -> None:
        try:
            super()._warn(at, refused)
        except OSError as error:  # what it is about is done, and written
            logger.warning("a warning of %s cannot be written: %s", self._file.path, why(error))

    def _take(self, line: bytes) -> None:
        where = f"{self._file.path}:{self._file.count + 1}"
        try:
            record = parse_json(line, "line")
            if self._file.count == 0:
                if record not in HEADS:
                    raise ValueError(f"not a ledger of schema {SCHEMA}")
                self._last = "" if "chain" in record else None
                return
            if self._last is not None:
                body, _ = unlinked(line.decode())
                text, self._last = linked(body, self._last)
                if text != line.decode().rstrip("\n"):
                    raise ValueError("it was changed, or lines before it were")
            times = {name: datetime.fromisoformat(record[name]) for name in _TIMES if name in record}
            self._books.apply({**record, **times})
        except UnknownCostError as error:
            raise LedgerError(f"{where}: {error}, or name another") from error
        except _MALFORMED as error:
            raise LedgerError(
                f"{where}: no line of a ledger ({str(error)[:200]}); restore the file, or name another, which begins "
                "with nothing spent"
            ) from error
