"""The books of a gateway: those of its store under the caps of its configuration, and what else it reads of the calls.

Each gateway on a file has caps of its own. They are in its books before the first record is read, and in none of the
records. So a cap counts all calls of the file, whoever made them, also where no configuration had it at that time.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import NamedTuple

from tape.budget import Budget, Cap, Limit, Paused, Refused, Resources
from tape.budget.accounts import accounts_of, named
from tape.budget.resources import exceeded, in_units
from tape.budget.stores.claims import ClaimBooks
from tape.budget.stores.windows import Hold, Record
from tape.errors import TapeError, UnknownCostError
from tape.guard.left import ScopeReading

RUN = "gateway"
"""The scope of all calls; a client is a scope within it, and a session one within that of its client."""
CHECKPOINT = "checkpoint"
"""The name of a hold of nothing, whose id is the digest of a handle."""
NOTE = "note: "
"""How the name of a hold of nothing begins that says what a person has decided."""

_NAMES = ("run", "client", "session")
_BEGIN = datetime(1970, 1, 1, tzinfo=UTC)


class Day(NamedTuple):
    """What became of the calls that ended on a day and were made.

    Attributes:
        calls: How many.
        spent: What is booked for them.
    """

    calls: int = 0
    spent: Resources = Resources()


class GatewayCaps(NamedTuple):
    """The caps of a configuration.

    Attributes:
        run: Of all calls.
        clients: Of each client, by its scope.
        session: Of each session.
    """

    run: Budget
    clients: Mapping[str, Budget]
    session: Budget

    def of(self, account: str) -> Budget:
        """The caps of an account."""
        root, *below = account.split("/")
        if root != RUN or len(below) >= len(_NAMES):
            return Budget()
        return (self.run, self.clients.get(account, Budget()), self.session)[len(below)]


class GatewayBooks(ClaimBooks):
    """The books.

    Args:
        caps: Of this gateway.

    Attributes:
        spent: By account, what was spent of each resource, capped or not; None for an unknown amount.
        held: The same of what is open.
        open: The calls that have not ended, by id.
        handles: The scope of each checkpoint, by the digest of its handle.
        days: What was spent on each day, in UTC.
    """

    def __init__(self, caps: GatewayCaps) -> None:
        super().__init__()
        self._given = caps
        self.spent: defaultdict[str, dict[str, int | None]] = defaultdict(dict)
        self.held: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self.open: dict[str, Hold] = {}
        self.handles: dict[str, str] = {}
        self.days: dict[date, Day] = {}

    # --- reading ------------------------------------------------------------------------------

    def of_account(self, account: str) -> list[Cap]:
        """See :class:`Books`; the caps of the configuration are made where they are first asked for."""
        if account not in self._by_account:
            self._by_account[account] = []
            for kind, count in self._given.of(account).items():
                self.set_cap(Cap(account, kind, count), _BEGIN, None)
        return self._by_account[account]

    def reading(self, scope: str, *, own: bool = False) -> ScopeReading:
        """What can be read of a scope; of its ``own`` caps alone, or of those above it too."""
        caps = self.of_account(scope) if own else self.of_call(scope, {})
        limits = [
            Limit(name_of(balance.cap.account), balance.cap.resource, balance.amount, balance.spent, balance.held)
            for balance in self.balances(datetime.now(UTC), caps)
        ]
        return ScopeReading(scope, tuple(limits), Resources(self.spent.get(scope)), Resources(self.held.get(scope)))

    def fullest(self, depth: int, most: int) -> list[str]:
        """The scopes of a depth that have taken most of a cap; where there are none, most steps."""

        def taken(scope: str) -> tuple[float, int]:
            spent, caps = self.spent.get(scope, {}), self._given.of(scope)
            share = max(((spent.get(kind) or 0) / max(1, cap) for kind, cap in caps.items()), default=0.0)
            return share, spent.get("steps") or 0

        return heapq.nlargest(most, [scope for scope in self.held if scope.count("/") == depth], key=taken)

    # --- applying -----------------------------------------------------------------------------

    def _apply_hold(self, record: Record) -> None:
        for cap in self.of_call(record["scope"], {}):
            if record["worst"].get(cap.resource, 0) is None:
                raise UnknownCostError(
                    f"how much {cap.resource} a call takes is unknown, so the cap on {cap.resource} of the "
                    f"{name_of(cap.account)} cannot be kept; lift it"
                )
        super()._apply_hold(record)
        if not is_note(record["name"], record["worst"]):
            self.open[record["id"]] = self.holds[record["id"]]
        elif record["name"] == CHECKPOINT:
            self.handles[record["id"]] = record["scope"]

    def set_aside(self, hold: Hold, sign: int = 1) -> None:
        """See :class:`Books`."""
        super().set_aside(hold, sign)
        for account in accounts_of(hold.request.scope, {}):
            held = self.held[account]
            for kind, count in hold.worst.items():
                held[kind] = held.get(kind, 0) + sign * (count or 0)

    def end_hold(self, hold: Hold) -> None:
        """See :class:`Books`."""
        super().end_hold(hold)
        self._take(hold, hold.spent)
        if self.open.pop(hold.request.id, None) is not None and hold.state != "voided":
            assert self.last is not None, "it has ended"
            day = self.last.astimezone(UTC).date()
            calls, spent = self.days.get(day, Day())
            self.days[day] = Day(calls + 1, spent + Resources(hold.spent))

    def book(self, hold: Hold, spent: Mapping[str, int], at: datetime) -> None:
        """See :class:`Books`."""
        self._take(hold, {kind: spent.get(kind, 0) - hold.spent.get(kind, 0) for kind in {**spent, **hold.spent}})
        super().book(hold, spent, at)

    def _take(self, hold: Hold, amounts: Mapping[str, int]) -> None:
        for account in accounts_of(hold.request.scope, {}):
            spent = self.spent[account]
            for kind, count in amounts.items():
                before, unknown = spent.get(kind, 0), not count and hold.worst.get(kind, 0) is None
                spent[kind] = None if before is None or unknown else before + count


def name_of(account: str) -> str:
    """What clients call an account: run, client, session, or another one by its scope."""
    depth = account.count("/")
    known = account.partition("/")[0] == RUN and depth < len(_NAMES)
    return _NAMES[depth] if known else account


def scope_of(client: str) -> str:
    """The scope of a client."""
    return f"{RUN}/{named(client)}"


def is_note(name: str, worst: Mapping[str, int | None]) -> bool:
    """Whether a hold is no call: it holds nothing, and its name says what it is for."""
    return not worst and (name == CHECKPOINT or name.startswith(NOTE))


def refusal_of(refused: Refused | Paused, worst: Resources) -> TapeError:
    """A refusal as the gateway raises it: a BudgetExceededError, a PausedError or an UnknownCostError."""
    if isinstance(refused, Paused):
        return refused.error()
    name, kind, cap, wanted = name_of(refused.account), refused.resource, refused.amount, worst[refused.resource]
    if refused.cap_needed is None or wanted is None:
        return UnknownCostError(
            f"the worst case of {kind} is unknown under the hard cap of {in_units(kind, cap)} of the {name} ledger; "
            f"declare it or lift the cap on {kind}"
        )
    return exceeded(kind, cap, refused.cap_needed - wanted, wanted, name)


def digest(handle: str) -> str:
    """What stands for a handle in the store."""
    return hashlib.sha256(handle.encode()).hexdigest()
