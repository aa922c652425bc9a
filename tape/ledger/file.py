"""A store in a file that several programs of one host share; the embedded default.

The file is only appended to. Under a lock on it a program reads what others have appended, decides, and appends its own
record, synced to the disk, before it answers.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from tape.budget.locks import CLIENT, OrderedLock
from tape.errors import DataError, TapeError, UnknownCostError
from tape.files import is_there, open_plain, why
from tape.ledger.accounts import Amounts, Labels, require_account, require_amounts, require_by_hand, require_id
from tape.ledger.books import Books, Record
from tape.ledger.contract import (
    Balance,
    Cap,
    Ended,
    Held,
    HoldRecord,
    LedgerStore,
    Note,
    Refused,
    Request,
    State,
)
from tape.ledger.periods import Period
from tape.ledger.rules import LedgerError, Pause, Paused, Rule, Wanted, Warned, logger, tell
from tape.reading import parse_json, short

Answer = TypeVar("Answer")

SCHEMA = 1
_HEAD = {"schema": SCHEMA, "what": "ledger"}
_EARLIER = {"schema": SCHEMA, "what": "guard"}
"""How a guard's journal of earlier versions begins; what is appended to it is as in all others."""
_TIMES = ("at", "expires")


def _now() -> datetime:
    return datetime.now(UTC)


