"""The scope of a ledger that a guard pays from."""

from __future__ import annotations

from tape.budget import Budget, Ledger, Resources
from tape.budget.resources import in_units
from tape.errors import ConfigError
from tape.ledger import Cap, LedgerStore, Period, StorePayer, open_store
from tape.ledger.accounts import Labels

_TOTAL = Period()


class SharedScope:
    """A scope of a ledger.

    Args:
        ledger: Its address, or its store, which is not closed with this.
        budget: Caps of the scope; made where there are none.
        scope: Who pays.
        labels: What the calls are for.

    Attributes:
        payer: Pays for calls.

    Raises:
        ConfigError: The scope has another cap than ``budget`` says.
        LedgerError: The ledger cannot be opened.
    """

    def __init__(self, ledger: str | LedgerStore, budget: Budget, scope: str, labels: Labels) -> None:
        self._own = isinstance(ledger, str)
        self.store = open_store(ledger) if isinstance(ledger, str) else ledger
        try:
            self.payer = StorePayer(self.store, scope, labels)
            self._make_caps(budget, scope, labels)
        except BaseException:
            self._close()
            raise

    def _make_caps(self, budget: Budget, scope: str, labels: Labels) -> None:
        known = {one.cap.key: one.cap for one in self.store.read(scope, labels)}
        for kind, count in budget.items():
            cap = Cap(scope, kind, count, _TOTAL)
            found = known.get(cap.key)
            if found is None:
                self.store.set_cap(cap, "guard", "the budget of the first one")
            elif found.amount != count:
                raise ConfigError(
                    f"the ledger caps {scope} at {in_units(kind, found.amount)}, and this budget says "
                    f"{in_units(kind, count)}; change it by `tape ledger cap {scope}`, or give the same budget"
                )

    def view(self, inner: Ledger) -> Ledger:
        """What of each resource is left, held and spent under the cap of which the least is left.

        Args:
            inner: A guard's ledger; those that are nested in the outermost one are shown within.
        """
        return within(inner, seen(self.payer), last=True)

    def close(self) -> None:
        """End what is due, and close the store."""
        self.payer.close()
        self._close()

    def _close(self) -> None:
        if self._own:
            self.store.close()


def seen(payer: StorePayer) -> Ledger:
    """A ledger with the caps of a payer, of each resource the one of which the least is left."""
    tightest = payer.tightest()
    ledger = Ledger(Budget({kind: one.amount for kind, one in tightest.items()}), name=payer.scope)
    ledger.book(Resources({kind: one.spent for kind, one in tightest.items()}))
    ledger.reserve(Resources({kind: one.held for kind, one in tightest.items()}), forced=True)
    return ledger


def within(inner: Ledger, outermost: Ledger, *, last: bool = False) -> Ledger:
    """The same chain of ledgers within another one, without the ``last`` of the chain where that stands for it."""
    if inner.parent is None and last:
        return outermost
    parent = outermost if inner.parent is None else within(inner.parent, outermost, last=last)
    shown = Ledger(inner.budget, parent=parent, name=inner.name)
    shown._account = inner._account
    return shown
