"""What a ledger promises, in plain Python and without the code of a store: slow, in memory, and for one program.

Each hold has an entry for each cap that it counts in. All that a cap has spent, holds and owes is the sum over entries.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from tape.budget import Cap, Ended, Held, HoldRequest, LedgerError, Paused, Refused, Rule, Wanted
from tape.budget.contract import State
from tape.budget.periods import Period

Key = tuple[str, str, str]
"""An account, a resource, and a period as text."""

FIRST = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class Sum:
    """Of a cap in one of its periods."""

    amount: int
    spent: int = 0
    held: int = 0
    debt: int = 0
    reset: datetime | None = None
    forgiven: int = 0


@dataclass
class Entry:
    """Of a hold in a cap."""

    key: Key
    sum: Sum
    debt: int = 0


@dataclass
class HoldOf:
    """A hold."""

    request: HoldRequest
    begun: datetime
    worst: dict[str, int | None]
    entries: list[Entry]
    state: State = "held"
    spent: dict[str, int] = field(default_factory=dict)
    is_provisional: bool = False

    @property
    def expires(self) -> datetime:
        """When its time is up."""
        return self.begun + timedelta(seconds=self.request.seconds)


@cache
def midnight(zone: str, day: date) -> datetime:
    """The first moment of a day, in steps of a quarter of an hour."""
    at = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(hours=16)
    while at.astimezone(ZoneInfo(zone)).date() < day:
        at += timedelta(minutes=15)
    return at


def start(period: str, at: datetime) -> datetime:
    """When the period began that a moment belongs to."""
    unit, zone, day = re.match(r"([a-z]+)[^@]*(?:@([^#]+))?(?:#(\d+))?", period).groups()  # type: ignore[union-attr]
    if unit == "total":
        return FIRST
    if unit in ("hour", "rolling"):
        size = 3600 if unit == "hour" else bucket(period)
        return at - timedelta(seconds=(at - FIRST) // timedelta(seconds=1) % size, microseconds=at.microsecond)
    today = at.astimezone(ZoneInfo(zone)).date()
    if unit == "week":
        today -= timedelta(days=today.weekday())
    while unit == "month" and today.day != min(int(day), monthrange(today.year, today.month)[1]):
        today -= timedelta(days=1)
    return midnight(zone, today)


def bucket(period: str) -> int:
    """Seconds of a sixtieth of a rolling period."""
    return -(-int(period.partition(":")[2]) // 60)


class Model:
    """The ledger; its methods are those of a store."""

    def __init__(self) -> None:
        self.at = FIRST
        self.holds: dict[str, HoldOf] = {}
        self._open: dict[str, HoldOf] = {}
        self._parts: dict[str, HoldOf] = {}
        self._caps: dict[Key, int] = {}
        self._sums: dict[Key, dict[datetime, Sum]] = {}
        self._pauses: dict[str, list[Any]] = {}
        self.seen: Counter[str] = Counter()
        """How often what happened."""

    # --- time and accounts --------------------------------------------------------------------

    def goes_on(self, at: datetime) -> bool:
        """It is so late; whether something has expired."""
        due = sorted((hold.expires, id) for id, hold in self._open.items() if hold.expires <= at)
        for when, id in due:
            hold = self._open[id]
            self.at, unknown = when, {} if hold.request.free or hold.request.part else dict.fromkeys(hold.worst)
            self._end(hold, "voided" if hold.request.free else "booked", unknown)
            hold.is_provisional = True
        self.at = at
        return bool(due)

    @staticmethod
    def _path(scope: str) -> list[str]:
        names = scope.split("/")
        return ["/".join(names[: n + 1]) for n in reversed(range(len(names)))]

    def _around(self, scope: str) -> list[HoldOf]:
        return [self._parts[account] for account in self._path(scope) if account in self._parts]

    def _accounts(self, scope: str, labels: Mapping[str, str]) -> list[str]:
        pairs = {*labels.items()}
        for part in self._around(scope):
            pairs |= {*part.request.labels.items()}
        return [f"{scope.partition('/')[0]}#{name}={value}" for name, value in sorted(pairs)] + self._path(scope)

    def _keys(self, scope: str, labels: Mapping[str, str]) -> Iterator[Key]:
        for account in self._accounts(scope, labels):
            for key in sorted(key for key in self._caps if key[0] == account):
                # The innermost part with this resource has it from the accounts of its hold.
                having = [part.request for part in self._around(scope) if key[1] in part.request.amounts]
                if not having or account not in self._accounts(having[0].scope, having[0].labels):
                    yield key

    # --- sums ---------------------------------------------------------------------------------

    def _sum(self, key: Key, at: datetime) -> Sum:
        """Of the period of a moment."""
        return self._sums.setdefault(key, {}).setdefault(start(key[2], at), Sum(self._caps[key]))

    def _counts(self, key: Key, at: datetime) -> tuple[int, int, int, int]:
        """The amount, what is spent and held, and the debt."""
        if not key[2].startswith("rolling"):
            total = self._sum(key, at)
            amount = total.amount
            if key[0] in self._parts and self._parts[key[0]].state != "held":
                amount = min(amount, total.spent + total.held)
            return amount, total.spent, total.held, total.debt
        last = start(key[2], at)
        first = last - timedelta(seconds=60 * bucket(key[2]))
        all_ = self._sums.get(key, {})
        now = [total for begun, total in all_.items() if first <= begun <= last]
        return (
            self._caps[key],
            sum(total.spent for total in now),
            sum(total.held for total in all_.values()),
            sum(total.debt for total in now),
        )

    def _refusal(self, key: Key, wanted: int | None, at: datetime) -> Refused | None:
        amount, spent, held, _ = self._counts(key, at)
        if wanted is None:
            return Refused(*key, amount, max(0, amount - spent - held), None)
        if wanted and spent + held + wanted > amount:
            return Refused(*key, amount, max(0, amount - spent - held), spent + held + wanted)
        return None

    def balances(self) -> list[tuple[Any, ...]]:
        """Of all caps."""
        return [(*key, *self._counts(key, self.at)) for key in sorted(self._caps)]

    def read(self, scope: str, labels: Mapping[str, str]) -> list[tuple[Any, ...]]:
        """Of those of a call."""
        return [(*key, *self._counts(key, self.at)) for key in self._keys(scope, labels)]

    # --- holds --------------------------------------------------------------------------------

    def reserve(self, request: HoldRequest) -> Held | Refused | Paused:
        """Hold it in all, or in none."""
        if (known := self.holds.get(request.id)) is not None:
            if (known.request.scope, known.request.labels) != (request.scope, request.labels):
                raise LedgerError("another's")
            return Held(request.id, known.state)
        for part in self._around(request.scope):
            if part.state != "held":
                return Paused(part.request.part, True, "ledger", "the part has ended")
        accounts = self._accounts(request.scope, request.labels)
        paused = sorted((not self._pauses[name][0], n, name) for n, name in enumerate(accounts) if name in self._pauses)
        if paused:
            stopped, who, why, _ = self._pauses[paused[0][2]]
            return Paused(paused[0][2], stopped, who, why)
        if request.part in self._parts:
            raise LedgerError("given")
        keys = list(self._keys(request.scope, request.labels))
        for key in keys:
            if (refused := self._refusal(key, request.amounts.get(key[1], 0), self.at)) is not None:
                return refused
        hold = HoldOf(request, self.at, dict(request.amounts), [Entry(key, self._sum(key, self.at)) for key in keys])
        for entry in hold.entries:
            entry.sum.held += hold.worst.get(entry.key[1]) or 0
        self.holds[request.id] = self._open[request.id] = hold
        if request.part:
            self._parts[request.part] = hold
            self.seen["parts"] += 1
            self.seen[f"parts {request.part.count('part:')} deep"] += 1
        self.seen["holds within parts"] += bool(self._around(request.scope))
        if request.part:
            self._caps.update({(request.part, kind, "total"): n or 0 for kind, n in request.amounts.items()})
        return Held(request.id)

    def grow(self, id: str, amounts: Mapping[str, int]) -> Held | Refused:
        """Hold more."""
        hold = self.holds.get(id)
        if (
            hold is None
            or hold.state != "held"
            or any(part.state != "held" for part in self._around(hold.request.scope))
        ):
            raise LedgerError("does not grow")
        worst: dict[str, int | None] = dict(hold.worst)
        for kind, n in amounts.items():
            before = worst.get(kind, 0)
            worst[kind] = None if before is None else max(before, n)
        more = {kind: (n or 0) - (hold.worst.get(kind) or 0) for kind, n in worst.items()}
        for entry in hold.entries:
            rolling = entry.key[2].startswith("rolling")
            at = self.at if rolling else hold.begun
            if (refused := self._refusal(entry.key, more.get(entry.key[1], 0), at)) is not None:
                return refused
        for entry in hold.entries:
            entry.sum.held += more.get(entry.key[1], 0)
        hold.worst = worst
        return Held(id)

    def settle(self, id: str, amounts: Mapping[str, int | None]) -> Ended:
        """It took so much."""
        return self._ended(id, "settled", amounts)

    def void(self, id: str) -> Ended:
        """It was not made."""
        return self._ended(id, "voided", {})

    def _ended(self, id: str, state: State, amounts: Mapping[str, int | None]) -> Ended:
        if id not in self.holds:
            raise LedgerError("unknown")
        hold = self.holds[id]
        if hold.state == "held" or hold.is_provisional:
            self._end(hold, state, amounts)
            hold.is_provisional = False
        return Ended(id, hold.state, dict(hold.spent))

    def _end(self, hold: HoldOf, state: State, amounts: Mapping[str, int | None]) -> None:
        took = {kind: (hold.worst.get(kind) or 0) if n is None else n for kind, n in amounts.items()}
        for kind in hold.request.amounts if hold.request.part else ():
            _, spent, held, _ = self._counts((hold.request.part, kind, "total"), self.at)
            took[kind] = max(took.get(kind, 0), spent + held)
        if state == "voided":
            state, took = ("settled", took) if any(took.values()) else (state, {})
        if hold.state != "held":
            self.seen["late ends"] += 1
        elif hold.request.part:
            self.seen["ends of parts"] += 1
        was_open, before = hold.state == "held", dict(hold.spent)
        hold.state = state
        if was_open:
            del self._open[hold.request.id]
            for entry in hold.entries:
                kind = entry.key[1]
                worst, used = hold.worst.get(kind) or 0, took.get(kind, 0)
                entry.debt = max(0, used - worst)
                entry.sum.held -= worst
                entry.sum.spent += used
                entry.sum.debt += entry.debt
            before = {kind: n or 0 for kind, n in hold.worst.items()}
            hold.spent = took
        else:
            self._book(hold, took)
        for kind, n in took.items():
            self._above(hold, kind, n - before.get(kind, 0))

    def _book(self, hold: HoldOf, took: dict[str, int]) -> None:
        """After its end it took something else."""
        for entry in hold.entries:
            more, sum_ = took.get(entry.key[1], 0) - hold.spent.get(entry.key[1], 0), entry.sum
            if entry.key[2].startswith("rolling"):
                amount, spent, held, _ = self._counts(entry.key, self.at)
            else:
                amount, spent, held = sum_.amount, sum_.spent, sum_.held
            room = max(0, amount - spent - held)
            debt = max(0, more - room) if more > 0 else -min(-more, entry.debt)
            was_forgiven = more < 0 and sum_.reset is not None and hold.expires <= sum_.reset
            sum_.spent += 0 if was_forgiven else more
            sum_.forgiven += more if was_forgiven else 0
            sum_.debt += debt
            entry.debt += debt
            assert min(sum_.spent, sum_.forgiven, sum_.debt, entry.debt) >= 0
        hold.spent = took

    def _above(self, hold: HoldOf, kind: str, more: int) -> None:
        """A part that has ended has taken more."""
        for entry in hold.entries if more > 0 else ():
            part = self._parts.get(entry.key[0])
            if entry.key[1] == kind and part is not None and part.state != "held":
                self.seen["booked above a part that had ended"] += 1
                part.state = "settled" if part.state == "voided" else part.state
                self._book(part, {**part.spent, kind: part.spent.get(kind, 0) + more})
                self._above(part, kind, more)

    # --- by hand ------------------------------------------------------------------------------

    def set_cap(self, cap: Cap, who: str, why: str) -> None:
        """Make or change it."""
        key = cap.account, cap.resource, str(cap.period)
        unit = cap.period.unit
        others = [Period.parse(other[2]) for other in self._caps if other[:2] == key[:2] and other != key]
        if unit != "rolling" and unit in {other.unit for other in others}:
            raise LedgerError("clash")
        if re.fullmatch(r"[^#]*/part:[^/]*", cap.account) and cap.amount > self._caps.get(key, -1):
            raise LedgerError("of a part")
        if key in self._caps:
            _, spent, held, _ = self._counts(key, self.at)
            if cap.amount < spent + held:
                raise LedgerError("below")
        self._caps[key] = cap.amount
        for begun, total in self._sums.get(key, {}).items():
            if begun >= start(key[2], self.at):
                total.amount = cap.amount

    def _changeable(self, key: Key) -> Sum:
        if key not in self._caps or key[2].startswith("rolling") or key[0] in self._parts:
            raise LedgerError("no such cap")
        return self._sum(key, self.at)

    def top_up(self, cap: Cap, who: str, why: str) -> None:
        """More in this period."""
        self._changeable((cap.account, cap.resource, str(cap.period))).amount += cap.amount

    def reset(self, account: str, resource: str, period: Period, who: str, why: str) -> None:
        """Forgive what is spent."""
        total = self._changeable((account, resource, str(period)))
        total.forgiven, total.spent, total.reset = total.forgiven + total.spent, 0, self.at

    def set_rule(self, rule: Rule, who: str, why: str) -> None:
        """Says nothing of sums."""

    def pause(self, account: str, who: str, why: str, *, stopped: bool, wanted: Wanted | None) -> None:
        """Let no call begin."""
        known = self._pauses.get(account)
        if known is None or (stopped and not known[0]):
            self._pauses[account] = [stopped, who, why, known[3] if known else wanted]

    def resume(self, account: str, who: str, why: str, *, once: bool) -> None:
        """Go on."""
        if account not in self._pauses or (once and self._pauses[account][3] is None):
            raise LedgerError("not so")
        if once:
            key, wanted = self._pauses[account][3][:3], self._pauses[account][3][3]
            total = self._changeable(key)
            total.amount = max(total.amount, total.spent + total.held + wanted)
        del self._pauses[account]

    def pauses(self) -> list[Any]:
        """In order of their accounts."""
        return [Wanted(account, "", "", 0) for account in sorted(self._pauses)]  # for its account
