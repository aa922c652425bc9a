"""Where holds are kept, by address: in memory, in a file that programs share, or in a database that hosts share.

==================  ==============================================================================
``addresses.py``    which store an address names, and what of it may be shown
``memory.py``       a store of one program, and what it shares with one in a file
``file.py``         a store in a file (``shared_file.py``)
``books.py``        what may happen there: its state as a function of its records
``parts.py``        what calls within parts count in, and what their holds take
``windows.py``      the caps in their periods, and the sums over the holds
``postgres.py``     a store in a database
``sql/``            what may happen there: tables, and functions
``batches.py``      the requests of a program that go to it together
``faults.py``       what each transaction there relies on, and its faults in one sentence each
==================  ==============================================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from tape.budget.accounts import Labels
from tape.budget.contract import LedgerStore
from tape.budget.payer import StorePayer
from tape.budget.stores.addresses import Address, read_address


def open_store(url: str | Address) -> LedgerStore:
    """The store at ``postgresql://user@host/database`` or ``file:///var/lib/budget.ledger``, or a new one, ``memory:``.

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
        >>> from tape.budget import Cap, open_store
        >>> with closing(open_store("file://budget.ledger")) as store:
        ...     store.set_cap(Cap("org", "usd", 50_000), "anna", "the first cap")
        ...     print([(one.cap.account, one.left) for one in store.balances()])
        [('org', 50000)]
    """
    address = read_address(url)
    if address.path is not None:
        from tape.budget.stores.file import FileStore

        return FileStore(address.path)
    if not address.conninfo:
        from tape.budget.stores.memory import MemoryStore

        return MemoryStore()
    from tape.budget.stores.postgres import PostgresStore

    return PostgresStore(address)


@contextmanager
def paying(url: str | None, scope: str, labels: Labels | None = None) -> Iterator[StorePayer | None]:
    """A scope of the store at an address while the block lasts; None where there is no address.

    Args:
        url: The address.
        scope: Who pays.
        labels: What else it is for.

    Raises:
        ConfigError, LedgerError, MissingExtraError: See :func:`open_store`.

    Examples:
        >>> from tape import Budget, Ledger, Resources
        >>> from tape.budget import paying
        >>> with paying("file://budget.ledger", "org/team") as payer:
        ...     with Ledger(Budget.of(usd="$0.05"), payer=payer).reserve(Resources.of(usd="$0.02")) as call:
        ...         _ = call.settle(Resources.of(usd="$0.01"))
        ...     print([dict(one.spent) for one in payer.store.history()])
        [{'usd': 10000}]
    """
    if not url:
        yield None
        return
    with closing(open_store(url)) as store, closing(StorePayer(store, scope, labels)) as payer:
        yield payer
