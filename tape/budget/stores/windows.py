"""Caps in their periods, and the sums over the holds that count in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tape.budget.balances import Balance, Cap
from tape.budget.contract import HoldRecord, HoldRequest, Refused, State
from tape.budget.rules import Rule

CapKey = tuple[str, str, str]
Record = dict[str, Any]
"""What is written down: ``do`` says what it is, ``at`` when."""


@dataclass
class Window:
    """A cap in one of its periods, in counts.

    Attributes:
        amount: The cap, with what was added.
        spent: What has ended.
        held: What is open.
        debt: By how much settlements were above their worst case.
        forgiven: What resets have taken off ``spent``.
        reset: When the latest of them was.
        warned: The highest level at which was warned, in percent.
        refused: Was warned of a call that was refused.
    """

    amount: int
    spent: int = 0
    held: int = 0
    debt: int = 0
    forgiven: int = 0
    reset: datetime | None = None
    warned: int = 0
    refused: bool = False

    def level(self, rule: Rule) -> int:
        """The highest level of a rule that is reached."""
        taken = (self.spent + self.held) * 100
        return max((index for index in rule.warn if taken >= index * self.amount), default=0)


@dataclass(slots=True)
class Hold:
    """A hold, and the windows that it counts in.

    Attributes:
        owed: What of each cap's debt is of this hold.
        expired: It has ended since its time was up, which its caller's end replaces once.
    """

    request: HoldRequest
    begun: datetime
    expires: datetime
    worst: Mapping[str, int | None]
    windows: list[tuple[CapKey, datetime | None]]
    state: State = "held"
    spent: Mapping[str, int] = field(default_factory=dict)
    owed: dict[CapKey, int] = field(default_factory=dict)
    expired: bool = False

    def __post_init__(self) -> None:
        assert self.worst.keys() == self.request.amounts.keys(), self
        assert all(start is None or start <= self.begun for _, start in self.windows), "it belongs to its beginning"

    def record(self) -> HoldRecord:
        """For people."""
        request = self.request
        return HoldRecord(
            request.id, request.scope, request.labels, request.name, dict(self.worst), dict(self.spent), self.state,
            self.begun, self.expires,
        )  # fmt: skip


class Windows:
    """All caps and their windows."""

    def __init__(self) -> None:
        self.caps: dict[CapKey, Cap] = {}
        self.windows: dict[tuple[CapKey, datetime | None], Window] = {}
        self._by_account: dict[str, list[Cap]] = {}
        self._held: dict[CapKey, int] = {}
        """What is held of each cap, of all times."""

    # --- reading ------------------------------------------------------------------------------

    def of_account(self, account: str) -> Iterable[Cap]:
        """Its caps."""
        return self._by_account.get(account, ())

    def refusal(self, cap: Cap, wanted: int | None, at: datetime) -> Refused | None:
        """Why an amount does not fit; None where it does."""
        amount, taken = self.amount(cap, at), self.taken(cap, at)
        assert amount >= 0, (cap, amount)
        assert taken >= 0, (cap, taken)
        assert wanted is None or wanted >= 0, (cap, wanted)
        if wanted is not None and (wanted == 0 or taken + wanted <= amount):
            return None
        needed = None if wanted is None else taken + wanted
        return Refused(cap.account, cap.resource, str(cap.period), amount, max(0, amount - taken), needed)

    def amount(self, cap: Cap, at: datetime) -> int:
        """A cap with what was added for its period."""
        window = None if cap.period.unit == "rolling" else self.windows.get((cap.key, cap.period.begun(at)))
        assert window is None or cap.key in self.caps, "only a cap that is there has windows"
        amount = self.caps.get(cap.key, cap).amount if window is None else window.amount
        assert amount >= 0, (cap, amount)
        return amount

    def taken(self, cap: Cap, at: datetime) -> int:
        """Spent and held."""
        spent, held = sum(window.spent for window in self._now(cap, at)), self._holds_of(cap, at)
        assert spent >= 0, (cap, spent)
        assert held >= 0, (cap, held)
        return spent + held

    def _holds_of(self, cap: Cap, at: datetime) -> int:
        """What is held; of a rolling cap also what began before, since it may still be paid."""
        everything = self._held.get(cap.key, 0)
        assert everything >= 0, (cap, everything)
        if cap.period.unit == "rolling":
            return everything
        now = sum(window.held for window in self._now(cap, at))
        assert now <= everything, (cap, now, everything)
        assert now == everything or cap.period.unit != "total", "there is one window of what has no beginning"
        return now

    def _now(self, cap: Cap, at: datetime) -> Iterator[Window]:
        """The windows that count at a moment."""
        start = cap.period.begun(at)
        if cap.period.unit != "rolling":
            window = self.windows.get((cap.key, start))
            yield from () if window is None else (window,)
            return
        earliest = cap.period.earliest(at)
        assert start is not None
        assert earliest is not None
        while earliest <= start:
            if (window := self.windows.get((cap.key, earliest))) is not None:
                yield window
            earliest += timedelta(seconds=cap.period.bucket)

    def balances(self, at: datetime, caps: Iterable[Cap]) -> list[Balance]:
        """Caps in their present periods."""
        balances = []
        for cap in caps:
            windows = list(self._now(cap, at))
            spent, debt = sum(window.spent for window in windows), sum(window.debt for window in windows)
            amount, held = self.amount(cap, at), self._holds_of(cap, at)
            assert spent >= 0, cap
            assert held >= 0, cap
            assert debt <= spent + sum(window.forgiven for window in windows), "a debt was spent"
            begun = cap.period.earliest(at)
            balances.append(Balance(cap, begun, amount, spent, held, debt))
        return balances

    # --- changing -----------------------------------------------------------------------------

    def set_aside(self, hold: Hold, sign: int = 1) -> None:
        """Add the worst case of a hold to its windows, or take it off."""
        assert sign == -1 or hold.state == "held", "nothing is set aside for what has ended"
        for key, start in hold.windows:
            cap = self.caps[key]
            assert sign == 1 or (key, start) in self.windows, "what is taken off was set aside"
            window = self.windows.setdefault((key, start), Window(cap.amount))
            more = sign * (hold.worst.get(cap.resource) or 0)
            window.held += more
            self._held[key] = self._held.get(key, 0) + more
            assert window.held >= 0, (key, start, window)
            assert window.spent >= 0, (key, start, window)
            assert self._held[key] >= window.held, (key, start, window)

    def end_hold(self, hold: Hold) -> None:
        """Turn what a hold had set aside into what it has spent."""
        assert hold.state != "held", hold
        assert all(count >= 0 for count in hold.spent.values()), hold
        self.set_aside(hold, -1)
        for key, start in hold.windows:
            window, kind = self.windows[key, start], self.caps[key].resource
            spent = hold.spent.get(kind, 0)
            window.spent += spent
            if (debt := spent - (hold.worst.get(kind) or 0)) > 0:
                hold.owed[key] = debt
                window.debt += debt
            assert window.spent >= spent, (key, start, window)
            assert window.forgiven >= 0, (key, start, window)
            assert window.debt >= 0, (key, start, window)
            assert window.debt <= window.spent + window.forgiven, "a debt was spent"

    def book(self, hold: Hold, spent: Mapping[str, int], at: datetime) -> None:
        """Change what an ended hold has spent, in its own periods: where a cap has no room for more, that is debt."""
        assert hold.state != "held", hold
        for key, start in hold.windows:
            cap, window, owed = self.caps[key], self.windows[key, start], hold.owed.get(key, 0)
            rolling = cap.period.unit == "rolling"
            more, debt = spent.get(cap.resource, 0) - hold.spent.get(cap.resource, 0), 0
            if more > 0:
                taken = self.taken(cap, at) if rolling else window.spent + window.held
                debt = max(0, more - max(0, (cap.amount if rolling else window.amount) - taken))
            if more < 0:
                debt = max(more, -owed)
            if more < 0 and window.reset is not None and hold.expires <= window.reset:
                window.forgiven += more  # it was forgiven with the rest
            else:
                window.spent += more
            window.debt += debt
            if debt:
                hold.owed[key] = owed + debt
            assert window.spent >= 0, (key, start, window)
            assert window.forgiven >= 0, (key, start, window)
            assert 0 <= window.debt <= window.spent + window.forgiven, "a debt was spent"
        hold.spent = spent

    def set_cap(self, cap: Cap, at: datetime, rule: Rule | None) -> None:
        """Make or change a cap, for its present period and all later ones."""
        new, start = cap.key not in self.caps, cap.period.begun(at)
        self.caps[cap.key] = cap
        others = [item for item in self.of_account(cap.account) if item.key != cap.key]
        self._by_account[cap.account] = sorted((*others, cap), key=lambda item: item.key)
        if new or cap.period.unit == "rolling":
            return
        for (key, begun), window in self.windows.items():
            if key != cap.key:
                continue
            if begun is None or start is None or begun >= start:
                window.amount = cap.amount
            rearm(window, rule)

    def change(self, key: CapKey, at: datetime, rule: Rule | None, *, more: int | None) -> None:
        """Add to a cap in its present period, or forgive what was spent in it."""
        cap = self.caps[key]
        assert cap.period.unit != "rolling", cap
        assert more is None or more >= 0, (cap, more)
        window = self.windows.setdefault((key, cap.period.begun(at)), Window(cap.amount))
        if more is None:
            window.forgiven, window.spent, window.reset = window.forgiven + window.spent, 0, at
        else:
            window.amount += more
        assert window.amount >= (more or 0), (cap, window)
        assert window.spent >= 0, (cap, window)
        assert window.debt <= window.spent + window.forgiven, "a debt was spent"
        rearm(window, rule)

    def reached(self, rule: Rule, at: datetime, refused: Refused | None) -> Iterator[tuple[Cap, Window, int]]:
        """The caps of a rule's account that go above a level for the first time; 0 for one that refused a call."""
        for cap in self.of_account(rule.account) if rule.warn else ():
            window = self.windows.get((cap.key, cap.period.begun(at)))
            hit = refused is not None and (refused.account, refused.resource, refused.period) == cap.key
            if window is None or cap.period.unit == "rolling":
                continue
            if (level := window.level(rule)) > window.warned:
                yield cap, window, level
            elif hit and 100 in rule.warn and window.warned < 100 and not window.refused:
                yield cap, window, 0


def rearm(window: Window, rule: Rule | None) -> None:
    """After a cap was raised, or its use forgiven, it may be warned again."""
    if rule is not None:
        window.warned, window.refused = min(window.warned, window.level(rule)), False
