"""The ready states against the suite that every state must pass, and what they refuse."""

from __future__ import annotations

import os
import sqlite3
import threading
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tape.testing import StateConformance
from tape.tools import ToolEnvironment, ToolError, tool
from tape.tools.copies import CopyableState, CopyError, Folder, PythonObject, SQLite, folder, sqlite


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
        "orders: empty list, gone", "seen: empty set, gone", "stock.pears: 3 -> 2", 'orders[0][0]: new, "pears"',
        "orders[0][1]: new, 1", 'seen{"pears"}: new, True',
    ]  # fmt: skip
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
    with pytest.raises(CopyError, match="function has no key; give PythonObject"):
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


def friends(count: int) -> list[Any]:
    """Everybody is the friend of everybody."""
    people: list[dict[str, Any]] = [{"name": number} for number in range(count)]
    for person in people:
        person["friends"] = people
    return people


@dataclass
class Other:
    """As the first, of another type."""

    at: int


@dataclass
class One:
    """With an attribute that is no field."""

    at: int

    def __post_init__(self) -> None:
        self.more = self.at


class Slots:
    """Its values stand in slots."""

    __slots__ = ("at",)

    def __init__(self, at: int) -> None:
        self.at = at


def twice(value: Any) -> list[Any]:
    return [value, value]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (One(1), Other(1)), (Slots(1), Slots(2)), ({"a.b": 1}, {"a": {"b": 1}}), ([1], (1,)), ([1], {0: 1}),
        (twice([1]), [[1], [1]]), ({1: 2}, {"1": 2}), (True, 1),
    ],
)  # fmt: skip
def test_what_differs_has_another_key(one: Any, other: Any) -> None:
    assert PythonObject(one).key() != PythonObject(other).key()
    for value in (one, other):
        assert PythonObject(value).key() == PythonObject(value).copy().key()


def test_an_attribute_that_is_no_field_counts() -> None:
    item, other = One(1), One(1)
    other.more = 7
    assert PythonObject(item).key() != PythonObject(other).key()
    assert [*PythonObject(item).difference(PythonObject(other))] == ["more: 1 -> 7"]


def test_objects_that_hold_each_other_are_written_once() -> None:
    assert PythonObject(friends(40)).key() == PythonObject(friends(40)).key()
    deep: list[Any] = []
    for _ in range(200):
        deep = [deep]
    with pytest.raises(CopyError, match="has over 100 others inside each other"):
        PythonObject(deep).key()


def shop(path: Path) -> sqlite3.Connection:
    made = sqlite3.connect(path, check_same_thread=False)
    made.executescript("create table t (a); insert into t values (1); insert into t values (null)")
    return made


def test_a_connection_may_have_its_own_rows_and_no_open_transaction(tmp_path: Path) -> None:
    connection = shop(tmp_path / "a.sqlite")
    connection.row_factory = sqlite3.Row
    database = SQLite(connection)
    copied = database.copy()
    assert copied.value.execute("select a from t").fetchone()["a"] == 1
    copied.value.execute("delete from t where a = 1")
    assert [*database.difference(copied)] == ["t: 1 row gone", "  '(1,)'"]
    connection.execute("insert into t values (5)")
    with pytest.raises(CopyError, match="a transaction that is not committed"):
        database.copy()
    connection.rollback()
    assert database.copy().key() == database.key()
    with pytest.raises(CopyError, match="belongs to one thread"):
        SQLite(sqlite3.connect(tmp_path / "a.sqlite"))
    connection.execute("insert into t values (cast(x'ff' as text))")
    connection.commit()
    with pytest.raises(CopyError, match="the database cannot be read"):
        database.key()


def test_rules_on_foreign_keys_are_those_of_the_connection(tmp_path: Path) -> None:
    connection = shop(tmp_path / "a.sqlite")
    connection.execute("pragma foreign_keys = on")
    assert SQLite(connection).copy().value.execute("pragma foreign_keys").fetchone() == (1,)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CopyError, match="pipe is neither a file nor a folder"):
        Folder(tmp_path).key()
    with pytest.raises(CopyError, match="pipe is neither a file nor a folder"):
        Folder(tmp_path).copy()
    (tmp_path / "pipe").unlink()
    (tmp_path / "real").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(CopyError, match="has a whole path"):
        Folder(tmp_path).copy()