class FileStore(LedgerStore):
    """The file.

    Args:
        path: Made if missing.
        clock: The present; one that goes back counts as standing still.
        seen: Is called with every record that another one has written, once it is read; after a fault with earlier ones
            again.
        rank: Of the lock on it, see :mod:`tape.budget.locks`.

    Raises:
        LedgerError: It is malformed or cannot be written, or this system has no locks on files.
    """

    def __init__(
        self,
        path: Path,
        clock: Callable[[], datetime] = _now,
        *,
        seen: Callable[[Record], None] = lambda _: None,
        rank: int = CLIENT,
    ) -> None:
        self.path, self._clock, self._seen = path, clock, seen
        self._lock = OrderedLock(rank, "ledger in a file")
        self._read = self._line = 0
        self._program = os.getpid()
        self._books = Books()
        self._told: deque[Warned] = deque()
        try:
            self._file: int | None = open_plain(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        except OSError as error:
            raise LedgerError(f"the ledger {path} cannot be opened ({why(error)}); name another") from None
        try:
            with self.alone():
                if not self._read:
                    self._append([_HEAD])
        except BaseException:
            self.close()
            raise

    # --- the contract -------------------------------------------------------------------------

    def reserve(self, request: Request) -> Held | Refused | Paused:
        """See :class:`LedgerStore`."""
        with self.alone():
            return self.reserve_alone(request)

    def reserve_alone(self, request: Request) -> Held | Refused | Paused:
        """As :meth:`reserve`, by who has the file :meth:`alone`."""
        at = self._now()
        found = self._books.reserve(request, at)
        if not isinstance(found, dict):
            return self._refused(found, at)
        self._do(found)
        return Held(request.id)

    def grow(self, id: str, amounts: Amounts) -> Held | Refused:
        """See :class:`LedgerStore`."""
        require_id(id)
        require_amounts(f"hold {short(id)}", amounts)
        with self.alone() as at:
            found = self._books.grow(id, amounts, at)
            if not isinstance(found, dict):
                return self._refused(found, at)
            self._do(found)
        return Held(id)

    def settle(self, id: str, amounts: Mapping[str, int | None]) -> Ended:
        """See :class:`LedgerStore`."""
        return self._end(id, "settled", amounts)

    def void(self, id: str) -> Ended:
        """See :class:`LedgerStore`."""
        return self._end(id, "voided", {})

    def _end(self, id: str, state: State, amounts: Mapping[str, int | None]) -> Ended:
        require_id(id)
        with self.alone():
            return self.settle_alone(id, amounts, state)

    def settle_alone(self, id: str, amounts: Mapping[str, int | None], state: State = "settled") -> Ended:
        """As :meth:`settle`, by who has the file :meth:`alone`."""
        require_amounts(f"hold {short(id)}", amounts, unknown=True)
        found = self._books.end(id, state, amounts, self._now())
        if isinstance(found, Ended):
            return found
        self._do(found)
        return Ended(id, state, dict(found["spent"]))

    def read(self, scope: str, labels: Labels | None = None) -> Sequence[Balance]:
        """See :class:`LedgerStore`."""
        with self.alone() as at:
            return self._books.balances(at, self._books.of_call(scope, labels or {}))

    def balances(self) -> Sequence[Balance]:
        """See :class:`LedgerStore`."""
        with self.alone() as at:
            return self._books.balances(at, sorted(self._books.caps.values(), key=lambda one: one.key))

    def history(self, scope: str = "", most: int = 100) -> Sequence[HoldRecord]:
        """See :class:`LedgerStore`."""
        with self.alone():
            found = (one.record() for one in reversed(self._books.holds.values()))
            below = (one for one in found if not scope or f"{one.scope}/".startswith(f"{scope}/"))
            return [one for one, _ in zip(below, range(max(0, most)), strict=False)]

    def notes(self) -> Sequence[Note]:
        """See :class:`LedgerStore`."""
        with self.alone():
            return list(self._books.notes)

    def set_cap(self, cap: Cap, who: str, why: str) -> None:
        """See :class:`LedgerStore`."""
        require_by_hand(who, why)
        with self.alone() as at:
            self._do(self._books.cap(cap, who, why, at))

    def top_up(self, cap: Cap, who: str, why: str) -> None:
        """See :class:`LedgerStore`."""
        require_by_hand(who, why)
        with self.alone() as at:
            self._do(self._books.top_up(cap, who, why, at))

    def reset(self, account: str, resource: str, period: Period, who: str, why: str) -> None:
        """See :class:`LedgerStore`."""
        require_by_hand(who, why)
        with self.alone() as at:
            self._do(self._books.reset((account, resource, str(period)), who, why, at))

    def set_rule(self, rule: Rule, who: str, why: str) -> None:
        """See :class:`LedgerStore`."""
        require_by_hand(who, why)
        with self.alone() as at:
            self._do({"do": "rule", "at": at, **asdict(rule), "who": who, "why": why})

    def rules(self) -> Sequence[Rule]:
        """See :class:`LedgerStore`."""
        with self.alone():
            return [self._books.rules[account] for account in sorted(self._books.rules)]

    def pause(self, account: str, who: str, why: str, *, stopped: bool = False, wanted: Wanted | None = None) -> None:
        """See :class:`LedgerStore`."""
        require_account(account)
        require_by_hand(who, why)
        with self.alone() as at:
            known = self._books.pauses.get(account)
            if known is None or (stopped and not known.stopped):
                kept = known.wanted if known is not None else wanted
                record = {"do": "pause", "at": at, "account": account, "stopped": stopped, "who": who, "why": why}
                self._do({**record, "wanted": kept and list(kept)})

    def resume(self, account: str, who: str, why: str, *, once: bool = False) -> None:
        """See :class:`LedgerStore`."""
        require_by_hand(who, why)
        with self.alone() as at:
            self._do(*self._books.resume(account, who, why, once, at))

    def pauses(self) -> Sequence[Pause]:
        """See :class:`LedgerStore`."""
        with self.alone():
            return [self._books.pauses[account] for account in sorted(self._books.pauses)]

    def check(self) -> Sequence[str]:
        """See :class:`LedgerStore`."""
        with self.alone():
            return list(self._books.wrong(self._books.holds.values()))

    def close(self) -> None:
        """See :class:`LedgerStore`."""
        with self._lock, self._lock.mutex:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    # --- the file -----------------------------------------------------------------------------

    def knows(self, id: str) -> bool:
        """Whether there is such a hold, for who has the file :meth:`alone`."""
        return id in self._books.holds

    def free(self) -> bool:
        """Whether this thread may have it now; see :meth:`OrderedLock.free`."""
        return self._lock.free()

    def _now(self) -> datetime:
        return max(self._clock(), self._books.last or datetime.min.replace(tzinfo=UTC))

    @contextmanager
    def alone(self) -> Iterator[datetime]:
        """Have the file alone, caught up with it; the present, at which what has expired has ended."""
        try:
            import fcntl
        except ImportError:
            raise LedgerError("a ledger in a file needs locks on files, which this system does not have") from None
        if os.getpid() != self._program:  # a lock on the file does not part what has been forked
            raise LedgerError(f"the ledger {self.path} was opened before a fork; open it anew after it")
        with self._lock, self._lock.mutex:
            if (file := self._file) is None:
                raise LedgerError(f"the ledger {self.path} was closed; open it anew")
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                try:
                    if not is_there(file, self.path):
                        raise LedgerError(f"the ledger {self.path} was removed or replaced; open it anew")
                    self._follow(file)
                    at = self._now()
                    if ended := list(self._books.expired(at)):
                        self._do(*ended)
                    yield at
                finally:
                    fcntl.flock(file, fcntl.LOCK_UN)
            except TapeError:
                raise
            except BaseException as error:  # amid what was read or written: all of it is read again
                self._books, self._read, self._line = Books(), 0, 0
                if not isinstance(error, OSError):
                    raise
                raise LedgerError(
                    f"the ledger {self.path} cannot be used ({why(error)}); no call is made without it"
                ) from error
        while self._told:
            tell(self.warned, self._told.popleft())

    def _do(self, *records: Record) -> None:
        assert records, "there is something to do"
        before = self._line
        self._append(records)
        for record in records:
            self._books.apply(record)
        assert self._line == before + len(records), "all of it is written"
        self._warn(records[-1]["at"])

    def _refused(self, answer: Answer, at: datetime) -> Answer:
        if isinstance(answer, Refused):
            self._warn(at, answer)
        return answer

    def _warn(self, at: datetime, refused: Refused | None = None) -> None:
        """Write down which levels are reached; it is told once the file is free."""
        for record, told in list(self._books.warnings(at, refused)):
            try:
                self._append([record])
            except OSError as error:  # what it is about is done, and written
                logger.warning("a warning of %s cannot be written: %s", self.path, why(error))
                return
            self._books.apply(record)
            if told is not None:
                self._told.append(told)

    def _append(self, records: Sequence[Record]) -> None:
        """Write records, on the disk when this returns; a failure leaves nothing of them."""
        assert self._file is not None
        lines = "".join(json.dumps(_written(record)) + "\n" for record in records).encode()
        size = os.fstat(self._file).st_size
        assert size == self._read, "it was caught up with"
        rest = lines
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
        except BaseException:  # an interrupt too: what is not known to be written is not there
            os.ftruncate(self._file, size)  # the next line would be glued to half of this one
            raise
        self._read += len(lines)
        self._line += len(records)
        assert os.fstat(self._file).st_size == self._read, "nobody else has written"

    def _follow(self, file: int) -> None:
        size = os.fstat(file).st_size
        if size < self._read:
            raise LedgerError(f"the ledger {self.path} was cut; restore it, or name another")
        new = bytearray()
        while len(new) < size - self._read and (
            more := os.pread(file, size - self._read - len(new), self._read + len(new))
        ):
            new += more
        whole = bytes(new[: new.rfind(b"\n") + 1])
        if len(whole) < len(new):  # the writer of half a line has died before acting on it
            os.ftruncate(file, self._read + len(whole))
        if whole:  # its writer may have died before it was synced, and what is answered now must not be lost
            os.fsync(file)
        for line in whole.splitlines(keepends=True):
            self._take(line)
            self._read += len(line)
            self._line += 1

    def _take(self, line: bytes) -> None:
        where = f"{self.path}:{self._line + 1}"
        try:
            record = parse_json(line, "line")
            if self._line == 0:
                if record not in (_HEAD, _EARLIER):
                    raise ValueError(f"not a ledger of schema {SCHEMA}")
                return
            if "do" not in record:
                record = _of_earlier(record)
            for name in _TIMES:
                if name in record:
                    record[name] = datetime.fromisoformat(record[name])
            self._seen(record)  # first, so that what it refuses is refused again, and not taken for a second one
            self._books.apply(record)
        except UnknownCostError as error:
            raise LedgerError(f"{where}: {error}, or name another") from error
        except (DataError, LedgerError, ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise LedgerError(
                f"{where}: no line of a ledger ({str(error)[:200]}); restore the file, or name another, which begins "
                "with nothing spent"
            ) from error


def _written(record: Record) -> Record:
    return {name: one.isoformat() if isinstance(one, datetime) else one for name, one in record.items()}


def _of_earlier(record: Record) -> Record:
    """A line of a guard's journal of earlier versions, which had no times: what is open counts as spent."""
    at = "1970-01-01T00:00:00+00:00"
    if "reserve" in record:
        hold = {"scope": "guard", "labels": {}, "name": record["name"], "worst": record["worst"], "free": False}
        return {"do": "hold", "at": at, "expires": at, "id": f"earlier-{record['reserve']}", **hold}
    return {"do": "end", "at": at, "id": f"earlier-{record['close']}", "state": "settled", "spent": record["spent"]}
