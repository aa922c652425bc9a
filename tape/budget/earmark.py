"""Parts of a budget that are set aside for one user."""

from __future__ import annotations

from tape.budget.amounts import without
from tape.budget.caps import Budget
from tape.budget.ledger import Ledger
from tape.budget.reservation import Reservation
from tape.budget.resources import Resources
from tape.errors import ConfigError


class Earmark(Ledger):
    """A part of a ledger's budget for one user, made by :meth:`Ledger.earmark`; to be used as a context manager.

    It begins with the ``with`` block, and must fit. At its end what was not spent goes back at once, whatever ended the
    block; what is still being spent then, by a thread that goes on, once it is settled.
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
