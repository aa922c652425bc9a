"""Budgets that programs and hosts share: caps by scope, label and period, and holds that are never lost.

==================  ==============================================================================
``contract.py``     what a store promises: requests, holds, answers
``caps.py``         caps, and what has become of them
``rules.py``        what happens at a cap: rules, pauses, warnings; and the errors
``accounts.py``     what accounts, amounts and words may be
``periods.py``      for what time a cap is
``file.py``         a store in a file that programs of one host share
``records.py``      the lines of the file
``books.py``        what may happen there: its state as a function of its records
``parts.py``        what calls within parts count in, and what their holds take
``windows.py``      the caps in their periods, and the sums over the holds
``postgres.py``     a store in a database that hosts share
``sql/``            what may happen there: tables by version, and functions
``batches.py``      the requests of a program that go to it together
``faults.py``       what each transaction there relies on, and its faults in one sentence each
``addresses.py``    which store an address names, and what of it may be shown
``payer.py``        a scope of a store as what a :class:`tape.budget.Ledger` asks: waits, asks, hands on
==================  ==============================================================================

See docs/reference/ledger.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from tape.ledger.accounts import Labels as Labels
from tape.ledger.addresses import Address, read_address
from tape.ledger.caps import Balance as Balance
from tape.ledger.caps import Cap as Cap
from tape.ledger.contract import Ended as Ended
from tape.ledger.contract import Held as Held
from tape.ledger.contract import LedgerStore as LedgerStore
from tape.ledger.contract import Refused as Refused
from tape.ledger.contract import Request as Request
from tape.ledger.payer import StorePayer as StorePayer
from tape.ledger.periods import Period as Period
from tape.ledger.rules import LedgerError as LedgerError
from tape.ledger.rules import Pause as Pause
from tape.ledger.rules import Paused as Paused
from tape.ledger.rules import PausedError as PausedError
from tape.ledger.rules import Rule as Rule
from tape.ledger.rules import UnknownHoldError as UnknownHoldError
from tape.ledger.rules import UnreachableLedgerError as UnreachableLedgerError
from tape.ledger.rules import Wanted as Wanted
from tape.ledger.rules import Warned as Warned


def open_store(url: str | Address) -> LedgerStore:
    """The store at ``postgresql://user@host/database``, or ``file:///var/lib/budget.ledger``.

    Args:
        url: The address, also as ``host=... dbname=...``, or with a driver as in ``postgresql+psycopg://``. A file is
            made where there is none; the tables of a database are made by ``tape ledger init``.

    Returns:
        The store; :meth:`LedgerStore.close` it at the end.

    Raises:
        ConfigError: It is no address of a store.
        LedgerError: It cannot be opened.
        MissingExtraError: A database is named, and the extra ``postgres`` is not installed.

    Examples:
        >>> from contextlib import closing
        >>> from tape.ledger import Cap, open_store
        >>> with closing(open_store("file://budget.ledger")) as store:
        ...     store.set_cap(Cap("org", "usd", 50_000), "anna", "the first cap")
        ...     print([(one.cap.account, one.left) for one in store.balances()])
        [('org', 50000)]
    """
    address = read_address(url)
    if address.path is not None:
        from tape.ledger.file import FileStore

        return FileStore(address.path)
    assert address.conninfo, "what is no file is in a database"
    from tape.ledger.postgres import PostgresStore

    return PostgresStore(address)


@contextmanager
def paying(
    url: str | None, scope: str, labels: Labels | None = None, *, patient: bool = True
) -> Iterator[StorePayer | None]:
    """A scope of the store at an address while the block lasts; None where there is no address.

    Args:
        url: The address.
        scope: Who pays.
        labels: What else it is for.
        patient: See :class:`StorePayer`.

    Raises:
        ConfigError, LedgerError, MissingExtraError: See :func:`open_store`.

    Examples:
        >>> from tape import Budget, Ledger, Resources
        >>> from tape.ledger import paying
        >>> with paying("file://budget.ledger", "org/team") as payer:
        ...     with Ledger(Budget.of(usd="$0.05"), payer=payer).reserve(Resources.of(usd="$0.02")) as call:
        ...         _ = call.settle(Resources.of(usd="$0.01"))
        ...     print([dict(one.spent) for one in payer.store.history()])
        [{'usd': 10000}]
    """
    if not url:
        yield None
        return
    with closing(open_store(url)) as store, closing(StorePayer(store, scope, labels, patient=patient)) as payer:
        assert payer.store is store, "it pays from what is at the address"
        yield payer
