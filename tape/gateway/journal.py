"""What the gateway has spent, on disk: a call's worst case is on the disk, synced, before the call starts.

The file is only appended to. A reservation that was neither settled nor released counts in full when the gateway
starts again, until it is settled by hand.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import json
import mmap
import os
from collections import deque
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tape.budget import Resources
from tape.budget.amounts import booked
from tape.files import is_there, open_plain, why
from tape.gateway.errors import JournalError
from tape.reading import json_lines

SCHEMA = 1
MOST_CALLS = 100
"""Calls of a session that a client gets which resumes it."""


@dataclass
class Open:
    """A call that was reserved and not settled.

    Attributes:
        session: Whose it is.
        tool: What was called.
        worst: What was set aside.
    """

    session: str
    tool: str
    worst: Resources


@dataclass
class Kept:
    """What a session has come to.

    Attributes:
        client: Whose it is.
        spent: What is settled.
        calls: The last calls that were settled, the latest last: tool, outcome, and what it took in counts.
    """

    client: str
    spent: Resources = field(default_factory=Resources)
    calls: deque[tuple[str, str, Resources]] = field(default_factory=lambda: deque(maxlen=MOST_CALLS))


class Journal:
    """The file.

    It is locked while a gateway has it, since two that do not know of each other would spend one budget twice.

    Args:
        path: Made if missing.

    Attributes:
        sessions: By session, in the order of their first calls.
        open: By number: what an earlier gateway left open, at the start.
        handles: The session of each checkpoint, by the digest of its handle.
        due: Number, amounts and outcome of calls that a finalizer has ended, which are not written yet. Only the thread
            of the gateway writes.

    Raises:
        JournalError: The file is malformed, in use by another gateway, or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sessions: dict[str, Kept] = {}
        self.open: dict[int, Open] = {}
        self.handles: dict[str, str] = {}
        self.due: deque[tuple[int, Resources, str]] = deque()
        self._last = self._size = 0
        self._failed = False
        try:
            descriptor = open_plain(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        except OSError as error:
            raise JournalError(
                f"the journal {path} cannot be opened ({why(error)}); name another by --journal"
            ) from None
        self._file = os.fdopen(descriptor, "ab", buffering=0)
        try:
            self._lock()
            self._replay()
            self._cut_torn_line()
            if os.fstat(descriptor).st_size == 0:
                self._append({"schema": SCHEMA, "what": "gateway"})
            os.fsync(descriptor)
            _sync_folder(path)
        except OSError as error:
            self._file.close()
            raise JournalError(f"the journal {path} cannot be written ({why(error)})") from error
        except BaseException:
            self._file.close()
            raise
        self._left_open = len(self.open)
        self._syncing: asyncio.Future[None] | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tape journal")

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # where there is none, the user has to see to it
            return
        try:
            fcntl.flock(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise JournalError(
                f"another gateway is writing to the journal {self.path}: let its clients share one gateway by "
                "--http, or name another journal by --journal, which is a budget of its own"
            ) from None

    # --- reading ------------------------------------------------------------------------------

    def _replay(self) -> None:
        # A torn last line was never acted on.
        for number, record in json_lines(self.path, whole=True, error=JournalError):
            try:
                if number == 1:
                    if record["what"] != "gateway" or record["schema"] != SCHEMA:
                        raise ValueError(f"not the journal of a gateway, schema {SCHEMA}")
                elif "reserve" in record:
                    self._last = max(self._last, int(record["reserve"]))
                    session = str(record["session"])
                    self.sessions.setdefault(session, Kept(str(record["client"])))
                    self.open[int(record["reserve"])] = Open(session, str(record["tool"]), Resources(record["worst"]))
                elif "close" in record:
                    self._book(int(record["close"]), Resources(record["spent"]), str(record["outcome"]))
                else:
                    session = str(record["session"])
                    self.sessions.setdefault(session, Kept(str(record["client"])))
                    self.handles[str(record["checkpoint"])] = session
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise JournalError(
                    f"{self.path}:{number}: no line of a gateway's journal ({str(error)[:200]}); restore the file, or "
                    "name another by --journal, which begins with nothing spent"
                ) from error

    def _book(self, number: int, spent: Resources, outcome: str) -> None:
        left_open = self.open.pop(number)
        kept = self.sessions[left_open.session]
        kept.spent = kept.spent + spent
        kept.calls.append((left_open.tool, outcome, spent))

    def _cut_torn_line(self) -> None:
        """Drop a last line without an end, to which the next one would be glued."""
        size = os.fstat(self._file.fileno()).st_size
        if size:
            with mmap.mmap(self._file.fileno(), size, access=mmap.ACCESS_READ) as held:
                self._size = held.rfind(b"\n") + 1
        if self._size < size:
            os.ftruncate(self._file.fileno(), self._size)

    # --- writing ------------------------------------------------------------------------------

    def _append(self, record: Mapping[str, Any]) -> None:
        line = json.dumps(record).encode() + b"\n"
        size = len(line)
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError:
            self._failed = True
            os.ftruncate(self._file.fileno(), self._size)  # the next line would be glued to half of this one
            self._failed = False
            raise
        self._size += size

    async def reserve(self, session: str, client: str, tool: str, worst: Resources) -> int:
        """Write a worst case down; on the disk when this returns.

        Returns:
            The number by which it is settled.

        Raises:
            JournalError: It cannot be written; nothing may be spent then.
        """
        if not is_there(self._file.fileno(), self.path):
            raise JournalError(f"the journal {self.path} was removed or replaced; restart the gateway")
        if self._failed:
            raise JournalError(
                f"the journal {self.path} could not be written; see to the disk, and restart the gateway"
            )
        self._settle_due()
        self._last += 1
        number = self._last
        self.sessions.setdefault(session, Kept(client))
        try:
            self._append({"reserve": number, "session": session, "client": client, "tool": tool, "worst": dict(worst)})
            self.open[number] = Open(session, tool, worst)
            await self._synced()
        except BaseException as error:  # the disk, or cancelled before anything was begun
            self._take_back(number)
            if not isinstance(error, OSError):
                raise
            raise JournalError(f"the journal {self.path} cannot be written ({why(error)}); nothing is spent") from error
        return number

    def _take_back(self, number: int) -> None:
        """Record that a reservation came to nothing; where not even that can be written, nothing more is spent."""
        try:
            if number in self.open:
                self.settle(number, Resources(), "released")
        except JournalError:
            self._failed = True

    def settle(self, number: int, spent: Resources, outcome: str) -> None:
        """Write down what a call has taken. Not synced: what a power cut loses of it counts as the worst case.

        Args:
            number: Of the reservation.
            spent: In counts; an unknown amount as it was reserved.
            outcome: In a word.

        Raises:
            JournalError: It cannot be written; the worst case stays booked in the file.
        """
        worst = self.open[number].worst
        known = Resources({kind: booked(spent[kind], worst[kind]) for kind in spent})
        try:
            self._append({"close": number, "spent": dict(known), "outcome": outcome})
        except OSError as error:
            raise JournalError(f"the journal {self.path} cannot be written ({why(error)})") from error
        self._book(number, known, outcome)

    def _settle_due(self) -> None:
        while self.due:
            self.settle(*self.due.popleft())

    def checkpoint(self, handle: str, session: str, client: str) -> None:
        """Remember a session by a handle, of which only a digest is kept.

        Raises:
            JournalError: It cannot be written.
        """
        try:
            self._append({"checkpoint": digest(handle), "session": session, "client": client})
            os.fsync(self._file.fileno())
        except OSError as error:
            raise JournalError(f"the journal {self.path} cannot be written ({why(error)})") from error
        self.sessions.setdefault(session, Kept(client))
        self.handles[digest(handle)] = session

    async def _synced(self) -> None:
        """Wait until what is written now is on the disk.

        Of several calls under way those that wait share the next sync, in a thread. A single one is synced in place,
        which spares two switches of threads.
        """
        if len(self.open) == 1 + self._left_open and self._syncing is None:
            os.fsync(self._file.fileno())
            return
        loop = asyncio.get_running_loop()
        if self._waiting is None:
            self._waiting = loop.create_future()
            if self._syncing is None:
                self._begin_sync(loop)
        mine = self._syncing if self._waiting is None else self._waiting
        assert mine is not None
        await asyncio.shield(mine)

    def _begin_sync(self, loop: asyncio.AbstractEventLoop) -> None:
        self._syncing, self._waiting = self._waiting, None
        if self._file.closed:
            self._end_sync(loop, OSError(errno.EBADF, "it was closed"))
        else:
            self._thread.submit(self._sync, loop)

    def _sync(self, loop: asyncio.AbstractEventLoop) -> None:
        failed: OSError | None = None
        try:
            os.fsync(self._file.fileno())
        except (OSError, ValueError) as error:
            failed = error if isinstance(error, OSError) else OSError(errno.EBADF, "it was closed")
        try:
            loop.call_soon_threadsafe(self._end_sync, loop, failed)
        except RuntimeError:
            return  # the loop has ended, and nothing waits

    def _end_sync(self, loop: asyncio.AbstractEventLoop, failed: OSError | None) -> None:
        done, self._syncing = self._syncing, None
        if done is not None and not done.done():
            if failed is None:
                done.set_result(None)
            else:
                done.set_exception(failed)
                done.exception()  # a cancelled call does not ask
        if self._waiting is not None:
            self._begin_sync(loop)

    def close(self) -> None:
        """Close the file; what is open stays open in it."""
        try:
            self._settle_due()
        finally:
            self._file.close()
        self._thread.shutdown()


def digest(handle: str) -> str:
    """What stands for a handle in the file."""
    return hashlib.sha256(handle.encode()).hexdigest()


def _sync_folder(path: Path) -> None:
    """A new file's name is on the disk, too, once its folder is synced."""
    try:
        descriptor = os.open(path.resolve().parent, os.O_RDONLY)
    except OSError:  # some systems open no folders
        return
    try:
        os.fsync(descriptor)
    except OSError:
        return
    finally:
        os.close(descriptor)
