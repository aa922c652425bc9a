"""Budgets and ledgers: reserved before anything is spent, settled after (docs/reference/budgets.md)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from decimal import Decimal
from functools import partial
from typing import TypeVar

from tape.budget.amounts import Account, Broken, Payer, Taken, require_unproven, trying, unknown, without
from tape.budget.caps import Budget
from tape.budget.locks import LEDGER, OrderedLock
from tape.budget.readings import Readings
from tape.budget.reservation import Reservation
from tape.budget.resources import Resources, exceeded, in_units
from tape.errors import BudgetExceededError, ConfigError, UnknownCostError

T = TypeVar("T")


class Ledger(Readings):
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

    Examples:
        >>> from tape import Budget, Ledger, Resources
        >>> run = Ledger(Budget.of(usd="$1"), name="run")
        >>> episode = Ledger(Budget.of(usd="$0.05"), parent=run)
        >>> with episode.reserve(Resources.of(usd="$0.03")) as call:
        ...     _ = call.settle(Resources.of(usd="$0.02"))
        >>> episode.remaining("usd"), run.remaining("usd")
        (30000, 980000)
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
        if (budget is None) == (not amounts):
            raise ConfigError('an earmark takes amounts, for instance ledger.earmark(usd="0.02"), or one Budget')
        result = Budget.of(**amounts) if budget is None else budget
        if not isinstance(result, Budget) or not result:
            raise ConfigError(f"an earmark takes a Budget with at least one cap, not {result!r}")
        if "wall_seconds" in result:
            raise ConfigError("wall_seconds is real time, which cannot be set aside; cap it where the agent is run")
        return Earmark(result, self, name)

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

    def reserve(self, worst_case: Resources) -> Reservation:
        """Set the worst case aside in this ledger, all its parents and their payer, or in none.

        Args:
            worst_case: In counts.

        Raises:
            UnknownCostError: A capped kind has an unknown worst case.
            BudgetExceededError: It does not fit.
            ConfigError: This or a parent is an earmark that has not begun or has ended.
        """
        with self._lock, self._lock.mutex:
            self._book_due()
            payer, asked = self._set_aside(worst_case)
        return self._paid_for(worst_case, payer, asked)

    def require(self, worst_case: Resources) -> None:
        """Refuse what does not fit, as :meth:`reserve` does; nothing stays set aside.

        Args:
            worst_case: In counts.
        """
        with trying():
            self.release(self.reserve(worst_case))

    def _set_aside(self, worst_case: Resources) -> tuple[Payer | None, Resources]:
        """Check and set aside, under the lock; the payer, and what it has to be asked for."""
        self._require_usable()
        held = set[str]()
        for ledger in self._chain():
            ledger._check(worst_case, held)
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

    def book_due(self) -> None:
        """Book what finalizers have left; all that reads or reserves here does so too."""
        with self._lock, self._lock.mutex:
            self._book_due()

    def abandon(self, reservation: Reservation) -> None:
        """Settle at the worst case without a lock: its next holder books that; until then it stays set aside."""
        assert reservation.open, "a reservation ends once"
        reservation.open = False
        self._due.append(partial(self._settle, reservation, Taken(unknown(reservation.worst_case))))

    def _check(self, worst_case: Resources, held: Collection[str]) -> None:
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
            if wanted > 0 and taken + wanted > cap:
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
        assert not reservation.open, "who ends it has claimed it"
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


class Earmark(Ledger):
    """A part of a ledger's budget for one user, made by :meth:`Ledger.earmark`; to be used as a context manager.

    It begins with the ``with`` block, and must fit. At its end what was not spent goes back at once, whatever ended the
    block; what is still being spent then, by a thread that goes on, once it is settled.

    Examples:
        >>> from tape import Budget, Ledger, Resources
        >>> team = Ledger(Budget.of(usd="$0.10"), name="team")
        >>> with team.earmark(usd="$0.04", name="reviewer") as part:
        ...     _ = part.reserve(Resources.of(usd="$0.01")).settle(Resources.of(usd="$0.01"))
        ...     print(part.remaining("usd"), team.remaining("usd"))
        30000 60000
        >>> team.remaining("usd")
        90000
    """

    def __init__(self, budget: Budget, parent: Ledger, name: str) -> None:
        super().__init__(budget, parent, name)
        self._whole: Reservation | None = None
        self._ended = False

    def __enter__(self) -> Earmark:
        """Set the amounts aside.

        Raises:
            BudgetExceededError: They do not fit.
            ConfigError: It has begun before.
        """
        assert self.parent is not None
        with self._lock, self._lock.mutex:
            self._book_due()
            if self._whole is not None:
                raise ConfigError(f"the earmark {self.name!r} has begun before; make a new one")
            payer, asked = self.parent._set_aside(Resources(self.budget))
        whole = self.parent._paid_for(Resources(self.budget), payer, asked)
        with self._lock, self._lock.mutex:
            self._whole, self._held = whole, dict(self.budget)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._ended = True
        self._due.append(self._sync)
        if kind is not GeneratorExit and self._lock.free():  # else perhaps a finalizer, which takes no lock
            with self._lock, self._lock.mutex:
                self._book_due()

    def _require_begun(self) -> None:
        if self._whole is None:
            raise ConfigError(f"the earmark {self.name!r} has not begun; use `with ledger.earmark(...) as part:`")
        if self._ended:
            raise ConfigError(f"the earmark {self.name!r} has ended, and what was left of it has gone back")

    def _give_back(self) -> None:
        """Free in the parents what is not due any more, and settle with the payer once all is over."""
        assert self.parent is not None
        for kind, held in self._held.items():
            due = max(0, self.budget[kind] - self._account.used.get(kind, 0))
            due = min(due, self._account.reserved.get(kind, 0)) if self._ended else due
            assert 0 <= due <= self.budget[kind], "an earmark is due what it was given, or less"
            self._held[kind] = due
            for above in self.parent._setting_aside(kind) if due != held else ():
                above._account.set_aside(kind, due - held)
        whole = self._whole
        spending = any(self._account.reserved.get(kind, 0) for kind in self.budget)
        if whole is None or not whole.open or not self._ended or spending:
            return
        whole.open = False
        *_, outermost = self._chain()
        if outermost._payer is not None:
            paid = Resources({kind: n for kind, n in self._account.all_paid().items() if kind in self.budget})
            outermost._payer.settle(whole.outer, without(paid, self.parent._held_in_chain()))
