"""The state of a store as a function of its records: every change is one, and applying them again gives the same state.

What may happen is decided here, and then applied: a store writes the record down between the two.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from tape.budget.accounts import Amounts, accounts_of, is_part
from tape.budget.balances import Cap
from tape.budget.contract import Ended, Held, HoldRequest, Note, Refused, State
from tape.budget.periods import Period
from tape.budget.resources import in_units
from tape.budget.rules import (
    PART_ENDED,
    LedgerError,
    Pause,
    Paused,
    Rule,
    UnknownHoldError,
    Wanted,
    Warned,
    no_more,
    of_part,
)
from tape.budget.stores.parts import HeldParts
from tape.budget.stores.windows import CapKey, Hold, Record

MOST_NOTES = 1000


class Books(HeldParts):
    """Caps, holds and their sums, rules and pauses."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: deque[Note] = deque(maxlen=MOST_NOTES)
        self.rules: dict[str, Rule] = {}
        self.pauses: dict[str, Pause] = {}
        self.last: datetime | None = None
        """When the latest record was made."""
        self._expiring: list[tuple[datetime, str]] = []

    # --- deciding -----------------------------------------------------------------------------

    def reserve(self, request: HoldRequest, at: datetime) -> Held | Refused | Paused | Record:
        """An answer where nothing is to be done, else what is to be written down.

        Raises:
            LedgerError: The id belongs to another hold.
        """
        assert self.last is None or at >= self.last, "time does not go back"
        if (known := self.holds.get(request.id)) is not None:
            if (known.request.scope, dict(known.request.labels)) != (request.scope, dict(request.labels)):
                raise LedgerError(f"the id {request.id} belongs to a hold of {known.request.scope}; make ids anew")
            return Held(request.id, known.state)
        accounts = self.accounts(request.scope, request.labels)
        if (ended := self.ended_part(request.scope)) is not None:
            return Paused(ended, True, "ledger", PART_ENDED)
        if pauses := [self.pauses[account] for account in accounts if account in self.pauses]:
            first = next((pause for pause in pauses if pause.stopped), pauses[0])
            return Paused(first.account, first.stopped, first.who, first.why)
        if request.part and self.of_account(request.part):
            raise LedgerError(f"the part {request.part} was given before; name another")
        for cap in self.of_call(request.scope, request.labels):
            if (refused := self.refusal(cap, request.amounts.get(cap.resource, 0), at)) is not None:
                return refused
            assert request.amounts.get(cap.resource, 0) is not None, "what is unknown is not held under a cap"
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
            "part": request.part,
        }

    def grow(self, id: str, amounts: Amounts, at: datetime) -> Held | Refused | Record:
        """As :meth:`reserve`, for an open hold that is to be larger.

        Raises:
            LedgerError: There is no such hold, or it has ended.
        """
        assert self.last is None or at >= self.last, "time does not go back"
        hold = self._hold(id)
        if hold.state != "held":
            raise LedgerError(f"the hold {id} has ended ({hold.state}); reserve anew")
        if (ended := self.ended_part(hold.request.scope)) is not None:
            raise LedgerError(no_more(id, ended))
        assert hold.begun <= at, "time does not go back"
        assert hold.expires > at, "what has expired has ended"
        worst = {kind: _larger(hold.worst.get(kind, 0), amounts.get(kind, 0)) for kind in {**hold.worst, **amounts}}
        assert worst.keys() >= hold.worst.keys(), (worst, hold)
        if worst == hold.worst:
            return Held(id)
        for key, _ in hold.windows:
            cap = self.caps[key]
            assert hold.worst.get(cap.resource, 0) is not None, "what is unknown is not held under a cap"
            more = (worst.get(cap.resource) or 0) - (hold.worst.get(cap.resource) or 0)
            assert more >= 0, "it only grows"
            rolling = cap.period.unit == "rolling"
            if more and (refused := self.refusal(cap, more, at if rolling else hold.begun)) is not None:
                return refused
        return {"do": "grow", "at": at, "id": id, "worst": worst}

    def end(self, id: str, state: State, amounts: Mapping[str, int | None], at: datetime) -> Ended | Record:
        """The answer where the hold has ended, else what is to be written down.

        Raises:
            LedgerError: There is no such hold.
        """
        assert state != "held", "it ends"
        assert self.last is None or at >= self.last, "time does not go back"
        hold = self._hold(id)
        if hold.state != "held" and not hold.expired:
            return Ended(id, hold.state, dict(hold.spent))
        assert hold.begun <= at, "time does not go back"
        assert hold.expired or not hold.spent, "what is open has spent nothing"
        assert state != "voided" or not amounts, "what was not made costs nothing"
        return self.ending(hold, state, amounts, at)

    def expired(self, now: datetime) -> Iterator[Record]:
        """What ends because its time is up."""
        assert self.last is None or now >= self.last, "time does not go back"
        while self._expiring and self._expiring[0][0] <= now:
            at, id = heapq.heappop(self._expiring)
            hold = self.holds[id]
            assert hold.expires == at, "no hold ends later than it said at first"
            if hold.state == "held":
                unknown = {} if hold.request.free or hold.request.part else dict.fromkeys(hold.worst)
                yield self.ending(hold, "voided" if hold.request.free else "booked", unknown, at)

    def cap(self, cap: Cap, who: str, why: str, at: datetime) -> Record:
        """What is to be written down for a cap.

        Raises:
            LedgerError: It is below what is spent and held, or another one of the unit is in another time zone.
        """
        assert self.last is None or at >= self.last, "time does not go back"
        for other in self.of_account(cap.account):
            clash = (other.resource, other.period.unit) == (cap.resource, cap.period.unit)
            if clash and cap.period.unit != "rolling" and other.period != cap.period:
                raise LedgerError(
                    f"{cap.account} has a cap on {cap.resource} per {other.period} already, and would have two "
                    f"beginnings of a {cap.period.unit} with {cap.period}; change that one"
                )
        if is_part(cap.account) and (cap.key not in self.caps or cap.amount > self.caps[cap.key].amount):
            raise LedgerError(of_part(cap.account))
        assert not is_part(cap.account) or cap.period.unit == "total", "what a part is given, it has for no period"
        taken = self.taken(cap, at)
        assert taken == 0 or cap.key in self.caps, "nothing is taken of a cap that is not there"
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
        assert self.last is None or at >= self.last, "time does not go back"
        self._require(cap.key, "topped up")
        return {**_of_cap("top_up", cap.key, who, why, at), "amount": cap.amount}

    def reset(self, key: CapKey, who: str, why: str, at: datetime) -> Record:
        """What is to be written down for a reset.

        Raises:
            LedgerError: There is no such cap, or it is a rolling one.
        """
        assert self.last is None or at >= self.last, "time does not go back"
        self._require(key, "reset")
        return _of_cap("reset", key, who, why, at)

    def resume(self, account: str, who: str, why: str, once: bool, at: datetime) -> list[Record]:
        """What is to be written down so that an account goes on; see :meth:`LedgerStore.resume`.

        Raises:
            LedgerError: It is not paused, or no cap can be topped up for it.
        """
        assert self.last is None or at >= self.last, "time does not go back"
        pause, records = self.pauses.get(account), list[Record]()
        if pause is None:
            raise LedgerError(f"{account} is not paused; there is: {', '.join(sorted(self.pauses)) or 'none'}")
        if once and pause.wanted is None:
            raise LedgerError(f"{account} was paused for another reason than a cap; resume it without --once")
        if once and pause.wanted is not None:
            key = pause.wanted[:3]
            self._require(key, "topped up")
            cap = self.caps[key]
            missing = self.taken(cap, at) + pause.wanted.amount - self.amount(cap, at)
            if missing > 0:
                records.append({**_of_cap("top_up", key, who, why, at), "amount": missing})
        return [*records, {"do": "resume", "at": at, "account": account, "who": who, "why": why}]

    def warnings(self, at: datetime, refused: Refused | None) -> Iterator[tuple[Record, Warned | None]]:
        """What is to be written down of levels that are reached, and what is to be told."""
        for rule in sorted(self.rules.values(), key=lambda item: item.account):
            for cap, window, level in list(self.reached(rule, at, refused)):
                assert cap.period.unit != "rolling", "a rolling cap has no levels"
                assert level > window.warned or (level == 0 and refused is not None), "it is warned once"
                taken = window.spent + window.held
                why = f"{level} % are taken" if level else "a call was refused"
                silent = level == 100 and window.refused  # it was told when it refused
                told = None if silent else Warned(*cap.key, level or 100, taken, window.amount, rule.webhook)
                assert level == 0 or taken * 100 >= level * window.amount, "what is warned of is reached"
                yield {**_of_cap("warn", cap.key, "ledger", why, at), "percent": level}, told

    def _require(self, key: CapKey, what: str) -> None:
        if key not in self.caps:
            known = ", ".join(" ".join(cap) for cap in self.caps) or "none"
            raise LedgerError(f"there is no cap {' '.join(key)}; there is: {known[:500]}")
        if self.caps[key].period.unit == "rolling":
            raise LedgerError(f"a rolling cap is not {what}: what was spent leaves it by itself; change the cap")
        if is_part(key[0]):
            raise LedgerError(of_part(key[0]))

    def _hold(self, id: str) -> Hold:
        if id not in self.holds:
            raise UnknownHoldError(f"there is no hold {id}")
        return self.holds[id]

    # --- applying -----------------------------------------------------------------------------

    def apply(self, record: Record) -> None:
        """Do what was written down.

        Raises:
            KeyError, ValueError: It is no record, or not one that can follow the earlier ones.
        """
        if record["at"].tzinfo is None:
            raise ValueError(f"the moment {record['at']} has no time zone")
        self.last = record["at"] if self.last is None else max(self.last, record["at"])
        match record["do"]:
            case "hold":
                self._apply_hold(record)
            case "grow":
                self._apply_grow(record)
            case "end":
                self._apply_end(record)
            case "cap" | "top_up" | "reset" | "warn":
                self._apply_cap(record)
            case "rule" | "pause" | "resume":
                self._apply_rule(record)
            case other:
                raise ValueError(f"there is no record {other!r}")

    def _apply_hold(self, record: Record) -> None:
        at, expires = record["at"], record["expires"]
        request = HoldRequest(
            record["id"], record["scope"], record["worst"], record["labels"], record["name"],
            max(1, int((expires - at).total_seconds())), record["free"], record.get("part", ""),
        )  # fmt: skip
        if request.id in self.holds:
            raise ValueError(f"the hold {request.id} was begun before")
        if expires < at:
            raise ValueError(f"the hold {request.id} ends before it begins")
        caps = self.of_call(request.scope, request.labels)
        windows = [(cap.key, cap.period.begun(at)) for cap in caps]
        hold = Hold(request, at, expires, request.amounts, windows)
        self.holds[request.id] = hold
        heapq.heappush(self._expiring, (expires, request.id))
        assert self._expiring[0][0] <= expires, "what expires first is found first"
        self.set_aside(hold)
        if request.part:
            self.parts[request.part] = hold
        for kind, amount in request.amounts.items() if request.part else ():
            assert amount is not None, "a part is of known amounts"
            assert request.part not in accounts_of(request.scope, request.labels), "it is below what it is held in"
            self.set_cap(Cap(request.part, kind, amount), at, None)

    def _apply_grow(self, record: Record) -> None:
        hold = self._hold(record["id"])
        if hold.state != "held":
            raise ValueError(f"the hold {hold.request.id} grows after its end")
        if not all((record["worst"][kind] or 0) >= (n or 0) for kind, n in hold.worst.items()):
            raise ValueError(f"the hold {hold.request.id} shrinks")
        assert not hold.spent, "what is open has spent nothing"
        self.set_aside(hold, -1)
        hold.worst = dict(record["worst"])
        self.set_aside(hold)

    def _apply_end(self, record: Record) -> None:
        hold, is_late = self._hold(record["id"]), False
        if hold.state != "held":
            is_late = hold.expired
            if not is_late:
                raise ValueError(f"the hold {hold.request.id} ends twice")
        if record["state"] == "held":
            raise ValueError(f"the hold {hold.request.id} ends held")
        if min(record["spent"].values(), default=0) < 0:
            raise ValueError(f"the hold {hold.request.id} ends with less than nothing spent")
        assert is_late or not hold.spent, "what is open has spent nothing"
        hold.state = record["state"]
        if is_late:
            self.book(hold, record["spent"], record["at"])
        else:
            hold.spent = record["spent"]
            self.end_hold(hold)
        end = "voided" if hold.request.free else "booked"
        hold.expired = not is_late and (record["at"], record["state"]) == (hold.expires, end)
        self._apply_above(record)
        assert not hold.expired or not is_late, "an end of its caller's is the last one"

    def _apply_above(self, record: Record) -> None:
        for id, more in record.get("above", {}).items():
            hold = self._hold(id)
            if hold.state == "held" or not hold.request.part:
                raise ValueError(f"the hold {id} is of no part that has ended")
            assert min(more.values()) > 0, "more is more"
            hold.state = "settled" if hold.state == "voided" else hold.state  # it has cost something after all
            assert {*more} <= {*hold.worst}, "a part takes what it was given"
            self.book(hold, {kind: hold.spent.get(kind, 0) + more.get(kind, 0) for kind in {**hold.spent, **more}},
                      record["at"])  # fmt: skip

    def _apply_cap(self, record: Record) -> None:
        key = (record["account"], record["resource"], record["period"])
        at, amount, rule = record["at"], record.get("amount", 0), self.rules.get(key[0])
        if record["do"] == "cap":
            self.set_cap(Cap(*key[:2], amount, Period.parse(key[2])), at, rule)
        elif record["do"] == "warn":
            window = self.windows[key, self.caps[key].period.begun(at)]
            window.warned, window.refused = record["percent"] or window.warned, window.refused or not record["percent"]
        elif self.caps[key].period.unit == "rolling" or amount < 0:
            raise ValueError(f"no {record['do']} of {amount} can follow for the cap {' '.join(key)}")
        else:
            self.change(key, at, rule, more=amount if record["do"] == "top_up" else None)
        what = " ".join((record["do"], *key, *([in_units(key[1], amount)] if amount else [])))
        self.notes.appendleft(Note(at, record["who"], record["why"], what))

    def _apply_rule(self, record: Record) -> None:
        do, account, at = record["do"], record["account"], record["at"]
        if do == "rule":
            mapping = record
            self.rules[account] = Rule(
                account,
                mapping["at_limit"],
                mapping["seconds"],
                tuple(mapping["warn"]),
                mapping["webhook"],
                mapping["same"],
                mapping["tools"],
            )
        elif do == "pause":
            wanted = Wanted(*record["wanted"]) if record["wanted"] else None
            self.pauses[account] = Pause(account, record["stopped"], at, record["who"], record["why"], wanted)
        else:
            del self.pauses[account]
        self.notes.appendleft(Note(at, record["who"], record["why"], f"{do} {account}"))


def _of_cap(do: str, key: CapKey, who: str, why: str, at: datetime) -> Record:
    account, resource, period = key
    return {"do": do, "at": at, "account": account, "resource": resource, "period": period, "who": who, "why": why}


def _larger(index: int | None, other: int | None) -> int | None:
    return None if index is None or other is None else max(index, other)
