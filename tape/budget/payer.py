"""A scope of a store as what a ledger asks before it reserves: budgets of programs and agents are parts of it."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass

from tape.budget.accounts import MOST, PART, Labels, accounts_of, concerns, is_part
from tape.budget.amounts import Payer, is_tried
from tape.budget.balances import Balance
from tape.budget.caps import Budget
from tape.budget.claims import LEASE, Claimed, ClaimEnd, ClaimRequest, Effect, claimed_now
from tape.budget.contract import Held, HoldRequest, LedgerStore, Refused
from tape.budget.locks import CLIENT
from tape.budget.resources import Resources, in_units
from tape.budget.rules import ForbiddenError, LedgerError, Paused, Rule
from tape.errors import ConfigError, UnknownCostError

PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds between two tries of a call that waits: at first, and at last."""
PART_SECONDS = 7 * 86_400
RULES_SECONDS = 30.0
"""After so many a payer reads the rules anew."""

assert PART_SECONDS <= 366 * 86_400, "a hold may last so long"

logger = logging.getLogger("tape.budget")

_NEVER = (ForbiddenError, ConfigError)
"""Where a request is refused so, asking again changes nothing."""

_called: ContextVar[tuple[str, str, bool]] = ContextVar("_called", default=("", "", False))


@contextmanager
def calling(name: str, arguments: str = "", *, counts: bool = True) -> Iterator[None]:
    """Say what the block pays for.

    Args:
        name: Of a tool or a model.
        arguments: What tells two of its calls apart.
        counts: A breaker counts it.
    """
    token = _called.set((name[:1000], arguments, counts))
    try:
        yield
    finally:
        _called.reset(token)


@dataclass(frozen=True)
class StoreHold:
    """What a payer has set aside: the id of the hold, and the effect that it is for; one that is done needs no hold."""

    id: str
    effect: Effect | None = None


@dataclass(frozen=True)
class _End:
    """An end that the store has not taken yet: what was used, or None for a call that was not made."""

    hold: StoreHold
    amounts: dict[str, int | None] | None

    def tell(self, store: LedgerStore) -> None:
        """End the hold, and the claim that it is for."""
        id, effect = self.hold.id, self.hold.effect
        if effect is not None and effect.claimed is not None:
            ending: tuple[ClaimEnd, str] = ("failed", "")
            end, outcome = ending if self.amounts is None or effect.end is None else effect.end
            claim = store.finish(effect.key, effect.claimed.attempt, end, self.amounts or {}, outcome)
            assert claim.key == effect.key, (claim, effect)
            return
        ended = store.void(id) if self.amounts is None else store.settle(id, self.amounts)
        assert ended.id == id, (ended, id)
        assert ended.state != "held", ended


