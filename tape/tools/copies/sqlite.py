"""A SQLite database as a state."""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tape.reading import short
from tape.tools.copies.base import MOST_BYTES, CopyableState, CopyError


class SQLite(CopyableState):
    """A database; tools get a connection that commits every statement. Copies are in memory.

    Args:
        path: Its file, which has to exist; or a connection.

    Raises:
        CopyError: There is no such file.
    """

    def __init__(self, path: Path | str | sqlite3.Connection) -> None:
        if not isinstance(path, sqlite3.Connection):
            if str(path) != ":memory:" and not Path(path).is_file():
                raise CopyError(f"there is no database {path}; make it first, or give a connection")
            path = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._connection = path

    @property
    def value(self) -> sqlite3.Connection:
        """The connection."""
        return self._connection

    def copy(self) -> SQLite:
        """By SQLite's backup, into memory."""
        [pages] = self._connection.execute("pragma page_count").fetchone()
        [size] = self._connection.execute("pragma page_size").fetchone()
        if pages * size > MOST_BYTES:
            raise CopyError(f"the database has {pages * size >> 20} MiB, and at most {MOST_BYTES >> 20} are copied")
        copied = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._connection.backup(copied)
        return SQLite(copied)

    def key(self) -> str:
        """All tables with their rows, in their order, hashed."""
        hashed = hashlib.sha256()
        for name, sql in self._tables():
            hashed.update(f"{name}\0{sql}\0".encode())
            for row in self._rows(name):
                hashed.update(repr(row).encode("utf-8", "surrogatepass"))
        return hashed.hexdigest()

    def _tables(self) -> list[tuple[str, str]]:
        query = "select name, sql from sqlite_master where sql is not null order by type desc, name"
        return [(str(name), str(sql)) for name, sql in self._connection.execute(query)]

    def _rows(self, name: str) -> Iterator[tuple[Any, ...]]:
        quoted = name.replace('"', '""')
        kind = self._connection.execute("select type from sqlite_master where name = ?", [name]).fetchone()
        query = f'select * from "{quoted}"'  # noqa: S608 - quoted
        return iter(self._connection.execute(query)) if kind == ("table",) else iter(())

    def difference(self, after: CopyableState) -> Sequence[str]:
        """The rows that are gone or new, by table; a row that was changed is both."""
        assert isinstance(after, SQLite)
        old, new = dict(self._tables()), dict(after._tables())
        found = [f"{'new' if name in new else 'gone'}: {name}" for name in sorted(old.keys() ^ new.keys())]
        for name in sorted(old.keys() & new.keys()):
            before, now = (Counter(map(repr, one._rows(name))) for one in (self, after))
            for word, rows in (("gone", before - now), ("new", now - before)):
                count = rows.total()
                if count:
                    found.append(f"{name}: {count} row{'s' * (count > 1)} {word}")
                    found += [f"  {short(row)}" for row in sorted(rows.elements())]
        return found

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
