"""A file of lines that several programs of one host append to, one at a time; what is appended is never changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tape.budget.locks import CLIENT, OrderedLock
from tape.budget.rules import LedgerError
from tape.errors import TapeError
from tape.files import is_there, open_plain, why

_CHUNK = 1 << 20
"""Bytes that are read at once."""
_BEGIN = b'{"schema": '
"""How the first line of every ledger begins, so that a file of something else is never cut."""


class SharedFile:
    """The file.

    Args:
        path: Made if missing.
        take: Is called with every line that others have appended, as bytes; raises a LedgerError for one that is wrong.
        forget: Is called after a fault: all lines are taken again.
        what: It is, for messages.

    Attributes:
        path: Of the file.
        count: Lines that were taken or appended.

    Raises:
        LedgerError: It cannot be opened.
    """

    def __init__(
        self, path: Path, take: Callable[[bytes], None], forget: Callable[[], None], what: str = "ledger"
    ) -> None:
        self.path, self._take, self._forget, self._named = path, take, forget, f"the {what} {path}"
        self._lock = OrderedLock(CLIENT, f"{what} in a file")
        self._read = self.count = 0
        self._program = os.getpid()
        try:
            self._file: int | None = open_plain(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        except OSError as error:
            raise LedgerError(f"{self._named} cannot be opened ({why(error)}); name another") from None

    def close(self) -> None:
        """Give it up."""
        with self._lock, self._lock.mutex:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Have the file alone, caught up with it; what is appended in this block is on the disk when it ends.

        Raises:
            LedgerError: It cannot be read or written; then nothing of the block is there.
        """
        try:
            import fcntl
        except ImportError:
            raise LedgerError("a ledger in a file needs locks on files, which this system does not have") from None
        if os.getpid() != self._program:  # a lock on the file does not part what has been forked
            raise LedgerError(f"{self._named} was opened before a fork; open it anew after it")
        with self._lock, self._lock.mutex:
            if (file := self._file) is None:
                raise LedgerError(f"{self._named} was closed; open it anew")
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                try:
                    if not is_there(file, self.path):
                        raise LedgerError(f"{self._named} was removed or replaced; open it anew")
                    self._follow(file)
                    assert os.fstat(file).st_size == self._read, "caught up with"
                    with self._synced(file):
                        yield
                finally:
                    fcntl.flock(file, fcntl.LOCK_UN)
            except TapeError:
                raise
            except BaseException as error:  # amid what was read or written: all of it is read again
                self._read = self.count = 0
                self._forget()
                if not isinstance(error, OSError):
                    raise
                raise LedgerError(f"{self._named} cannot be used ({why(error)}); no call is made without it") from error

    @contextmanager
    def _synced(self, file: int) -> Iterator[None]:
        """One sync for all that is appended in this block; after a fault nothing of it is there."""
        begun, refused = self._read, None
        try:
            try:
                yield
            except TapeError as error:  # what was done before it stays
                refused = error
            assert self._read >= begun, "what is appended stays"
            if self._read > begun:
                os.fsync(file)
        except BaseException:
            os.ftruncate(file, begun)
            assert os.fstat(file).st_size == begun, "nothing of it is there"
            raise
        if refused is not None:
            raise refused

    def append(self, lines: Sequence[str]) -> None:
        """Write lines, by who has the file :meth:`alone`; a failure leaves nothing of them."""
        assert self._file is not None
        assert all(line.endswith("\n") and line.count("\n") == 1 for line in lines), "each is one line"
        written = "".join(lines).encode()
        size = os.fstat(self._file).st_size
        assert size == self._read, "it was caught up with"
        rest = written
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except BaseException:  # an interrupt too: what is not known to be written is not there
            os.ftruncate(self._file, size)  # the next line would be glued to half of this one
            raise
        self._read += len(written)
        self.count += len(lines)
        assert os.fstat(self._file).st_size == self._read, "nobody else has written"

    def _follow(self, file: int) -> None:
        size = os.fstat(file).st_size
        if size < self._read:
            raise LedgerError(f"{self._named} was cut; restore it, or name another")
        rest, synced = b"", False
        while more := os.pread(file, min(_CHUNK, size - self._read - len(rest)), self._read + len(rest)):
            new = rest + more
            lines = [line + b"\n" for line in new.split(b"\n")[:-1]]
            if lines and not synced:  # their writer may have died before, and what is answered now must not be lost
                os.fsync(file)
                synced = True
            for line in lines:
                self._take(line)
                self._read += len(line)
                self.count += 1
            rest = new[sum(map(len, lines)) :]
            assert b"\n" not in rest, "every whole line was taken"
        if rest and self._read == 0 and rest[: len(_BEGIN)] != _BEGIN[: len(rest)]:
            raise LedgerError(f"{self._named} is no ledger: it does not begin with {_BEGIN.decode()}; name another")
        if rest:  # the writer of half a line has died before acting on it
            os.ftruncate(file, self._read)
        assert self._read + len(rest) <= size, "no more than there is"
