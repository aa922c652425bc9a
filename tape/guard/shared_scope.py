"""The scope of a ledger that a guard pays from."""

from __future__ import annotations

from pathlib import Path

from tape.budget import Budget, Cap, LedgerError, LedgerStore, Limit, StorePayer, open_store
from tape.budget.accounts import Labels
from tape.budget.resources import in_units
from tape.budget.stores.addresses import is_address, require_file
from tape.errors import ConfigError

LOOK = 1_000
"""Latest calls among which one without a new cap is looked for."""


class SharedScope:
    """A scope of a ledger.

    Args:
        ledger: Its address or its file, or its store, which is not closed with this.
        budget: Caps of the scope; made where there are none.
        scope: Who pays.
        labels: What the calls are for.

    Raises:
        ConfigError: The scope has another cap than ``budget`` says.
        LedgerError: The ledger cannot be opened.
    """

    def __init__(self, ledger: Path | str | LedgerStore, budget: Budget, scope: str, labels: Labels) -> None:
        self._own = not isinstance(ledger, LedgerStore)
        self.store = ledger if isinstance(ledger, LedgerStore) else _store(ledger)
        try:
            self.payer = StorePayer(self.store, scope, labels)
            self._make_caps(budget, scope, labels)
        except BaseException:
            self._close()
            raise

    def _make_caps(self, budget: Budget, scope: str, labels: Labels) -> None:
        known = {balance.cap.key: balance.cap for balance in self.store.read(scope, labels)}
        for kind, count in budget.items():
            cap = Cap(scope, kind, count)
            value = known.get(cap.key)
            if value is None:
                if any(kind in record.worst for record in self.store.history(scope, LOOK)):
                    raise ConfigError(
                        f"calls of {scope} were made without a cap on {kind}, which a new one would not count; name "
                        f"another file or scope, or make it knowingly by `tape ledger cap {scope}`"
                    )
                self.store.set_cap(cap, "guard", "the budget of the first one")
            elif value.amount != count:
                raise ConfigError(
                    f"the ledger caps {scope} at {in_units(kind, value.amount)}, and this budget says "
                    f"{in_units(kind, count)}; change it by `tape ledger cap {scope}`, or give the same budget"
                )

    def close(self) -> None:
        """End what is due, and close the store.

        Raises:
            LedgerError: What calls took cannot be written; their worst cases stay held.
        """
        try:
            self.payer.close()
            if self.payer.due:
                raise LedgerError(f"what {self.payer.due} calls of {self.payer.scope} took cannot be written now")
        finally:
            self._close()

    def _close(self) -> None:
        if self._own:
            self.store.close()


def _store(where: Path | str) -> LedgerStore:
    """The store at an address, or in a file."""
    if isinstance(where, str) and is_address(where):
        return open_store(where)
    require_file(str(where))
    from tape.budget.stores.file import FileStore

    return FileStore(Path(where))


def limits_of(payer: StorePayer) -> tuple[Limit, ...]:
    """The caps of a payer, of each resource the one of which the least is left."""
    return tuple(
        Limit(payer.scope, kind, balance.amount, balance.spent, balance.held)
        for kind, balance in sorted(payer.tightest().items())
    )
