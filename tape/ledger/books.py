"""The state of a store as a function of its records: every change is one, and applying them again gives the same state.

What may happen is decided here, and then applied: a store writes the record down between the two.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tape.budget.resources import in_units
from tape.ledger.contract import (
    Amounts,
    Balance,
    Cap,
    Ended,
    Held,
    HoldRecord,
    Labels,
    LedgerError,
    Note,
    Refused,
    Request,
    State,
    accounts_of,
)
from tape.ledger.periods import Period

Record = dict[str, Any]
"""What is written down: ``do`` says what it is, ``at`` when."""

CapKey = tuple[str, str, str]
MOST_NOTES = 1000


@dataclass
class Window:
    """A cap in one of its periods, in counts.

    Attributes:
        amount: The cap, with what was added.
        spent: What has ended.
        held: What is open.
        debt: By how much settlements were above their worst case.
        forgiven: What resets have taken off ``spent``.
    """

    amount: int
    spent: int = 0
    held: int = 0
    debt: int = 0
    forgiven: int = 0


@dataclass
class Hold:
    """A hold, and the windows that it counts in."""

    request: Request
    begun: datetime
    expires: datetime
    worst: dict[str, int | None]
    windows: list[tuple[CapKey, datetime | None]]
    state: State = "held"
    spent: dict[str, int] = field(default_factory=dict)

    def record(self) -> HoldRecord:
        """For people."""
        one = self.request
        return HoldRecord(
            one.id, one.scope, one.labels, one.name, dict(self.worst), dict(self.spent), self.state, self.begun,
            self.expires,
        )  # fmt: skip


class Books:
    """Caps, holds and their sums."""

    def __init__(self) -> None:
        self.caps: dict[CapKey, Cap] = {}
        self.windows: dict[tuple[CapKey, datetime | None], Window] = {}
        self.holds: dict[str, Hold] = {}
        self.notes: deque[Note] = deque(maxlen=MOST_NOTES)
        self.last: datetime | None = None
        """When the latest record was made."""
        self._by_account: dict[str, list[Cap]] = {}
        self._expiring: list[tuple[datetime, str]] = []
        self._held: dict[CapKey, int] = {}
        """What is held of each cap, of all times."""

    # --- deciding -----------------------------------------------------------------------------

    def reserve(self, request: Request, at: datetime) -> Held | Refused | Record:
        """An answer where nothing is to be done, else what is to be written down.

        Raises:
            LedgerError: The id belongs to another hold.
        """
        if (known := self.holds.get(request.id)) is not None:
            if (known.request.scope, dict(known.request.labels)) != (request.scope, dict(request.labels)):
                raise LedgerError(f"the id {request.id} belongs to a hold of {known.request.scope}; make ids anew")
            return Held(request.id, known.state)
        for cap in self._caps_of(request.scope, request.labels):
            if (refused := self._refusal(cap, request.amounts.get(cap.resource, 0), at)) is not None:
                return refused
        return {
            "do": "hold",
            "at": at,
            "id": request.id,
            "scope": request.scope,
            "labels": dict(request.labels),
            "name": request.name,
            "worst": dict(request.amounts),
            "expires": at + timedelta(seconds=request.seconds),
            "free": request.free,
        }

    def grow(self, id: str, amounts: Amounts, at: datetime) -> Held | Refused | Record:
        """As :meth:`reserve`, for an open hold that is to be larger.

        Raises:
            LedgerError: There is no such hold, or it has ended.
        """
        hold = self._hold(id)
        if hold.state != "held":
            raise LedgerError(f"the hold {id} has ended ({hold.state}); reserve anew")
        worst = {kind: _larger(hold.worst.get(kind, 0), amounts.get(kind, 0)) for kind in {**hold.worst, **amounts}}
        if worst == hold.worst:
            return Held(id)
        for key, _ in hold.windows:
            cap = self.caps[key]
            more = (worst.get(cap.resource) or 0) - (hold.worst.get(cap.resource) or 0)
            rolling = cap.period.unit == "rolling"
            if more and (refused := self._refusal(cap, more, at if rolling else hold.begun)) is not None:
                return refused
        return {"do": "grow", "at": at, "id": id, "worst": worst}

    def end(self, id: str, state: State, amounts: Mapping[str, int | None], at: datetime) -> Ended | Record:
        """The answer where the hold has ended, else what is to be written down.

        Raises:
            LedgerError: There is no such hold.
        """
        hold = self._hold(id)
        if hold.state != "held":
            return Ended(id, hold.state, dict(hold.spent))
        spent = {kind: _known(amounts[kind], hold.worst.get(kind)) for kind in amounts}
        return {"do": "end", "at": at, "id": id, "state": state, "spent": spent}

    def expired(self, now: datetime) -> Iterator[Record]:
        """What ends because its time is up."""
        while self._expiring and self._expiring[0][0] <= now:
            at, id = heapq.heappop(self._expiring)
            hold = self.holds[id]
            if hold.state == "held" and hold.expires <= now:
                spent = {} if hold.request.free else {kind: _known(None, n) for kind, n in hold.worst.items()}
                yield {"do": "end", "at": at, "id": id, "state": "voided" if hold.request.free else "booked",
                       "spent": spent}  # fmt: skip

    def set_cap(self, cap: Cap, who: str, why: str, at: datetime) -> Record:
        """What is to be written down for a cap.

        Raises:
            LedgerError: It is below what is spent and held, or another one of the unit is in another time zone.
        """
        for other in self._by_account.get(cap.account, ()):
            clash = (other.resource, other.period.unit) == (cap.resource, cap.period.unit)
            if clash and cap.period.unit != "rolling" and other.period != cap.period:
                raise LedgerError(
                    f"{cap.account} has a cap on {cap.resource} per {other.period} already, and would have two "
                    f"beginnings of a {cap.period.unit} with {cap.period}; change that one"
                )
        taken = self._taken(cap, at)
        if cap.amount < taken:
            raise LedgerError(
                f"a cap of {in_units(cap.resource, cap.amount)} on {cap.account} per {cap.period} is below the "
                f"{in_units(cap.resource, taken)} that are spent and held; wait, reset it, or name a higher one"
            )
        return {**_of_cap("cap", cap.key, who, why, at), "amount": cap.amount}

    def top_up(self, cap: Cap, who: str, why: str, at: datetime) -> Record:
        """What is to be written down for more in this period.

        Raises:
            LedgerError: There is no such cap, or it is a rolling one.
        """
        self._require(cap.key, "topped up")
        return {**_of_cap("top_up", cap.key, who, why, at), "amount": cap.amount}

    def reset(self, key: CapKey, who: str, why: str, at: datetime) -> Record:
        """What is to be written down for a reset.

        Raises:
            LedgerError: There is no such cap, or it is a rolling one.
        """
        self._require(key, "reset")
        return _of_cap("reset", key, who, why, at)

    def _require(self, key: CapKey, what: str) -> None:
        if key not in self.caps:
            known = ", ".join(" ".join(one) for one in self.caps) or "none"
            raise LedgerError(f"there is no cap {' '.join(key)}; there is: {known[:500]}")
        if self.caps[key].period.unit == "rolling":
            raise LedgerError(f"a rolling cap is not {what}: what was spent leaves it by itself; change the cap")

    def _hold(self, id: str) -> Hold:
        if id not in self.holds:
            raise LedgerError(f"there is no hold {id}")
        return self.holds[id]

    def _refusal(self, cap: Cap, wanted: int | None, at: datetime) -> Refused | None:
        amount, taken = self._amount(cap, cap.period.begun(at)), self._taken(cap, at)
        if wanted is not None and (wanted == 0 or taken + wanted <= amount):
            return None
        needed = None if wanted is None else taken + wanted
        return Refused(cap.account, cap.resource, str(cap.period), amount, max(0, amount - taken), needed)

    def _amount(self, cap: Cap, start: datetime | None) -> int:
        window = None if cap.period.unit == "rolling" else self.windows.get((cap.key, start))
        return self.caps.get(cap.key, cap).amount if window is None else window.amount

    def _taken(self, cap: Cap, at: datetime) -> int:
        return sum(one.spent for one in self._windows(cap, at)) + self._holds_of(cap, at)

    def _holds_of(self, cap: Cap, at: datetime) -> int:
        """What is held; of a rolling cap also what began before, since it may still be paid."""
        if cap.period.unit == "rolling":
            return self._held.get(cap.key, 0)
        return sum(one.held for one in self._windows(cap, at))

    def _windows(self, cap: Cap, at: datetime) -> Iterator[Window]:
        """The windows that count at a moment."""
        start, earliest = cap.period.begun(at), cap.period.earliest(at)
        if start == earliest:
            found = self.windows.get((cap.key, start))
            yield from () if found is None else (found,)
            return
        assert start is not None
        while earliest is not None and earliest <= start:
            if (found := self.windows.get((cap.key, earliest))) is not None:
                yield found
            earliest += timedelta(seconds=cap.period.bucket)

    def _caps_of(self, scope: str, labels: Labels) -> Iterator[Cap]:
        for account in accounts_of(scope, labels):
            yield from self._by_account.get(account, ())

    # --- applying -----------------------------------------------------------------------------

    def apply(self, record: Record) -> None:
        """Do what was written down.

        Raises:
            KeyError, ValueError: It is no record, or not one that can follow the earlier ones.
        """
        self.last = record["at"] if self.last is None else max(self.last, record["at"])
        match record["do"]:
            case "hold":
                self._apply_hold(record)
            case "grow":
                self._apply_grow(record)
            case "end":
                self._apply_end(record)
            case "cap" | "top_up" | "reset":
                self._apply_cap(record)
            case other:
                raise ValueError(f"there is no record {other!r}")

    def _apply_hold(self, record: Record) -> None:
        at, expires = record["at"], record["expires"]
        request = Request(
            record["id"], record["scope"], record["worst"], record["labels"], record["name"],
            max(1, int((expires - at).total_seconds())), record["free"],
        )  # fmt: skip
        if request.id in self.holds:
            raise ValueError(f"the hold {request.id} was begun before")
        windows = [(cap.key, cap.period.begun(at)) for cap in self._caps_of(request.scope, request.labels)]
        hold = Hold(request, at, expires, dict(request.amounts), windows)
        self.holds[request.id] = hold
        heapq.heappush(self._expiring, (expires, request.id))
        self._add(hold, held=hold.worst)

    def _apply_grow(self, record: Record) -> None:
        hold = self._hold(record["id"])
        self._add(hold, held=hold.worst, sign=-1)
        hold.worst = dict(record["worst"])
        self._add(hold, held=hold.worst)

    def _apply_end(self, record: Record) -> None:
        hold = self._hold(record["id"])
        if hold.state != "held":
            raise ValueError(f"the hold {hold.request.id} ends twice")
        hold.state, hold.spent = record["state"], dict(record["spent"])
        self._add(hold, held=hold.worst, sign=-1)
        for key, start in hold.windows:
            window, kind = self.windows[key, start], self.caps[key].resource
            spent = hold.spent.get(kind, 0)
            window.spent += spent
            window.debt += max(0, spent - (hold.worst.get(kind) or 0))

    def _add(self, hold: Hold, held: Mapping[str, int | None], sign: int = 1) -> None:
        for key, start in hold.windows:
            cap = self.caps[key]
            window = self.windows.setdefault((key, start), Window(cap.amount))
            more = sign * (held.get(cap.resource) or 0)
            window.held += more
            self._held[key] = self._held.get(key, 0) + more
            assert window.held >= 0, (key, start, window)

    def _apply_cap(self, record: Record) -> None:
        key = (record["account"], record["resource"], record["period"])
        at, amount = record["at"], record.get("amount", 0)
        period = Period.parse(key[2])
        start = period.begun(at)
        if record["do"] == "cap":
            new = key not in self.caps
            self.caps[key] = cap = Cap(key[0], key[1], amount, period)
            others = [one for one in self._by_account.get(cap.account, ()) if one.key != key]
            self._by_account[cap.account] = sorted((*others, cap), key=lambda one: one.key)
            for (other, begun), window in self.windows.items():
                if (
                    other == key
                    and not new
                    and period.unit != "rolling"
                    and (begun is None or start is None or begun >= start)
                ):
                    window.amount = amount
        else:
            window = self.windows.setdefault((key, start), Window(self.caps[key].amount))
            if record["do"] == "top_up":
                window.amount += amount
            else:
                window.forgiven, window.spent = window.forgiven + window.spent, 0
        what = " ".join((record["do"], *key, *([in_units(key[1], amount)] if amount else [])))
        self.notes.appendleft(Note(at, record["who"], record["why"], what))

    # --- reading ------------------------------------------------------------------------------

    def balances(self, at: datetime, caps: Iterator[Cap] | None = None) -> list[Balance]:
        """Caps in their present periods."""
        found = []
        for cap in sorted(self.caps.values(), key=lambda one: one.key) if caps is None else caps:
            windows = list(self._windows(cap, at))
            found.append(
                Balance(
                    cap,
                    cap.period.earliest(at),
                    self._amount(cap, cap.period.begun(at)),
                    sum(one.spent for one in windows),
                    self._holds_of(cap, at),
                    sum(one.debt for one in windows),
                )
            )
        return found

    def of(self, scope: str, labels: Labels, at: datetime) -> list[Balance]:
        """The caps that a call has to fit into."""
        return self.balances(at, self._caps_of(scope, labels))

    def check(self) -> list[str]:
        """What does not agree with the holds, a line each."""
        sums: dict[tuple[CapKey, datetime | None], tuple[int, int, int]] = {}
        for hold in self.holds.values():
            for key, start in hold.windows:
                kind = key[1]
                worst, spent = hold.worst.get(kind) or 0, hold.spent.get(kind, 0)
                held, done, debt = sums.get((key, start), (0, 0, 0))
                if hold.state == "held":
                    held += worst
                else:
                    done, debt = done + spent, debt + max(0, spent - worst)
                sums[key, start] = (held, done, debt)
        found = []
        for (key, start), window in self.windows.items():
            held, done, debt = sums.get((key, start), (0, 0, 0))
            here = (window.held, window.spent + window.forgiven, window.debt)
            if here != (held, done, debt):
                found.append(
                    f"{' '.join(key)} {start or ''}: held, spent and debt are {here}, the holds {held, done, debt}"
                )
        return found


def _of_cap(do: str, key: CapKey, who: str, why: str, at: datetime) -> Record:
    account, resource, period = key
    return {"do": do, "at": at, "account": account, "resource": resource, "period": period, "who": who, "why": why}


def _larger(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)


def _known(used: int | None, worst: int | None) -> int:
    """What is booked: an unknown amount at its worst case, which is 0 where that is unknown and nothing caps it."""
    return (worst or 0) if used is None else used
