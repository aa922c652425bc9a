"""The ready states against the suite that every state must pass, and what they refuse."""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tape.testing import StateConformance
from tape.tools import ToolEnvironment, ToolError, tool
from tape.tools.copies import CopyableState, CopyError, Folder, PythonObject, SQLite, base, folder, sqlite


@tool(state={"db": "write"})
def add(db: sqlite3.Connection, name: str, rng: Random) -> int:
    """Add a fruit, and a random number of pieces."""
    db.execute("insert into stock values (?, ?)", [name, rng.randrange(5)])
    return int(db.execute("select count(*) from stock").fetchone()[0])


@tool(state={"db": "write"})
def drop(db: sqlite3.Connection, name: str) -> None:
    """Delete a fruit."""
    db.execute("delete from stock where fruit = ?", [name])


@tool(state={"db": "read"})
def count(db: sqlite3.Connection) -> int:
    """How many rows there are."""
    return int(db.execute("select count(*) from stock").fetchone()[0])


@tool(state={"db": "write"})
def spoil(db: sqlite3.Connection) -> None:
    """Fail in the middle."""
    db.execute("update stock set pieces = pieces + 1")
    raise ValueError("spoilt")


class TestSQLite(StateConformance):
    """A database in memory."""

    name = "db"
    calls = ((add, {"name": "pears"}), (drop, {"name": "pears"}), (count, {}), (spoil, {}))

    def state(self) -> SQLite:
        made = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        made.executescript("create table stock (fruit text, pieces integer); insert into stock values ('figs', 1)")
        return SQLite(made)


@tool(state={"files": "write"})
def write(files: Path, name: str, text: str) -> None:
    """Write a file."""
    (files / name).write_text(text)


@tool(state={"files": "write"})
def remove(files: Path, name: str) -> None:
    """Remove a file."""
    (files / name).unlink()


@tool(state={"files": "read"})
def names(files: Path) -> list[str]:
    """The names."""
    return sorted(file.name for file in files.iterdir())


class TestFolder(StateConformance):
    """A folder with two files."""

    name = "files"
    calls = (
        (write, {"name": "a.txt", "text": "one\ntwo\n"}),
        (write, {"name": "b.txt", "text": "three"}),
        (remove, {"name": "a.txt"}),
        (names, {}),
    )

    @pytest.fixture(autouse=True)
    def _above(self, tmp_path: Path) -> None:
        self._number, self._folder = 0, tmp_path

    def state(self) -> Folder:
        self._number += 1
        made = self._folder / str(self._number)
        (made / "sub").mkdir(parents=True)
        (made / "a.txt").write_text("one\n")
        return Folder(made)


@dataclass
class Shop:
    """A service in memory."""

    stock: dict[str, int] = field(default_factory=lambda: {"pears": 3})
    orders: list[tuple[str, int]] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)


@tool(state={"shop": "write"})
def sell(shop: Shop, fruit: str) -> int:
    """Sell one."""
    shop.stock[fruit] -= 1
    shop.orders.append((fruit, 1))
    shop.seen.add(fruit)
    return shop.stock[fruit]


@tool(state={"shop": "read"})
def left(shop: Shop, fruit: str) -> int:
    """How many are left."""
    return shop.stock[fruit]


class TestObject(StateConformance):
    """Objects inside each other."""

    name = "shop"
    calls = ((sell, {"fruit": "pears"}), (sell, {"fruit": "figs"}), (left, {"fruit": "pears"}))

    def state(self) -> PythonObject[Shop]:
        return PythonObject(Shop())


def test_differences_say_what_is_where(tmp_path: Path) -> None:
    shop = PythonObject(Shop())
    after = shop.copy()
    sell.function(after.value, "pears")
    assert [*shop.difference(after)] == [
        "stock.pears: 3 -> 2",
        "orders: empty list, gone",
        "seen: empty set, gone",
        'orders[0][0]: new, "pears"',
        "orders[0][1]: new, 1",
        'seen{"pears"}: new, True',
    ]
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    files = Folder(tmp_path)
    copied = files.copy()
    (copied.value / "a.txt").write_text("one\nthree\n")
    (copied.value / "b.bin").write_bytes(b"\xff")
    assert [*files.difference(copied)] == ["changed: a.txt", "  -two", "  +three", "new: b.bin"]
    copied.close()
    assert not copied.value.exists()
    assert (tmp_path / "a.txt").exists()


def test_what_cannot_be_copied_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CopyError, match=r"dict cannot be copied: .*lock"):
        PythonObject({"lock": threading.Lock()}).copy()
    with pytest.raises(CopyError, match="what handler holds, function, has no key; give PythonObject"):
        PythonObject({"handler": lambda: None}).key()
    assert PythonObject({"handler": lambda: None}, key=lambda value: "same").key()
    with pytest.raises(CopyError, match="there is no database"):
        SQLite(tmp_path / "none.sqlite")
    with pytest.raises(CopyError, match="there is no folder"):
        Folder(tmp_path / "none")
    (tmp_path / "out").symlink_to("/")
    with pytest.raises(CopyError, match="leads out of"):
        Folder(tmp_path).copy()
    (tmp_path / "out").unlink()
    (tmp_path / "a").write_text("abc")
    monkeypatch.setattr(folder, "MOST_BYTES", 2)
    with pytest.raises(CopyError, match="more than 0 MiB"):
        Folder(tmp_path).copy()
    monkeypatch.setattr(sqlite, "MOST_BYTES", 2)
    with pytest.raises(CopyError, match="at most 0 are copied"):
        TestSQLite().state().copy()


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (None, "the tools use shop; give state={NAME: STATE}, got no state"),
        ({"shop": Shop()}, "the state 'shop' is Shop.*, of which no copy can be made"),
        ({"store": PythonObject(Shop())}, "sell uses the state 'shop', which is not given; there is: store"),
        (Shop(), "give state={NAME: STATE}, got Shop"),
    ],
)
def test_a_state_that_does_not_fit_the_tools_is_named(state: Any, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        ToolEnvironment("task", [sell], state=state)


def test_declarations_that_contradict_each_other() -> None:
    with pytest.raises(ToolError, match="it uses the state 'shop' and has no parameter of this name"):

        @tool(state={"shop": "read"})
        def one(fruit: str) -> int:
            """Do."""
            return 0

    with pytest.raises(ToolError, match="it writes a state, so it is not pure"):

        @tool(state={"shop": "write"}, pure=True)
        def two(shop: Shop) -> int:
            """Do."""
            return 0

    with pytest.raises(ToolError, match='is "read" or "write", got \'change\''):

        @tool(state={"shop": "change"})  # type: ignore[dict-item]
        def three(shop: Shop) -> int:
            """Do."""
            return 0

    assert left.pure
    assert "shop" not in left.arguments.model_fields
    other: CopyableState = PythonObject(Shop())
    with pytest.raises(ToolError, match="one state is given, and the tools name db, shop"):
        ToolEnvironment("task", [left, count], state=other)


def test_long_differences_are_cut() -> None:
    lines = base.shortened([str(number) for number in range(50)])
    assert (len(lines), lines[-1]) == (41, "and 10 more")
