"""A SQLite database as a state."""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tape.reading import short
from tape.tools.copies.base import MOST_BYTES, CopyableState, CopyError
from tape.tools.copies.guard import refuse


class SQLite(CopyableState):
    """A database; tools get a connection that commits every statement. Copies are in memory.

    Args:
        path: Its file, which has to exist; or a connection.

    Raises:
        CopyError: There is no such file, or the connection works in one thread only.

    Examples:
        >>> from tape.tools.copies import SQLite
        >>> shop = SQLite(":memory:")
        >>> _ = shop.value.execute("create table stock (pears integer)")
        >>> copied = shop.copy()
        >>> _ = copied.value.execute("insert into stock values (3)")
        >>> shop.difference(copied)
        ['stock: 1 row new', "  '(3,)'"]
    """

    def __init__(self, path: Path | str | sqlite3.Connection) -> None:
        if not isinstance(path, sqlite3.Connection):
            if str(path) != ":memory:" and not Path(path).is_file():
                raise CopyError(f"there is no database {path}; make it first, or give a connection")
            path = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._connection = path
        if not self._is_for_all_threads():
            raise CopyError("the connection belongs to one thread; give the path, or connect(check_same_thread=False)")

    def _is_for_all_threads(self) -> bool:
        """Tools and copies use it in threads of their own."""
        with ThreadPoolExecutor(1) as other:
            return other.submit(self._connection.execute, "select 1").exception() is None

    @property
    def value(self) -> sqlite3.Connection:
        """The connection."""
        return self._connection

    def copy(self) -> SQLite:
        """By SQLite's backup, into memory; with the connection's row factory and its rule on foreign keys.

        Functions that were made for the connection are not copied.
        """
        source = self._connection
        if source.in_transaction:
            raise CopyError("the database has a transaction that is not committed; every tool has to commit")
        with _readable():
            [[pages]], [[size]], [[keys]] = (
                self._all(f"pragma {n}") for n in ("page_count", "page_size", "foreign_keys")
            )
            if pages * size > MOST_BYTES:
                raise CopyError(f"the database has {pages * size >> 20} MiB, and at most {MOST_BYTES >> 20} are copied")
            copied = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
            source.backup(copied)
            copied.execute(f"pragma foreign_keys = {keys}")
        copied.row_factory, copied.text_factory = source.row_factory, source.text_factory
        copied.set_authorizer(_authorized)
        return SQLite(copied)

    def _all(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Rows as tuples, whatever the connection makes of them."""
        cursor = self._connection.cursor()
        cursor.row_factory = None
        return list(cursor.execute(query, values))

    def key(self) -> str:
        """All tables with their rows, in their order, hashed."""
        hashed = hashlib.sha256()
        with _readable():
            for name, sql in self._tables():
                hashed.update(f"{name}\0{sql}\0".encode())
                for row in self._rows(name):
                    hashed.update(repr(row).encode("utf-8", "surrogatepass"))
        return hashed.hexdigest()

    def _tables(self) -> list[tuple[str, str]]:
        query = "select name, sql from sqlite_master where sql is not null order by type desc, name"
        return [(str(name), str(sql)) for name, sql in self._all(query)]

    def _rows(self, name: str) -> list[tuple[Any, ...]]:
        quoted = name.replace('"', '""')
        kind = self._all("select type from sqlite_master where name = ?", name)
        return self._all(f'select * from "{quoted}"') if kind == [("table",)] else []  # noqa: S608 - quoted

    def difference(self, after: CopyableState) -> Sequence[str]:
        """The rows that are gone or new, by table; a row that was changed is both."""
        assert isinstance(after, SQLite)
        with _readable():
            return self._differences(after)

    def _differences(self, after: SQLite) -> list[str]:
        old, new = dict(self._tables()), dict(after._tables())
        texts = [f"{'new' if name in new else 'gone'}: {name}" for name in sorted(old.keys() ^ new.keys())]
        for name in sorted(old.keys() & new.keys()):
            before, now = (Counter(map(repr, database._rows(name))) for database in (self, after))
            for word, rows in (("gone", before - now), ("new", now - before)):
                count = rows.total()
                if count:
                    texts.append(f"{name}: {count} row{'s' * (count > 1)} {word}")
                    texts += [f"  {short(row)}" for row in sorted(rows.elements())]
        return texts

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


@contextmanager
def _readable() -> Iterator[None]:
    """Turn what SQLite raises into :class:`CopyError`."""
    try:
        yield
    except (sqlite3.Error, UnicodeError) as error:
        raise CopyError(f"the database cannot be read: {error}") from error


def _authorized(action: int, *details: Any) -> int:
    """No file is attached to a copy, nor written from it."""
    if action == sqlite3.SQLITE_ATTACH and details[0] not in ("", ":memory:") and refuse(f"attach {details[0]}"):
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK
