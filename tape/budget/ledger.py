"""Budgets and ledgers: reserved before anything is spent, settled after (docs/budgets.md)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from tape.budget.amounts import Account, Broken, Limit, Payer, Taken, require_unproven, unknown, without
from tape.budget.caps import Budget
from tape.budget.locks import LEDGER, OrderedLock
from tape.budget.reservation import Reservation
from tape.budget.resources import Resources, exceeded, in_units
from tape.errors import BudgetExceededError, ConfigError, UnknownCostError

if TYPE_CHECKING:
    from tape.budget.earmark import Earmark

T = TypeVar("T")


class Ledger:
    """Keeps a budget: refuses a reservation that does not fit, settles what was really used.

    Ledgers nest: a reservation must fit into the ledger and all its parents at once. The ledgers of a tree share a
    lock, so concurrent reservations never oversubscribe. An :class:`Earmark` is set aside in its parents as a whole.

    Args:
        budget: The caps.
        parent: The enclosing ledger, if any; its caps count in :meth:`remaining` and :meth:`capped`.
        name: For error messages, for instance ``"episode"``.
        payer: Is asked last for every reservation and gets what was paid, but its caps are not seen here: a run's
            budget, which refuses but must not shape an episode. The outermost ledger of a tree has it.

    Raises:
        ConfigError: There are both a parent and a payer.
    """

    def __init__(
        self,
        budget: Budget | None = None,
        parent: Ledger | None = None,
        name: str = "episode",
        payer: Payer | None = None,
    ) -> None:
        if parent is not None and payer is not None:
            raise ConfigError(f"the {name} ledger has a parent, which alone is asked: give it to the parent")
        if parent is not None:
            parent._require_usable()
        self.budget = budget or Budget()
        self.parent = parent
        self.name = name
        self.refused: BudgetExceededError | None = None
        """The last refusal for want of this ledger's own budget."""
        self._payer = payer
        rank = LEDGER if payer is None else min(LEDGER, payer.rank - 1)
        self._lock: OrderedLock = parent._lock if parent else OrderedLock(rank, f"{name} ledger")
        self._due: deque[Callable[[], object]] = parent._due if parent else deque()
        """What finalizers have left to be booked, in the whole tree."""
        self._account = Account()
        self._held: dict[str, int] = {}
        """What the parents have set aside for this ledger, by kind; only an earmark holds something."""

    @property
    def rank(self) -> int:
        """See :class:`~tape.budget.amounts.Payer`."""
        return self._lock.rank

    def earmark(
        self, budget: Budget | None = None, /, *, name: str = "earmark", **amounts: int | float | str | Decimal
    ) -> Earmark:
        """Set a part aside for one sub-agent: ``with ledger.earmark(usd="0.02") as part: agent.run(env, parent=part)``.

        Siblings cannot take it, and its user cannot take more of these kinds. Other kinds are not limited by it.

        Args:
            budget: The amounts, or give them as keyword arguments.
            name: For error messages, for instance the sub-agent's.
            amounts: In units, for instance ``usd="0.02"``.

        Raises:
            ConfigError: No amount is given, or they are given in both ways, or one of real time.
        """
        from tape.budget.earmark import Earmark

        if (budget is None) == (not amounts):
            raise ConfigError('an earmark takes amounts, for instance ledger.earmark(usd="0.02"), or one Budget')
        found = Budget.of(**amounts) if budget is None else budget
        if not isinstance(found, Budget) or not found:
            raise ConfigError(f"an earmark takes a Budget with at least one cap, not {found!r}")
        if "wall_seconds" in found:
            raise ConfigError("wall_seconds is real time, which cannot be set aside; cap it where the agent is run")
        return Earmark(found, self, name)

    def _require_usable(self) -> None:
        """Refuse where this or a parent is an earmark that has not begun or has ended."""
        for ledger in self._chain():
            ledger._require_begun()

    def _require_begun(self) -> None:
        """An earmark has a beginning and an end, and nothing can be reserved outside of them."""

    def _chain(self) -> Iterator[Ledger]:
        ledger: Ledger | None = self
        while ledger is not None:
            yield ledger
            ledger = ledger.parent

    def _setting_aside(self, kind: str) -> Iterator[Ledger]:
        """The ledgers in which an amount of a kind is set aside: up to an earmark for which it was set aside before."""
        for ledger in self._chain():
            yield ledger
            if kind in ledger._held:
                return

    def reserve(self, worst_case: Resources, *, forced: bool = False) -> Reservation:
        """Set the worst case aside in this ledger, all its parents and their payer, or in none.

        Args:
            worst_case: In counts.
            forced: Also above the caps: another program has let it through, and it is only recorded here.

        Raises:
            UnknownCostError: A capped kind has an unknown worst case.
            BudgetExceededError: It does not fit.
            ConfigError: This or a parent is an earmark that has not begun or has ended.
        """
        with self._lock, self._lock.mutex:
            self._book_due()
            payer, asked = self._set_aside(worst_case, forced)
        return self._paid_for(worst_case, payer, asked)

    def _set_aside(self, worst_case: Resources, forced: bool = False) -> tuple[Payer | None, Resources]:
        """Check and set aside, under the lock; the payer, and what it has to be asked for."""
        self._require_usable()
        held = set[str]()
        for ledger in self._chain():
            ledger._check(worst_case, held, forced)
            held |= ledger._held.keys()
            outermost = ledger
        self._add(worst_case)
        # Also where all of it is earmarked: more may be used than was declared, and the payer has to know that.
        return outermost._payer, without(worst_case, held)

    def _add(self, worst_case: Resources, sign: int = 1) -> None:
        for kind in worst_case:
            for ledger in self._setting_aside(kind):
                ledger._account.set_aside(kind, sign * (worst_case[kind] or 0))

    def _paid_for(self, worst_case: Resources, payer: Payer | None, asked: Resources) -> Reservation:
        """Ask the payer, without the lock: it may be far away, or wait, and others are not to wait with it."""
        try:
            outer = None if payer is None else payer.reserve(asked)
        except BaseException:
            with self._lock, self._lock.mutex:
                self._add(worst_case, -1)
                self._sync()
            raise
        return Reservation(self, worst_case, outer)

    def _book_due(self) -> None:
        while self._due:
            self._due.popleft()()

    def abandon(self, reservation: Reservation) -> None:
        """Settle at the worst case without a lock: its next holder books that; until then it stays set aside."""
        reservation.open = False
        self._due.append(partial(self._settle, reservation, Taken(unknown(reservation.worst_case))))

    def _check(self, worst_case: Resources, held: Collection[str], forced: bool) -> None:
        for kind, cap in self.budget.items():
            if kind in held:
                continue
            wanted = worst_case[kind]
            if wanted is None:
                raise UnknownCostError(
                    f"the worst case of {kind} is unknown under the hard cap of {in_units(kind, cap)} of the "
                    f"{self.name} ledger; declare it or lift the cap on {kind}"
                )
            taken = self._account.taken(kind)
            if wanted > 0 and taken + wanted > cap and not forced:
                self.refused = exceeded(kind, cap, taken, wanted, self.name)
                raise self.refused

    def settle(
        self,
        reservation: Reservation,
        actual: Resources,
        paid: Resources | None = None,
        parts: Sequence[tuple[Resources, Resources]] = (),
        unproven: Resources | None = None,
    ) -> tuple[Broken, ...]:
        """Book what was used and free the rest. An unknown usage is booked as the whole reservation, without proof.

        Args:
            reservation: What was set aside.
            actual: What was used; counts against the budget.
            paid: What it really cost, where that is less, for instance nothing for a cached answer. It is recorded
                beside, and is what the payer gets.
            parts: What was declared for and used by each part, where the reservation is for several: one that used
                too much is not excused by the others.
            unproven: The part of ``actual`` and ``paid`` that nobody has reported.

        Returns:
            Costs above the declared bound: kinds of which more was used than was set aside, if they are capped or the
            reservation named them. They are booked in full and counted.

        Raises:
            ConfigError: The reservation belongs to another ledger or is closed already.
        """
        self._claim(reservation)
        book = partial(self._settle, reservation, Taken(actual, paid, parts, unproven))
        if not self._lock.free():  # a finalizer, amid what this thread books
            self._due.append(book)
            return ()
        with self._lock, self._lock.mutex:
            self._book_due()
            return book()

    def _settle(self, reservation: Reservation, taken: Taken) -> tuple[Broken, ...]:
        payer = self._free(reservation)
        used, spent, unproven = taken.booked(reservation.worst_case)
        broken = tuple(taken.broken(reservation.worst_case, self.capped()))
        for ledger in self._chain():
            ledger._account.add(used, spent, unproven, broken)
        self._sync()
        if payer is not None:
            payer.settle(reservation.outer, without(Resources(spent), self._held_in_chain()))
        return broken

    def settle_unproven(self, unproven: Resources, taken: Resources) -> None:
        """Book what was ``taken`` of a part of :attr:`unproven`, here and in all parents, also above the caps.

        The payer does not get the difference back.

        Raises:
            ConfigError: So much is not booked without proof; nothing is changed.
        """
        with self._lock, self._lock.mutex:
            self._book_due()
            for ledger in self._chain():
                require_unproven(ledger._account.unproven, unproven, taken, f"the {ledger.name} ledger")
            for ledger in self._chain():
                ledger._account.correct(unproven, taken)
            self._sync()

    def release(self, reservation: Reservation) -> None:
        """Give a reservation back unused."""
        self._claim(reservation)
        if not self._lock.free():
            self._due.append(partial(self._release, reservation))
            return
        with self._lock, self._lock.mutex:
            self._book_due()
            self._release(reservation)

    def _release(self, reservation: Reservation) -> None:
        payer = self._free(reservation)
        self._sync()
        if payer is not None:
            payer.release(reservation.outer)

    def _claim(self, reservation: Reservation) -> None:
        """See that a reservation is closed once."""
        if reservation.ledger is not self:
            raise ConfigError("the reservation belongs to another ledger")
        if not reservation.open:
            raise ConfigError("the reservation is settled or released already")
        reservation.open = False

    def _free(self, reservation: Reservation) -> Payer | None:
        """Take a reservation off everywhere but at the payer, which is returned."""
        self._add(reservation.worst_case, -1)
        *_, outermost = self._chain()
        return outermost._payer

    def _held_in_chain(self) -> set[str]:
        """The kinds that were set aside at once by this ledger or a parent."""
        return {kind for ledger in self._chain() for kind in ledger._held}

    def _sync(self) -> None:
        """Let the parents of earmarks set aside what is still due: less where something was spent, or it has ended."""
        for ledger in self._chain():
            ledger._give_back()

    def _give_back(self) -> None:
        """What an earmark does after something was booked."""

    def book(self, spent: Resources) -> None:
        """Count what was spent before this ledger was made, also above the caps; the payer does not get it.

        Raises:
            UnknownCostError: Of a capped kind an unknown amount was spent.
        """
        for kind in self.capped():
            if spent[kind] is None:
                raise UnknownCostError(
                    f"how much {kind} was spent before is unknown, so the cap on {kind} of the {self.name} ledger "
                    "cannot be kept; lift it"
                )
        with self._lock, self._lock.mutex:
            self._book_due()
            for ledger in self._chain():
                ledger._account.add(spent, spent)
            self._sync()

    def remaining(self, kind: str) -> int | None:
        """Counts left of a kind here and in all parents, reservations taken off; None where nothing caps it.

        Never below 0, even where a cost above its declared bound has led above a cap.
        """
        return min((limit.left for limit in self.limits(kind)), default=None)

    def limits(self, kind: str) -> tuple[Limit, ...]:
        """Every cap on a kind, this ledger's own first."""
        with self._lock, self._lock.mutex:
            self._book_due()
            return tuple(
                Limit(ledger.name, ledger.budget[kind], max(0, ledger.budget[kind] - ledger._account.taken(kind)))
                for ledger in self._setting_aside(kind)
                if kind in ledger.budget
            )

    def capped(self) -> tuple[str, ...]:
        """The kinds that this ledger or a parent caps, in alphabetical order."""
        return tuple(sorted({kind for ledger in self._chain() for kind in ledger.budget}))

    @property
    def used(self) -> Resources:
        """What was settled here; None for a kind of which an unknown amount was."""
        return self._read(Account.all_used)

    @property
    def unproven(self) -> Resources:
        """The part of it that was booked without proof: worst cases where nobody has reported what was used."""
        return self._read(lambda account: Resources(account.unproven))

    @property
    def paid(self) -> Resources:
        """What that really cost: less than :attr:`used` where a cache answered."""
        return self._read(Account.all_paid)

    @property
    def reserved(self) -> Resources:
        """What is set aside and not yet settled or released."""
        return self._read(lambda account: Resources(account.reserved))

    @property
    def violations(self) -> Mapping[str, int]:
        """Uses above the declared bound, by kind."""
        return self._read(lambda account: dict(account.violations))

    def overspent(self) -> tuple[str, ...]:
        """Kinds whose settled use is above the cap (only a cost above the declared bound leads here)."""
        used = self._read(lambda account: dict(account.used))
        return tuple(kind for kind, cap in self.budget.items() if used.get(kind, 0) > cap)

    def _read(self, what: Callable[[Account], T]) -> T:
        with self._lock, self._lock.mutex:
            self._book_due()
            return what(self._account)
