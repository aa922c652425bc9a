"""A scope of a store as what a ledger asks before it reserves: budgets of programs and agents are parts of it."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from tape.budget.amounts import Payer
from tape.budget.caps import Budget
from tape.budget.locks import CLIENT
from tape.budget.resources import Resources, in_units
from tape.errors import ConfigError, UnknownCostError
from tape.ledger.accounts import MOST, PART, Labels, accounts_of
from tape.ledger.contract import Cap, LedgerStore, Refused, Request
from tape.ledger.rules import LedgerError, Paused, Rule, UnreachableLedgerError

PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds between two tries of a call that waits: at first, and at last."""
RULES_SECONDS = 30.0
"""After so many a payer reads the rules anew."""

logger = logging.getLogger("tape.ledger")

_called: ContextVar[tuple[str, str]] = ContextVar("_called", default=("", ""))


@contextmanager
def calling(name: str, arguments: str = "") -> Iterator[None]:
    """Say what the block pays for: the name of a tool or a model, and what tells two of its calls apart."""
    token = _called.set((name[:1000], arguments))
    try:
        yield
    finally:
        _called.reset(token)


@dataclass(frozen=True)
class StoreHold:
    """What a payer has set aside: the id of the hold."""

    id: str


class StorePayer(Payer):
    """Pays from a store: ``Ledger(budget, payer=StorePayer(store, "org/team/agent"))``.

    What it does where a call does not fit, or is paused, is the :class:`~tape.ledger.Rule` of the scope.

    Args:
        store: The store; several payers may share it.
        scope: Who pays.
        labels: What else it is for.
        name: What is called, for people, where :func:`calling` does not say it.
        seconds: After how long an unanswered hold ends.
        free: An unanswered call costs nothing.
        wait: For how many seconds a call that does not fit waits for others to end, where no rule says it.

    Raises:
        ConfigError: The scope or a label is malformed.
    """

    rank = CLIENT  # it takes no lock of the order: the store has its own

    def __init__(
        self,
        store: LedgerStore,
        scope: str,
        labels: Labels | None = None,
        *,
        name: str = "",
        seconds: int = 3600,
        free: bool = False,
        wait: float = 0.0,
    ) -> None:
        accounts_of(scope, labels or {})
        self.store, self.scope, self.labels = store, scope, dict(labels or {})
        self._name, self._seconds, self._free, self._wait = name, seconds, free, wait
        self._due: deque[tuple[str, dict[str, int | None] | None]] = deque()
        """Ends of holds that the store has not taken yet: amounts, or None for a call that was not made."""
        self._rule: tuple[float, Rule | None] | None = None
        self._breaker = _Breaker()
        self._closed = threading.Event()

    def close(self) -> None:
        """Let no call wait any more; the store stays open."""
        self._closed.set()

    def reserve(self, worst_case: Resources) -> StoreHold:
        """Hold the worst case.

        Raises:
            BudgetExceededError: It does not fit into a cap of the scope or of a label, or one of them is paused.
            UnknownCostError: It is unknown in what is capped.
            LedgerError: The store cannot be reached; nothing may be spent then.
        """
        self._end_due()
        name, arguments = _called.get()
        rule = self._rule_now()
        if rule is not None and (why := self._breaker.trips(rule, name, arguments)):
            self.store.pause(self.scope, "breaker", why)
        amounts: Mapping[str, int | None] = {kind: worst_case[kind] for kind in worst_case}
        id, name = uuid.uuid4().hex, name or self._name
        request = Request(id, self.scope, amounts, self.labels, name, self._seconds, self._free)
        begun, pause = time.monotonic(), PAUSE
        while True:
            try:
                found = self.store.reserve(request)
            except UnreachableLedgerError:  # it may be held all the same
                self._due.append((request.id, None))
                raise
            if isinstance(found, Refused) and found.cap_needed is None:
                raise UnknownCostError(
                    f"the worst case of {found.resource} is unknown under the cap of {found.account}; declare it, or "
                    f"lift the cap on {found.resource}"
                )
            if not isinstance(found, Refused | Paused):
                return StoreHold(found.id)
            if not self._waits(found, worst_case, time.monotonic() - begun):
                raise found.error() if isinstance(found, Paused) else found.error(worst_case[found.resource] or 0)
            if self._closed.wait(pause):
                raise LedgerError(f"the payer of {self.scope} was closed while a call was waiting")
            pause = min(2 * pause, LONGEST_PAUSE)

    def _waits(self, found: Refused | Paused, worst_case: Resources, waited: float) -> bool:
        """Whether to try again: there is time, and something or somebody that can make room."""
        rule = self._rule_now()
        seconds = rule.seconds if rule is not None and rule.seconds else self._wait
        if isinstance(found, Paused):
            return not found.stopped and waited < seconds
        if rule is not None and rule.at_limit == "ask":
            wanted = worst_case[found.resource] or 0
            why = f"{in_units(found.resource, wanted)} do not fit into what {found.account} has left"
            self.store.pause(self.scope, "ledger", why, wanted=found.wanted(wanted))
            return True  # the next try finds the pause, or what a person has done meanwhile
        never = (worst_case[found.resource] or 0) > found.amount
        if never or waited >= seconds or (rule is not None and rule.at_limit == "refuse" and not self._wait):
            return False
        balances = self.store.read(self.scope, self.labels)
        return any(one.held and one.cap.account == found.account for one in balances)

    def _rule_now(self) -> Rule | None:
        """The first rule on the way from the scope to its root."""
        if self._rule is None or time.monotonic() - self._rule[0] > RULES_SECONDS:
            rules = {one.account: one for one in self.store.rules()}
            path = (rules[account] for account in accounts_of(self.scope, {}) if account in rules)
            self._rule = time.monotonic(), next(path, None)
        return self._rule[1]

    # --- ends ---------------------------------------------------------------------------------

    def settle(self, reservation: StoreHold, actual: Resources) -> None:
        """Book what was spent; where the store cannot be reached, as soon as it can be.

        The call has been made, so no error is raised. Until then the worst case stays held, and is booked when the hold
        expires.
        """
        self.settle_later(reservation, actual)
        self._end_due()

    def release(self, reservation: StoreHold) -> None:
        """Give back what was not spent; see :meth:`settle`."""
        self._due.append((reservation.id, None))
        self._end_due()

    def settle_later(self, reservation: StoreHold, actual: Resources) -> None:
        """Book at the next call of this payer; takes no lock, so that a finalizer may do it."""
        counts = {kind: actual[kind] for kind in actual}
        self._due.append((reservation.id, {kind: n if n is None else min(n, MOST) for kind, n in counts.items()}))

    def _end_due(self) -> None:
        while self._due:
            try:
                id, amounts = self._due.popleft()
            except IndexError:  # another thread has taken it
                return
            try:
                if amounts is None:
                    self.store.void(id)
                else:
                    self.store.settle(id, amounts)
            except UnreachableLedgerError as error:
                self._due.appendleft((id, amounts))
                logger.warning("what the call of hold %s took is not booked yet: %s", id, error)
                return
            except (LedgerError, ConfigError) as error:
                logger.error("what the call of hold %s took cannot be booked: %s", id, error)

    def left(self) -> Budget:
        """What can be held now of each resource that is capped: a budget under which an agent can plan."""
        left: dict[str, int] = {}
        for one in self.store.read(self.scope, self.labels):
            left[one.cap.resource] = min(one.left, left.get(one.cap.resource, one.left))
        return Budget(left)

    # --- parts --------------------------------------------------------------------------------

    @contextmanager
    def part(self, amounts: Resources) -> Iterator[StorePayer]:
        """Hand a part of the budget to a sub-agent, also one on another host, which pays from the scope of the part.

        The whole part is held here while the block lasts. Within it calls cost nothing here, and what is capped here
        and not in ``amounts`` cannot be spent. At the end what was spent, and what is still held, is booked here; the
        rest comes back. Parts have parts in turn.

        Args:
            amounts: In counts.

        Raises:
            BudgetExceededError: It does not fit.
            ConfigError: An amount is unknown.
            LedgerError: The store cannot be reached.
        """
        given = {kind: amounts[kind] or 0 for kind in amounts}
        if not given or None in amounts.values():
            raise ConfigError("a part is of known amounts, for instance Resources.of(usd='0.02')")
        with calling("a part"):
            hold = self.reserve(Resources(given))
        scope = f"{self.scope}/{PART}{hold.id[:16]}"
        try:
            for kind in sorted({*given, *(one.cap.resource for one in self.store.read(self.scope, self.labels))}):
                self.store.set_cap(Cap(scope, kind, given.get(kind, 0)), "ledger", f"a part of {self.scope}")
            yield StorePayer(
                self.store, scope, name=self._name, seconds=self._seconds, free=self._free, wait=self._wait
            )
        finally:
            self.settle(hold, self._taken(scope, given))

    def _taken(self, scope: str, given: Mapping[str, int]) -> Resources:
        """Let nothing more be spent of a part; what it has taken, all of it where that cannot be known."""
        try:
            taken = {one.cap.resource: one for one in self.store.read(scope)}
            while taken:
                kind, one = taken.popitem()
                try:
                    self.store.set_cap(Cap(scope, kind, one.spent + one.held), "ledger", "the part has ended")
                except UnreachableLedgerError:
                    raise
                except LedgerError:  # more was taken meanwhile
                    taken = {one.cap.resource: one for one in self.store.read(scope)}
            return Resources({one.cap.resource: one.spent + one.held for one in self.store.read(scope)})
        except UnreachableLedgerError as error:
            logger.warning("what the part %s has left stays held: %s", scope, error)
            return Resources(given)


class _Breaker:
    """Counts the calls of one program."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last, self._row = ("", ""), 0
        self._names: set[str] = set()

    def trips(self, rule: Rule, name: str, arguments: str) -> str:
        """Why this call is one too many; empty where it is not. After that the counts begin anew."""
        if not name:
            return ""
        with self._lock:
            self._row = self._row + 1 if (name, arguments) == self._last else 1
            self._last = (name, arguments)
            self._names.add(name)
            why = ""
            if rule.same and self._row >= rule.same:
                why = f"{name} was called {self._row} times in a row with the same arguments"
            elif rule.tools and len(self._names) > rule.tools:
                why = f"{len(self._names)} different tools were called"
            if why:
                self._last, self._row = ("", ""), 0
                self._names.clear()
            return why
