"""Parts of a budget: what calls within them count in, what their holds have taken, and what both lack of each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from tape.budget.accounts import PART, Labels, accounts_of, is_part
from tape.budget.balances import Cap
from tape.budget.contract import State
from tape.budget.stores.windows import CapKey, Hold, Record, Window, Windows


class HeldParts(Windows):
    """The caps and their windows, and the holds that give parts."""

    def __init__(self) -> None:
        super().__init__()
        self.holds: dict[str, Hold] = {}
        self.parts: dict[str, Hold] = {}
        """Of each part the hold that gives it, open as long as the part is."""

    # --- reading ------------------------------------------------------------------------------

    def within(self, scope: str) -> list[str]:
        """The parts that a scope is within, the innermost first."""
        return [account for account in accounts_of(scope, {}) if account in self.parts] if PART in scope else []

    def accounts(self, scope: str, labels: Labels) -> list[str]:
        """The accounts of a call: those that it names, and of the labels of the parts that it is within."""
        named, parts = accounts_of(scope, labels), self.within(scope)
        if not parts:
            return named
        pairs = {*labels.items()}.union(*(self.parts[part].request.labels.items() for part in parts))
        return [f"{named[-1]}#{name}={value}" for name, value in sorted(pairs)] + named[len(labels) :]

    def of_call(self, scope: str, labels: Labels) -> Iterator[Cap]:
        """The caps that a call has to fit into, in the order in which they are asked.

        What a part has a cap on is held as a whole in the accounts of its hold, so those are not asked for it.

        Args:
            scope: Of the call.
            labels: Of the call.
        """
        held: dict[str, list[str]] = {}
        for part in reversed(self.within(scope)):
            above = self.parts[part].request
            accounts = self.accounts(above.scope, above.labels)
            held.update((cap.resource, accounts) for cap in self.of_account(part))
        assert not held or is_part(self.within(scope)[0]), "parts alone have what is held elsewhere"
        for account in self.accounts(scope, labels):
            for cap in self.of_account(account):
                if account not in held.get(cap.resource, ()):
                    yield cap

    def amount(self, cap: Cap, at: datetime) -> int:
        """A cap with what was added for its period; of a part that has ended nothing is left."""
        amount, hold = super().amount(cap, at), self.parts.get(cap.account)
        assert hold is None or cap.key not in self.caps or cap.period.unit == "total", "a part is given for no period"
        return amount if hold is None or hold.state == "held" else min(amount, self.taken(cap, at))

    def ended_part(self, scope: str) -> str | None:
        """The innermost part that a scope is within and that has ended."""
        all_ended = (part for part in self.within(scope) if self.parts[part].state != "held")
        return next(all_ended, None)

    def wrong(self, holds: Iterable[Hold]) -> Iterator[str]:
        """What does not agree with the holds, a line each."""
        sums: dict[tuple[CapKey, datetime | None], tuple[int, int, int]] = {}
        for hold in holds:
            accounts = self.accounts(hold.request.scope, hold.request.labels)
            assert all(key[0] in accounts for key, _ in hold.windows), "a hold counts in its own accounts alone"
            for key, start in hold.windows:
                worst, spent = hold.worst.get(key[1]) or 0, hold.spent.get(key[1], 0)
                held, done, debt = sums.get((key, start), (0, 0, 0))
                if hold.state == "held":
                    held += worst
                else:
                    done, debt = done + spent, debt + hold.owed.get(key, 0)
                assert key in self.caps, (key, hold)
                assert held >= 0, hold
                assert debt >= 0, hold
                assert debt <= done, "a debt was spent"
                sums[key, start] = (held, done, debt)
        assert sums.keys() <= self.windows.keys(), "what a hold counts in is there"
        for (key, start), window in self.windows.items():
            held, done, debt = sums.get((key, start), (0, 0, 0))
            here = (window.held, window.spent + window.forgiven, window.debt)
            if here != (held, done, debt):
                yield f"{' '.join(key)} {start or ''}: held, spent and debt are {here}, the holds {held, done, debt}"

    def lacking(self) -> list[tuple[Hold, str, int]]:
        """What parts have, or have taken at their ends, and the hold above has not."""
        lacking = []
        for part, hold in self.parts.items():
            for cap in self.of_account(part):
                window, kind = self.windows.get((cap.key, None), Window(cap.amount)), cap.resource
                of_part, above = window.spent + window.held, hold.spent.get(kind, 0)
                if hold.state == "held":
                    of_part, above = cap.amount, hold.worst.get(kind) or 0
                if of_part > above:
                    lacking.append((hold, kind, of_part - above))
        assert all(amount > 0 for *_, amount in lacking), lacking
        return lacking

    def ended_above(self, hold: Hold, kind: str) -> Hold | None:
        """The hold of the part in which a hold counts with a resource, where it has ended already."""
        parts = [account for (account, resource, _), _ in hold.windows if resource == kind and is_part(account)]
        assert len(parts) <= 1, "above the innermost part a resource is held as a whole"
        above = self.parts.get(parts[0]) if parts else None
        assert above is None or above is not hold, "no part is within itself"
        return above if above is not None and above.state != "held" else None

    # --- ends ---------------------------------------------------------------------------------

    def ending(self, hold: Hold, state: State, amounts: Mapping[str, int | None], at: datetime) -> Record:
        """The record of an end. A part has taken at least what is spent and held in it; nothing of that is lost."""
        spent = {kind: _known(amounts[kind], hold.worst.get(kind)) for kind in amounts}
        for cap in self.of_account(hold.request.part) if hold.request.part else ():
            spent[cap.resource] = max(spent.get(cap.resource, 0), self.taken(cap, at))
        if state == "voided":  # of a part, calls were made all the same
            state, spent = ("settled", spent) if any(spent.values()) else (state, {})
        before = hold.worst if hold.state == "held" else hold.spent
        more = {kind: count - (before.get(kind) or 0) for kind, count in spent.items()}
        above = self.above((hold, kind, count) for kind, count in more.items() if count > 0)
        record = {"do": "end", "at": at, "id": hold.request.id, "state": state, "spent": spent}
        assert hold.request.id not in above, "what is above is another hold"
        assert state != "voided" or not spent, "what was not made costs nothing"
        assert min(spent.values(), default=0) >= 0, (hold, spent)
        return {**record, "above": above} if above else record

    def above(self, more: Iterable[tuple[Hold, str, int]]) -> dict[str, dict[str, int]]:
        """What the holds of ended parts take besides, by id, since holds within have taken more."""
        above: dict[str, dict[str, int]] = {}
        for hold, kind, count in more:
            paying = self.ended_above(hold, kind)
            while paying is not None:
                assert paying.state != "held", "what is open is counted at its end"
                of_hold = above.setdefault(paying.request.id, {})
                of_hold[kind] = of_hold.get(kind, 0) + count
                paying = self.ended_above(paying, kind)
        return above


def _known(used: int | None, worst: int | None) -> int:
    """What is booked: an unknown amount at its worst case, which is 0 where that is unknown and nothing caps it."""
    index = (worst or 0) if used is None else used
    assert index >= 0, (used, worst)
    return index