class StorePayer(Payer):
    """Pays from a store: ``Ledger(budget, payer=StorePayer(store, "org/team/agent"))``.

    What it does where a call does not fit, or is paused, is the :class:`~tape.budget.Rule` of the scope.

    Args:
        store: The store; several payers may share it.
        scope: Who pays.
        labels: What else it is for.
        seconds: After how long an unanswered hold ends.
        patient: A call waits where a rule says so; not where others could not end meanwhile.
        lease: Seconds of a claim of an effect, after which another worker may take it (:mod:`tape.budget.claims`).

    Raises:
        ConfigError: The scope or a label is malformed.

    Examples:
        >>> from tape import Ledger, Resources
        >>> from tape.budget import Cap, StorePayer, open_store
        >>> store = open_store("file://budget.ledger")
        >>> store.set_cap(Cap("org", "usd", 50_000), "anna", "the first cap")
        >>> with Ledger(payer=StorePayer(store, "org/team")).reserve(Resources.of(usd="$0.02")):
        ...     print(store.read("org/team")[0].left)
        30000
    """

    rank = CLIENT  # it takes no lock of the order: the store has its own

    def __init__(
        self,
        store: LedgerStore,
        scope: str,
        labels: Labels | None = None,
        *,
        seconds: int = 3600,
        patient: bool = True,
        lease: int = LEASE,
    ) -> None:
        accounts_of(scope, labels or {})
        self.store, self.scope, self.labels = store, scope, dict(labels or {})
        self._seconds, self._patient, self._lease = seconds, patient, lease
        self._due: deque[_End] = deque()
        self._undo: deque[tuple[HoldRequest, ClaimRequest | None]] = deque()
        """Requests that may be held, though they were not answered."""
        self._rule: tuple[float, Rule | None] | None = None
        self._breaker = _Breaker()
        self._closed = threading.Event()

    @property
    def due(self) -> int:
        """Ends of holds that the store has not taken yet."""
        return len(self._due)

    def close(self) -> None:
        """Let no call wait any more, and end what is due; the store stays open."""
        self._closed.set()
        self._end_due()

    def reserve(self, worst_case: Resources, *, given_up: threading.Event | None = None) -> StoreHold:
        """Hold the worst case.

        In a thread that runs an event loop no call waits, since what it waits for may need the loop.

        Args:
            worst_case: In counts.
            given_up: Ends the waiting.

        Raises:
            BudgetExceededError: It does not fit into a cap of the scope or of a label, or one of them is paused.
            UnknownCostError: It is unknown in what is capped.
            LedgerError: The store cannot be reached; nothing may be spent then.
        """
        self._end_due()
        name, arguments, counts = _called.get()
        rule = self._rule_now()
        if rule is not None and counts and (why := self._breaker.trips(rule, name, arguments)):
            self.store.pause(self.scope, "breaker", why)
        amounts: Mapping[str, int | None] = {kind: worst_case[kind] for kind in worst_case}
        seconds = 1 if is_tried() else self._seconds
        request = HoldRequest(uuid.uuid4().hex, self.scope, amounts, self.labels, name, seconds, free=is_tried())
        return self._held(request, given_up or self._closed, claimed_now())

    def _held(self, request: HoldRequest, given_up: threading.Event, effect: Effect | None = None) -> StoreHold:
        """Ask until it is held, or refused for good."""
        begun, pause = time.monotonic(), PAUSE
        claim = None
        if effect is not None:
            claim = ClaimRequest(effect.key, effect.worker, max(effect.lease, self._lease), effect.again)
        while True:
            try:
                held = self.store.reserve(request) if claim is None else self.store.claim(request, claim)
            except BaseException:  # an interrupt too: it may be held all the same
                self._undo.append((request, claim))
                raise
            if isinstance(held, Claimed):
                assert effect is not None, "who claims has an effect"
                effect.claimed = held
                return StoreHold(request.id if held.mine else "", effect)
            assert isinstance(held, Held) or concerns(held.account, self.scope), (held, request)
            if isinstance(held, Refused) and held.cap_needed is None:
                raise UnknownCostError(
                    f"the worst case of {held.resource} is unknown under the cap of {held.account}; declare it, or "
                    f"lift the cap on {held.resource}"
                )
            if not isinstance(held, Refused | Paused):
                assert held.id == request.id, (held, request)
                return StoreHold(held.id)
            assert isinstance(held, Paused) or request.amounts.get(held.resource) != 0, "what is free is not refused"
            if not self._waits(held, request, time.monotonic() - begun):
                wanted = 0 if isinstance(held, Paused) else request.amounts.get(held.resource) or 0
                raise held.error() if isinstance(held, Paused) else held.error(wanted)
            if given_up.wait(pause) or self._closed.is_set():
                raise LedgerError(f"nobody waits any more for a call of {self.scope}")
            pause = min(2 * pause, LONGEST_PAUSE)

    def _waits(self, refused: Refused | Paused, request: HoldRequest, waited: float) -> bool:
        """Whether to try again: there is time, and something or somebody that can make room."""
        rule = self._rule_now()
        seconds = rule.seconds if rule is not None and self._patient and not _in_loop() else 0
        if isinstance(refused, Paused):
            return not refused.stopped and waited < seconds
        wanted = request.amounts.get(refused.resource) or 0
        assert refused.cap_needed is not None, "what is unknown is not waited for: there will be no more room for it"
        assert wanted > refused.left, "what fits is not refused"
        if rule is not None and rule.at_limit == "ask" and not is_part(refused.account):  # a part gets no more
            why = f"{in_units(refused.resource, wanted)} do not fit into what {refused.account} has left"
            self.store.pause(self.scope, "ledger", why, wanted=refused.wanted(wanted))
            return True  # the next try finds the pause, or what a person has done meanwhile
        if rule is None or rule.at_limit == "refuse" or wanted > refused.amount or waited >= seconds:
            return False
        balances = self.store.read(self.scope, self.labels)
        assert any(balance.cap.account == refused.account for balance in balances), (
            "what refused it is a cap of the call"
        )
        return any(balance.held and balance.cap.account == refused.account for balance in balances)

    def _rule_now(self) -> Rule | None:
        """The first rule on the way from the scope to its root."""
        if self._rule is None or time.monotonic() - self._rule[0] > RULES_SECONDS:
            known = self.store.rules()
            rules = {item.account: item for item in known}
            path = (rules[account] for account in accounts_of(self.scope, {}) if account in rules)
            rule = next(path, None)
            assert rule is None or f"{self.scope}/".startswith(f"{rule.account}/"), "it is of the scope or above it"
            self._rule = time.monotonic(), rule
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
        self._due.extend([_End(reservation, None)] if reservation.id else [])
        self._end_due()

    def settle_later(self, reservation: StoreHold, actual: Resources) -> None:
        """Book at the next call of this payer; takes no lock, so that a finalizer may do it.

        An effect whose end is not known stays claimed, and its worst case held, until its lease is over.
        """
        counts = {kind: actual[kind] for kind in actual}
        assert all(n is None or n >= 0 for n in counts.values()), counts
        if reservation.id if reservation.effect is None else reservation.effect.is_told:
            taken = {kind: n if n is None else min(n, MOST) for kind, n in counts.items()}
            self._due.append(_End(reservation, taken))

    def _end_due(self) -> None:
        """End what is due; what cannot be ended now stays due, and what never can is logged and passed over."""
        while self._undo:
            with suppress(IndexError):  # another thread has taken it
                request, claim = self._undo.popleft()
                assert request.scope == self.scope, request
                try:
                    # Asked again it is known for sure: a first message that is late finds it ended.
                    held = self.store.reserve(request) if claim is None else self.store.claim(request, claim)
                    if isinstance(held, Held):
                        self.store.void(request.id)
                    elif isinstance(held, Claimed) and held.state == "claimed":
                        self.store.finish(held.key, held.attempt, "failed", {})
                except _NEVER as error:
                    logger.error("hold %s of %s cannot be given back: %s", request.id, request.scope, error)
                except BaseException as error:
                    self._undo.appendleft((request, claim))
                    if not isinstance(error, LedgerError):
                        raise
                    break  # what has been spent is to be booked in any case
                else:
                    assert not isinstance(held, Held) or held.id == request.id, (held, request)
        while self._due:
            with suppress(IndexError):
                end = self._due.popleft()
                id = end.hold.id
                try:
                    end.tell(self.store)
                except _NEVER as error:  # a person finds the hold, which stays as it is
                    took = "nothing" if end.amounts is None else end.amounts
                    logger.error(
                        "what the call of hold %s of %s took (%s, in counts) can never be booked: %s; end it by hand, "
                        "by `tape ledger settle %s AMOUNTS`", id, self.scope, took, error, id,
                    )  # fmt: skip
                except BaseException as error:
                    self._due.appendleft(end)
                    if not isinstance(error, LedgerError):
                        raise
                    logger.warning("what the call of hold %s took is not booked yet: %s", id, error)
                    return

    def left(self) -> Budget:
        """What can be held now of each resource that is capped: a budget under which an agent can plan."""
        return Budget({kind: balance.left for kind, balance in self.tightest().items()})

    def tightest(self) -> dict[str, Balance]:
        """Of each resource that is capped, the cap of which the least is left."""
        mapping: dict[str, Balance] = {}
        self._end_due()
        balances = self.store.read(self.scope, self.labels)
        for balance in balances:
            assert concerns(balance.cap.account, self.scope), "a call has to fit into the caps of its accounts alone"
            kind = balance.cap.resource
            if kind not in mapping or balance.left < mapping[kind].left:
                mapping[kind] = balance
        assert all(mapping[item.cap.resource].left <= item.left for item in balances), "no cap has less"
        return mapping

    # --- parts --------------------------------------------------------------------------------

    @contextmanager
    def part(self, amounts: Resources, *, seconds: int = PART_SECONDS) -> Iterator[StorePayer]:
        """Hand a part of the budget to a sub-agent, also one on another host, which pays from the scope of the part.

        The whole part is held here while the block lasts. Calls within it cost nothing here of what the part has; other
        kinds are not limited by it, and count here and in the labels of this payer. At the end what was spent, and what
        is still held, is booked here; the rest comes back, and no call begins in the part any more. Parts have parts in
        turn.

        Args:
            amounts: In counts.
            seconds: After how long the store ends the part where nobody else has.

        Raises:
            BudgetExceededError: It does not fit.
            ConfigError: An amount is unknown, or the scope would be too deep.
            LedgerError: The store cannot be reached.
        """
        self._end_due()
        id, given = uuid.uuid4().hex, {kind: amounts[kind] for kind in amounts}
        scope = f"{self.scope}/{PART}{id[:16]}"
        hold = self._held(HoldRequest(id, self.scope, given, self.labels, "a part", seconds, part=scope), self._closed)
        payer = StorePayer(self.store, scope, seconds=self._seconds, patient=self._patient, lease=self._lease)
        try:
            yield payer
        except GeneratorExit:  # perhaps the garbage collector's: no lock may be waited for
            self.settle_later(hold, Resources())
            raise
        except BaseException:
            self._end_part(hold, payer)
            raise
        self._end_part(hold, payer)

    def _end_part(self, hold: StoreHold, part: StorePayer) -> None:
        assert part.scope.startswith(f"{self.scope}/{PART}"), (part.scope, self.scope)
        assert part.store is self.store, "a part is held where its scope is"
        try:
            part.close()
        finally:
            self.settle(hold, Resources())  # the store knows what was taken in it


def _in_loop() -> bool:
    """Whether this thread runs an event loop now."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


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
            assert not rule.same or self._row < rule.same, "a row ends where it is too long"
            assert not rule.tools or len(self._names) <= rule.tools, "tools are counted anew where they are too many"
            return why
