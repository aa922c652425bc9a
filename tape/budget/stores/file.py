"""A store in a file that several programs of one host share; the embedded default.

The file is only appended to. Under a lock on it a program reads what others have appended, decides, and appends its own
record, synced to the disk, before it answers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from tape.budget.accounts import (
    Amounts,
    Labels,
    concerns,
    require_account,
    require_amounts,
    require_by_hand,
    require_id,
)
from tape.budget.balances import Balance, Cap
from tape.budget.contract import Ended, Held, HoldRecord, HoldRequest, LedgerStore, Note, Refused, State
from tape.budget.locks import CLIENT
from tape.budget.periods import Period
from tape.budget.rules import LedgerError, Pause, Paused, Rule, Wanted, Warned, log_late, logger, of_lacking, tell
from tape.budget.stores.books import Books
from tape.budget.stores.records import Record, lines_of, with_times
from tape.budget.stores.shared_file import SharedFile
from tape.errors import DataError, UnknownCostError
from tape.files import why
from tape.reading import parse_json, short

Answer = TypeVar("Answer")

SCHEMA = 1
_HEAD = {"schema": SCHEMA, "what": "ledger"}
_MALFORMED = (DataError, LedgerError, ValueError, KeyError, TypeError, AttributeError, OverflowError, AssertionError)


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
        self._clock, self._seen = clock, seen
        self._books = Books()
        self._told: deque[Warned] = deque()
        self._file = SharedFile(path, self._take, self._forget, rank)
        try:
            with self.alone():
                if not self._file.count:
                    self._file.append(lines_of(_HEAD))
                assert self._file.count >= 1, "it has a first line"
        except BaseException:
            self.close()
            raise

    # --- the contract -------------------------------------------------------------------------

    def reserve(self, request: HoldRequest) -> Held | Refused | Paused:
        """See :class:`LedgerStore`."""
        with self.alone():
            found = self.reserve_alone(request)
        assert isinstance(found, Held | Refused | Paused)
        assert not isinstance(found, Held) or found.id == request.id, "whose answer it is"
        return found

    def reserve_alone(self, request: HoldRequest) -> Held | Refused | Paused:
        """As :meth:`reserve`, by who has the file :meth:`alone`."""
        at = self._now()
        found = self._books.reserve(request, at)
        if not isinstance(found, dict):
            assert not isinstance(found, Held) or request.id in self._books.holds, "what is held is written"
            return self._refused(found, at)
        assert request.id not in self._books.holds, "it is held once"
        self._do(found)
        assert self._books.holds[request.id].state == "held"
        assert self._books.holds[request.id].expires > at
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
            worst = self._books.holds[id].worst
            assert self._books.holds[id].state == "held"
            assert self._books.holds[id].expires > at, "what has expired does not grow"
            assert all(worst[kind] is None or (worst[kind] or 0) >= count for kind, count in amounts.items())
        return Held(id)

    def settle(self, id: str, amounts: Mapping[str, int | None]) -> Ended:
        """See :class:`LedgerStore`."""
        ended = self._end(id, "settled", amounts)
        assert ended.state != "held", ended
        assert ended.state != "settled" or all(ended.spent[kind] >= 0 for kind in ended.spent)
        return ended

    def void(self, id: str) -> Ended:
        """See :class:`LedgerStore`."""
        ended = self._end(id, "voided", {})
        assert ended.state != "held", ended
        assert ended.state != "voided" or not ended.spent, "it has cost nothing"
        return ended

    def _end(self, id: str, state: State, amounts: Mapping[str, int | None]) -> Ended:
        require_id(id)
        with self.alone():
            ended = self.settle_alone(id, amounts, state)
        assert ended.id == id, "whose end it is"
        return ended

    def settle_alone(self, id: str, amounts: Mapping[str, int | None], state: State = "settled") -> Ended:
        """As :meth:`settle`, by who has the file :meth:`alone`."""
        require_amounts(f"hold {short(id)}", amounts, unknown=True)
        assert state != "held", "it ends"
        found = self._books.end(id, state, amounts, self._now())
        ended = self._books.holds[id]
        if isinstance(found, Ended):
            assert found.state == ended.state != "held"
            return found
        was_expired, before = ended.expired, dict(ended.spent)
        self._do(found)
        assert (ended.state, ended.spent) == (found["state"], found["spent"])
        assert all(count >= 0 for count in ended.spent.values())
        if was_expired:
            assert not ended.expired, "an end of its caller's is the last one"
            log_late(id, ended.request.scope, before, ended.spent, any(ended.owed.values()))
        return Ended(id, ended.state, dict(ended.spent))

    def read(self, scope: str, labels: Labels | None = None) -> Sequence[Balance]:
        """See :class:`LedgerStore`."""
        with self.alone() as at:
            found = self._books.balances(at, self._books.of_call(scope, labels or {}))
            assert len({one.cap.key for one in found}) == len(found), "each cap once"
            assert all(one.left <= one.amount for one in found)
            assert all(concerns(one.cap.account, scope) for one in found), "what it pays from"
            return found

    def balances(self) -> Sequence[Balance]:
        """See :class:`LedgerStore`."""
        with self.alone() as at:
            found = self._books.balances(at, sorted(self._books.caps.values(), key=lambda one: one.key))
            assert len(found) == len(self._books.caps), "each cap once"
            assert all(one.begun is None or one.begun <= at for one in found), "periods that have begun"
            return found

    def history(self, scope: str = "", most: int = 100) -> Sequence[HoldRecord]:
        """See :class:`LedgerStore`."""
        with self.alone():
            found = (one.record() for one in reversed(self._books.holds.values()))
            below = (one for one in found if not scope or f"{one.scope}/".startswith(f"{scope}/"))
            latest = [one for one, _ in zip(below, range(max(0, most)), strict=False)]
            assert all(one.begun >= next_.begun for one, next_ in pairwise(latest)), "the latest first"
            assert all((one.state == "held") <= (not one.spent) for one in latest), "what is open has spent nothing"
            assert len({one.id for one in latest}) == len(latest) <= max(0, most), "each hold once"
            return latest

    def notes(self) -> Sequence[Note]:
        """See :class:`LedgerStore`."""
        with self.alone():
            found = list(self._books.notes)
            assert all(one.at >= next_.at for one, next_ in pairwise(found)), "the latest first"
            assert all(one.what and one.at.tzinfo for one in found), "what was done, and when"
            return found

    def set_cap(self, cap: Cap, who: str, why: str) -> None:
        """See :class:`LedgerStore`."""
        require_by_hand(who, why)
        with self.alone() as at:
            self._do(self._books.cap(cap, who, why, at))
            assert self._books.caps[cap.key] == cap
            assert self._books.taken(cap, at) <= self._books.amount(cap, at), "what is spent and held fits"

    def top_up(self, cap: Cap, who: str, why: str) -> None:
        """See :class:`LedgerStore`."""
        require_by_hand(who, why)
        with self.alone() as at:
            before = self._books.amount(cap, at)
            self._do(self._books.top_up(cap, who, why, at))
            assert self._books.amount(cap, at) == before + cap.amount, "in this period"
            assert self._books.caps[cap.key].amount <= self._books.amount(cap, at), "the cap itself stays"

    def reset(self, account: str, resource: str, period: Period, who: str, why: str) -> None:
        """See :class:`LedgerStore`."""
        require_by_hand(who, why)
        with self.alone() as at:
            key = (account, resource, str(period))
            self._do(self._books.reset(key, who, why, at))
            (now,) = self._books.balances(at, [self._books.caps[key]])
            assert now.spent == 0, now
            assert now.amount >= now.held, "what is held fits"

    def set_rule(self, rule: Rule, who: str, why: str) -> None:
        """See :class:`LedgerStore`."""
        require_by_hand(who, why)
        with self.alone() as at:
            self._do({"do": "rule", "at": at, **asdict(rule), "who": who, "why": why})
            assert self._books.rules[rule.account] == rule, "what is written is what was given"
            assert all(one.account == account for account, one in self._books.rules.items())

    def rules(self) -> Sequence[Rule]:
        """See :class:`LedgerStore`."""
        with self.alone():
            found = [self._books.rules[account] for account in sorted(self._books.rules)]
            assert all(one.account < next_.account for one, next_ in pairwise(found)), "one of an account"
            return found

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
            assert account in self._books.pauses
            assert self._books.pauses[account].stopped >= stopped, "who is stopped stays stopped"

    def resume(self, account: str, who: str, why: str, *, once: bool = False) -> None:
        """See :class:`LedgerStore`."""
        require_by_hand(who, why)
        with self.alone() as at:
            self._do(*self._books.resume(account, who, why, once, at))
            assert account not in self._books.pauses
            assert all(one.account == name for name, one in self._books.pauses.items())

    def pauses(self) -> Sequence[Pause]:
        """See :class:`LedgerStore`."""
        with self.alone():
            found = [self._books.pauses[account] for account in sorted(self._books.pauses)]
            assert all(one.account < next_.account for one, next_ in pairwise(found)), "one of an account"
            return found

    def check(self) -> Sequence[str]:
        """See :class:`LedgerStore`."""
        with self.alone():
            wrong = list(self._books.wrong(self._books.holds.values()))
            lacking = [of_lacking(hold.request.part, kind, amount) for hold, kind, amount in self._books.lacking()]
            assert all(wrong), "each says something"
            assert len(wrong) <= len(self._books.windows), "a line for a window"
            return wrong + lacking

    def close(self) -> None:
        """See :class:`LedgerStore`."""
        self._file.close()

    # --- the file -----------------------------------------------------------------------------

    def find(self, id: str) -> HoldRecord | None:
        """The hold of an id where there is one, for who has the file :meth:`alone`."""
        found = self._books.holds.get(id)
        assert found is None or found.request.id == id
        assert found is None or found.begun <= found.expires
        return None if found is None else found.record()

    def free(self) -> bool:
        """Whether this thread may have it now; see :meth:`SharedFile.free`."""
        return self._file.free()

    def _now(self) -> datetime:
        now = self._clock()
        assert now.tzinfo is not None, "a present has a time zone"
        found = max(now, self._books.last or now)
        assert found >= now, "it may stand still, and never goes back"
        return found

    @contextmanager
    def alone(self) -> Iterator[datetime]:
        """Have the file alone, caught up with it; the present, at which what has expired has ended."""
        try:
            with self._file.alone():
                at = self._now()
                count = self._file.count
                for ended in self._books.expired(at):  # one by one, since a part takes what those within it took
                    self._write(ended)
                assert next(self._books.expired(at), None) is None, "what has expired has ended"
                assert self._books.last is None or self._books.last <= at, "time does not go back"
                if self._file.count > count:
                    self._warn(at)
                yield at
        finally:  # also where what is asked is refused
            while self._told:
                tell(self.warned, self._told.popleft())

    def _forget(self) -> None:
        self._books = Books()
        self._told.clear()
        assert not self._books.holds, "all of it is read again"
        assert self._file.count == 0, "from the first line"

    def _do(self, *records: Record) -> None:
        self._write(*records)
        assert self._books.last is not None, "something was done"
        self._warn(records[-1]["at"])

    def _write(self, *records: Record) -> None:
        assert records, "there is something to do"
        assert all(one["at"] <= next_["at"] for one, next_ in pairwise(records)), "in the order of their times"
        before = self._file.count
        self._file.append(lines_of(*records))
        for record in records:
            self._books.apply(record)
        assert self._file.count == before + len(records), "all of it is written"
        assert self._books.last is not None and self._books.last >= records[-1]["at"]  # noqa: PT018

    def _refused(self, answer: Answer, at: datetime) -> Answer:
        assert isinstance(answer, Held | Refused | Paused), "an answer, and no record"
        assert self._books.last is None or at >= self._books.last, "it is the present"
        if isinstance(answer, Refused):
            self._warn(at, answer)
        return answer

    def _warn(self, at: datetime, refused: Refused | None = None) -> None:
        """Write down which levels are reached; it is told once the file is free."""
        for record, told in list(self._books.warnings(at, refused)):
            assert record["do"] == "warn", record
            assert told is None or 1 <= told.percent <= 100, told
            try:
                self._file.append(lines_of(record))
            except OSError as error:  # what it is about is done, and written
                logger.warning("a warning of %s cannot be written: %s", self._file.path, why(error))
                return
            self._books.apply(record)
            if told is not None:
                self._told.append(told)

    def _take(self, line: bytes) -> None:
        where = f"{self._file.path}:{self._file.count + 1}"
        assert line.endswith(b"\n"), "a whole line"
        try:
            record = parse_json(line, "line")
            if self._file.count == 0:
                if record != _HEAD:
                    raise ValueError(f"not a ledger of schema {SCHEMA}")
                return
            record = with_times(record)
            self._seen(record)  # first, so that what it refuses is refused again, and not taken for a second one
            self._books.apply(record)
        except UnknownCostError as error:
            raise LedgerError(f"{where}: {error}, or name another") from error
        except _MALFORMED as error:
            raise LedgerError(
                f"{where}: no line of a ledger ({str(error)[:200]}); restore the file, or name another, which begins "
                "with nothing spent"
            ) from error
