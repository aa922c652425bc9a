"""A store in memory, and what one in a file shares with it: each operation decides, writes down, applies, answers."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from itertools import islice, pairwise

from tape.budget.accounts import Amounts, Labels, require_account, require_amounts, require_by_hand, require_id
from tape.budget.balances import Balance, Cap
from tape.budget.claims import Claimed, ClaimEnd, ClaimRecord, ClaimRequest, require_outcome
from tape.budget.contract import Ended, Held, HoldRecord, HoldRequest, LedgerStore, Note, Refused, State
from tape.budget.locks import CLIENT, OrderedLock
from tape.budget.periods import Period
from tape.budget.rules import LedgerError, Pause, Paused, Rule, Wanted, Warned, log_late, of_lacking, tell
from tape.budget.stores.claims import ClaimBooks
from tape.budget.stores.windows import Record
from tape.errors import TapeError
from tape.reading import short

Clock = Callable[[], datetime]
"""Says the present; one that goes back counts as standing still."""

present: Clock = partial(datetime.now, UTC)


class BookStore(LedgerStore):
    """A store whose state follows from the records that it writes down.

    Args:
        clock: Says the present.
        books: Makes the state, also anew after a fault; a client may keep more in it than the contract asks for.
    """

    def __init__(self, clock: Clock = present, books: Callable[[], ClaimBooks] = ClaimBooks) -> None:
        self._clock, self._make_books = clock, books
        self._books = books()
        self._told: deque[Warned] = deque()

    @abstractmethod
    def _exclusive(self) -> AbstractContextManager[None]:
        """Have the records alone, all of them applied; after a fault amid a change nothing of the block is there."""

    @abstractmethod
    def _append(self, *records: Record) -> None:
        """Write records down, by who has them alone; a failure leaves nothing of them."""

    # --- the contract -------------------------------------------------------------------------

    def reserve(self, request: HoldRequest) -> Held | Refused | Paused:
        """See :class:`LedgerStore`."""
        with self.alone():
            return self.reserve_alone(request)

    def reserve_alone(self, request: HoldRequest) -> Held | Refused | Paused:
        """As :meth:`reserve`, by who has the store :meth:`alone`."""
        at = self._now()
        decided = self._books.reserve(request, at)
        if not isinstance(decided, dict):
            if isinstance(decided, Refused):
                self._warn(at, decided)
            return decided
        assert request.id not in self._books.holds, "it is held once"
        self._do(decided)
        assert self._books.holds[request.id].state == "held"
        return Held(request.id)

    def refusal_alone(self, request: HoldRequest) -> Refused | Paused | None:
        """Why :meth:`reserve_alone` would not hold it; nothing is held, and nothing is written."""
        decided = self._books.reserve(request, self._now())
        return decided if isinstance(decided, Refused | Paused) else None

    def grow(self, id: str, amounts: Amounts) -> Held | Refused:
        """See :class:`LedgerStore`."""
        require_id(id)
        require_amounts(f"hold {short(id)}", amounts)
        with self.alone() as at:
            decided = self._books.grow(id, amounts, at)
            if isinstance(decided, Refused):
                self._warn(at, decided)
            if not isinstance(decided, dict):
                return decided
            self._do(decided)
            worst = self._books.holds[id].worst
            assert self._books.holds[id].state == "held"
            assert all(worst[kind] is None or (worst[kind] or 0) >= count for kind, count in amounts.items())
        return Held(id)

    def settle(self, id: str, amounts: Mapping[str, int | None]) -> Ended:
        """See :class:`LedgerStore`."""
        require_id(id)
        with self.alone():
            return self.settle_alone(id, amounts)

    def void(self, id: str) -> Ended:
        """See :class:`LedgerStore`."""
        require_id(id)
        with self.alone():
            ended = self.settle_alone(id, {}, "voided")
        assert ended.state != "voided" or not ended.spent, "it has cost nothing"
        return ended

    def settle_alone(self, id: str, amounts: Mapping[str, int | None], state: State = "settled") -> Ended:
        """As :meth:`settle`, by who has the store :meth:`alone`."""
        require_amounts(f"hold {short(id)}", amounts, unknown=True)
        assert state != "held", "it ends"
        decided = self._books.end(id, state, amounts, self._now())
        hold = self._books.holds[id]
        if isinstance(decided, Ended):
            assert decided.state == hold.state != "held", "it has ended, once"
            return decided
        was_expired, before = hold.expired, dict(hold.spent)
        self._do(decided)
        assert (hold.state, hold.spent) == (decided["state"], decided["spent"])
        if was_expired:
            assert not hold.expired, "an end of its caller's is the last one"
            log_late(id, hold.request.scope, before, hold.spent, any(hold.owed.values()))
        return Ended(id, hold.state, dict(hold.spent))

    def claim(self, request: HoldRequest, claim: ClaimRequest) -> Claimed | Refused | Paused:
        """See :class:`LedgerStore`."""
        with self.alone() as at:
            decided = self._books.claim(request, claim, at)
            if isinstance(decided, Refused):
                self._warn(at, decided)
            if not isinstance(decided, dict):
                return decided
            self._do(decided)
            return self._books.told(claim.key)

    def finish(
        self, key: str, attempt: int, end: ClaimEnd, amounts: Mapping[str, int | None], outcome: str = ""
    ) -> Claimed:
        """See :class:`LedgerStore`."""
        require_amounts(f"claim {short(key)}", amounts, unknown=True)
        require_outcome(outcome)
        with self.alone() as at:
            decided = self._books.finish(key, attempt, end, amounts, outcome, at)
            if isinstance(decided, dict):
                self._do(decided)
            return self._books.told(key)

    def decide(self, key: str, who: str, why: str, *, done: bool, outcome: str = "") -> None:
        """See :class:`LedgerStore`."""
        require_by_hand(who, why)
        require_outcome(outcome)
        with self.alone() as at:
            self._do({**self._books.decide(key, done, outcome, at), "who": who, "why": why})

    def claims(self, scope: str = "", most: int = 100) -> Sequence[ClaimRecord]:
        """See :class:`LedgerStore`."""
        with self.alone():
            return list(islice(self._books.records(scope), max(0, most)))

    def read(self, scope: str, labels: Labels | None = None) -> Sequence[Balance]:
        """See :class:`LedgerStore`."""
        with self.alone() as at:
            return self._books.balances(at, self._books.of_call(scope, labels or {}))

    def balances(self) -> Sequence[Balance]:
        """See :class:`LedgerStore`."""
        with self.alone() as at:
            return self._books.balances(at, sorted(self._books.caps.values(), key=lambda cap: cap.key))

    def history(self, scope: str = "", most: int = 100) -> Sequence[HoldRecord]:
        """See :class:`LedgerStore`."""
        with self.alone():
            latest = (hold.record() for hold in reversed(self._books.holds.values()))
            below = (hold for hold in latest if not scope or f"{hold.scope}/".startswith(f"{scope}/"))
            return list(islice(below, max(0, most)))

    def notes(self) -> Sequence[Note]:
        """See :class:`LedgerStore`."""
        with self.alone():
            return list(self._books.notes)

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
            assert self._books.pauses[account].stopped >= stopped, "who is stopped stays stopped"

    def resume(self, account: str, who: str, why: str, *, once: bool = False) -> None:
        """See :class:`LedgerStore`."""
        require_by_hand(who, why)
        with self.alone() as at:
            self._do(*self._books.resume(account, who, why, once, at))
            assert account not in self._books.pauses

    def pauses(self) -> Sequence[Pause]:
        """See :class:`LedgerStore`."""
        with self.alone():
            return [self._books.pauses[account] for account in sorted(self._books.pauses)]

    def check(self) -> Sequence[str]:
        """See :class:`LedgerStore`."""
        with self.alone():
            wrong = list(self._books.wrong(self._books.holds.values()))
            return wrong + [of_lacking(hold.request.part, kind, n) for hold, kind, n in self._books.lacking()]

    # --- the books ----------------------------------------------------------------------------

    def _now(self) -> datetime:
        now = self._clock()
        assert now.tzinfo is not None, "a present has a time zone"
        return max(now, self._books.last or now)

    @contextmanager
    def alone(self) -> Iterator[datetime]:
        """Have the store alone, caught up with; the present, at which what has expired has ended."""
        try:
            with self._exclusive():
                at, ends = self._now(), False
                for end in self._books.expired(at):  # one by one, since a part takes what those within it took
                    self._write(end)
                    ends = True
                assert self._books.last is None or self._books.last <= at, "time does not go back"
                if ends:
                    self._warn(at)
                yield at
        finally:  # also where what is asked is refused
            while self._told:
                tell(self.warned, self._told.popleft())

    def _forget(self) -> None:
        self._books = self._make_books()
        self._told.clear()

    def _do(self, *records: Record) -> None:
        self._write(*records)
        self._warn(records[-1]["at"])

    def _write(self, *records: Record) -> None:
        assert all(first["at"] <= second["at"] for first, second in pairwise(records)), "in the order of their times"
        self._append(*records)
        for record in records:
            self._books.apply(record)

    def _warn(self, at: datetime, refused: Refused | None = None) -> None:
        """Write down which levels are reached; it is told once the store is free."""
        for record, told in list(self._books.warnings(at, refused)) if self._books.rules else ():
            self._write(record)
            if told is not None:
                self._told.append(told)


class MemoryStore(BookStore):
    """A store of one program, which ends with it: its records are a list."""

    def __init__(self, clock: Clock = present, books: Callable[[], ClaimBooks] = ClaimBooks) -> None:
        super().__init__(clock, books)
        self._lock = OrderedLock(CLIENT, "ledger in memory")
        self._records: list[Record] | None = []

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        with self._lock, self._lock.mutex:
            if self._records is None:
                raise LedgerError("the ledger in memory was closed; open it anew, with nothing spent")
            count = len(self._records)
            try:
                yield
            except TapeError:  # what was done before it stays
                raise
            except BaseException:  # an interrupt, perhaps amid a change
                del self._records[count:]
                self._forget()
                for record in self._records:
                    self._books.apply(record)
                raise

    def _append(self, *records: Record) -> None:
        assert self._records is not None
        self._records += records

    def close(self) -> None:
        """See :class:`LedgerStore`."""
        with self._lock, self._lock.mutex:
            self._records = None
