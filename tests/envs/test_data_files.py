"""Data files are checked field by field, and errors say where."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from envs.alfworld.game.kinds import read_kinds
from envs.alfworld.game.rooms import read_rooms
from envs.data_files import DataFileError, Entry, read_toml
from envs.travelplanner.words import read_names

ENVS = Path(__file__).parents[2] / "envs"
ENTRY = Entry(
    "f.toml",
    "e",
    {"t": "some words", "l": ["a", "b"], "twice": "a b a", "n": 2, "b": True, "d": {"x": 1}, "empty": " "},
)


def test_what_is_there_is_read() -> None:
    assert ENTRY.text("t") == "some words"
    assert ENTRY.words("t") == ("some", "words")
    assert ENTRY.texts("l", least=2) == ("a", "b")
    assert ENTRY.words("empty", least=0) == ()
    assert (ENTRY.flag("b"), ENTRY.flag("none")) == (True, False)
    assert ENTRY.number("n", 0, 2) == 2.0
    assert ENTRY.table("d") == Entry("f.toml", "e.d", {"x": 1})


@pytest.mark.parametrize(
    ("read", "field", "message"),
    [
        (lambda: ENTRY.text("none"), "none", "is missing"),
        (lambda: ENTRY.text("empty"), "empty", "not empty"),
        (lambda: ENTRY.text("n"), "n", "give a text"),
        (lambda: ENTRY.words("n"), "n", "give words"),
        (lambda: ENTRY.words("empty"), "empty", "give 1 or more"),
        (lambda: ENTRY.words("twice"), "twice", "the word 'a' twice"),
        (lambda: ENTRY.texts("t"), "t", "list of texts"),
        (lambda: ENTRY.texts("l", least=3), "l", "give 3 or more"),
        (lambda: ENTRY.flag("n"), "n", "true or false"),
        (lambda: ENTRY.number("b", 0, 1), "b", "from 0 to 1"),
        (lambda: ENTRY.number("n", 0, 1), "n", "from 0 to 1"),
        (lambda: ENTRY.table("t"), "t", "give a table"),
        (lambda: list(ENTRY.tables()), "t", "give a table"),
        (lambda: ENTRY.only("t", "l"), "twice", "there is: t, l"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(read: Callable[[], object], field: str, message: str) -> None:
    with pytest.raises(DataFileError, match=message) as caught:
        read()
    error = caught.value
    assert (error.file, error.place, error.field) == ("f.toml", "entry 'e'", field)
    assert str(error).startswith(f"f.toml: entry 'e': field {field!r}: ")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.field) == (str(error), field)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read"),
        (b"a = ", "no TOML"),
        (b"\xff", "no UTF-8"),
        (b"\na = ", "line 2: no TOML"),
        (b"a = " + b"[" * 100_000, "line 1: nested deeper"),
        (b"a = " + b"9" * 6000, "line 1: a whole number of 6000 digits"),
    ],
)
def test_a_file_that_is_none(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "f.toml").write_bytes(content)
    with pytest.raises(DataFileError, match=message) as caught:
        read_toml(tmp_path, "f.toml")
    assert (caught.value.file, caught.value.place, caught.value.field) == (str(tmp_path / "f.toml"), "", "")


@pytest.mark.parametrize(
    ("environment", "name", "read", "old", "new", "message"),
    [
        ("alfworld", "kinds.toml", read_kinds, 'openable = "cabinet', 'openable = "cupboard', "no kind 'cupboard'"),
        ("alfworld", "kinds.toml", read_kinds, '"fridge microwave safe"', '"bed"', "always_openable.*no kind 'bed'"),
        ("alfworld", "kinds.toml", read_kinds, '"microwave"\n', '"oven"\n', "treatments.heat.*receptacle.*'oven'"),
        ("alfworld", "kinds.toml", read_kinds, "[treatments.cool]", "[treatments.chill]", "'treatments'.*'chill'"),
        ("alfworld", "rooms.toml", read_rooms, "[3, 16]", "[16, 3]", "rooms.kitchen.furniture.*'cabinet'.*fewest"),
        ("alfworld", "rooms.toml", read_rooms, "cabinet = [3", "cupboard = [3", "no kind 'cupboard'"),
        ("alfworld", "rooms.toml", read_rooms, "keychain knife ladle pen", "egg knife pen", "'egg' has another liking"),
        ("alfworld", "rooms.toml", read_rooms, "cabinet = 0.25", "cabinet = 1.5", "sometimes_open.*from 0 to 1"),
        ("travelplanner", "names.toml", read_names, "[stays]", "[hotels]", "field 'hotels'.*unknown"),
        ("travelplanner", "names.toml", read_names, '"Loft"', '"Flat"', "'stays'.*'second'.*'Flat' twice"),
    ],
)
def test_the_files_of_an_environment_are_checked(
    environment: str, name: str, read: Callable[[Path], object], old: str, new: str, message: str, tmp_path: Path
) -> None:
    text = (ENVS / environment / "data" / name).read_text(encoding="utf-8")
    assert old in text
    (tmp_path / name).write_text(text, encoding="utf-8")
    read(tmp_path)
    (tmp_path / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DataFileError, match=message):
        read(tmp_path)
