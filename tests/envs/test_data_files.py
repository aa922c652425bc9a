"""Data files are checked field by field, and errors name the place."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import envs.gsm_hard.templates as gsm_hard
import envs.musique.wordings as musique
import envs.repo_qa.wordings as code
from envs.alfworld.game.kinds import read_kinds
from envs.alfworld.game.rooms import read_rooms
from envs.data_files import DataFileError, TableEntry, read_toml
from envs.locomo import relations
from envs.locomo.talk import read_talk
from envs.locomo.words import read_words
from envs.travelplanner.generator import read_names

ENVS = Path(__file__).parents[2] / "envs"
FIELDS = {"t": "some words", "l": ["a", "b"], "twice": "a b a", "n": 2, "b": True, "d": {"x": 1}, "empty": " "}
ENTRY = TableEntry("f.toml", "e", FIELDS)


def test_what_is_there_is_read() -> None:
    assert ENTRY.text("t") == "some words"
    assert ENTRY.words("t") == ("some", "words")
    assert ENTRY.texts("l", least=2) == ("a", "b")
    assert ENTRY.words("empty", least=0) == ()
    assert (ENTRY.flag("b"), ENTRY.flag("none")) == (True, False)
    assert ENTRY.number("n", 0, 2) == 2.0
    assert ENTRY.table("d") == TableEntry("f.toml", "e.d", {"x": 1})


@pytest.mark.parametrize(
    ("read", "field", "message"),
    [
        (lambda: ENTRY.text("none"), "none", "is missing"), (lambda: ENTRY.text("empty"), "empty", "not empty"),
        (lambda: ENTRY.text("n"), "n", "give a text"), (lambda: ENTRY.words("n"), "n", "give words"),
        (lambda: ENTRY.words("empty"), "empty", "give 1 or more"),
        (lambda: ENTRY.words("twice"), "twice", "the word 'a' twice"), (lambda: ENTRY.texts("t"), "t", "list of texts"),
        (lambda: ENTRY.texts("l", least=3), "l", "give 3 or more"), (lambda: ENTRY.flag("n"), "n", "true or false"),
        (lambda: ENTRY.number("b", 0, 1), "b", "from 0 to 1"), (lambda: ENTRY.number("n", 0, 1), "n", "from 0 to 1"),
        (lambda: ENTRY.table("t"), "t", "give a table"), (lambda: list(ENTRY.tables()), "t", "give a table"),
        (lambda: ENTRY.only("t", "l"), "twice", "there is: t, l"),
    ],
)  # fmt: skip
def test_errors_name_the_place(read: Callable[[], object], field: str, message: str) -> None:
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
        (None, "cannot be read"), (b"a = ", "no TOML"), (b"\xff", "no UTF-8"), (b"\na = ", "line 2: no TOML"),
        (b"a = " + b"[" * 100_000, "line 1: nested deeper"),
        (b"a = " + b"9" * 6000, "line 1: a whole number of 6000 digits"),
    ],
)  # fmt: skip
def test_a_file_that_is_none(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "f.toml").write_bytes(content)
    with pytest.raises(DataFileError, match=message) as caught:
        read_toml(tmp_path, "f.toml")
    assert (caught.value.file, caught.value.place, caught.value.field) == (str(tmp_path / "f.toml"), "", "")


GROWTH = """
[doubling]
numbers = { a = "mid", b = "deck" }
program = ["power(2, b)", "multiply(a, #1)"]
wordings = [
    "There are {a} cells. [Their number|It] doubles each hour. How many are there after {b} hours?",
    "{name} has ${a}, and {x} {item2}. Each year {his} money doubles. How much is it after {b} years?",
]
"""
PEOPLE = """
[friend]
symmetric = true
sentences = ["{s} is a friend of {o}.", "{o} likes {s}."]
phrases = ["the friend of {x}", "the one whom {x} likes"]
questions = ["who likes {x}?", "whom does {x} like?"]
"""
PET = """[pet]
key = "kin"
value = "pet"
said = ["My {key} has {value}.", "The pet of my {key} is {value}.", "{value} belongs to my {key}."]
asked = ["What has {who}'s {key}?", "Which pet has {who}'s {key}?", "What pet belongs to {who}'s {key}?"]
"""
FILES: dict[str, tuple[str, str, Callable[[Path], object], str]] = {
    "kinds": ("alfworld", "kinds.toml", read_kinds, ""),
    "rooms": ("alfworld", "rooms.toml", read_rooms, ""),
    "trips": ("travelplanner", "names.toml", read_names, ""),
    "templates": ("gsm_hard", "growth.toml", lambda to: gsm_hard.read_templates(to, gsm_hard.WORD_LISTS), GROWTH),
    "words": ("gsm_hard", "words.toml", gsm_hard.read_words, ""),
    "relations": ("musique", "people.toml", musique.read_relations, PEOPLE),
    "talk relations": ("locomo", relations.FILES[0], relations.read_relations, PET),
    "talk words": ("locomo", "words.toml", read_words, ""),
    "talk": ("locomo", "talk.toml", read_talk, ""),
    "code": ("repo_qa", code.FILE, code.read_wordings, ""),
}
"""Data files of environments: the folder, the name, what reads it, and what stands in it in the place of its own."""


CASES: dict[str, list[tuple[str, str, str, str]]] = {
    "kinds": [
        ('openable = "cabinet', 'openable = "cupboard', "", "no kind 'cupboard'"),
        ('"fridge microwave safe"', '"bed"', "", "always_openable.*no kind 'bed'"),
        ('"microwave"\n', '"oven"\n', "", "treatments.heat.*receptacle.*'oven'"),
        ("[treatments.cool]", "[treatments.chill]", "", "'treatments'.*'chill'"),
    ],
    "rooms": [
        ("[3, 16]", "[16, 3]", "", "rooms.kitchen.furniture.*'cabinet'.*fewest"),
        ("cabinet = [3", "cupboard = [3", "", "no kind 'cupboard'"),
        ("keychain knife ladle pen", "egg knife pen", "", "'egg' has another liking"),
        ("cabinet = 0.25", "cabinet = 1.5", "", "sometimes_open.*from 0 to 1"),
    ],
    "trips": [
        ("[stays]", "[hotels]", "", "field 'hotels'.*unknown"),
        ('"Loft"', '"Flat"', "", "'stays'.*'second'.*'Flat' twice"),
    ],
    "templates": [
        ("numbers =", "number =", "number", "is unknown"),
        ("numbers = { a", "numbers = { ab", "numbers", "'ab' cannot be a number"),
        ("numbers = { a", "numbers = { x", "numbers", "'x' cannot be a number"),
        ('"mid"', '"medium"', "numbers", "no range 'medium'; there is: big"),
        ("power(2, b)", "power 2 b", "program", "'power 2 b' is no call"),
        ("power(2, b)", "root(2, b)", "program", "no 'root' with 2 arguments; there is: add with 2"),
        ("power(2, b)", "power(b)", "program", "no 'power' with 1 arguments"),
        ("power(2, b)", "power(5, b)", "program", "'5' is none of the numbers"),
        ("power(2, b)", "power(#1, b)", "program", "'#1' is none of the numbers"),
        ("multiply(a, #1)", "multiply(a, b)", "program", "does not use #1"),
        ("multiply(a, #1)", "multiply(2, #1)", "program", "does not use a"),
        ('["power(2, b)", "multiply(a, #1)"]', "[]", "program", "list of calls"),
        ("wordings = [", "wordings = []\nrest = [", "rest", "is unknown"),
        ("There are {a} cells", "There are cells", "wordings", "a of the program is missing"),
        ("{item2}", "{thing}", "wordings", r"nothing is known to put for \{thing\}"),
        ("{x}", "{c}", "wordings", r"nothing is known to put for \{c\}"),
        ("[Their", "Their", "wordings", "outside of brackets"), ("|It]", "|It", "wordings", "an open bracket"),
        ("program =", "held_out = 1\nprogram =", "held_out", "true or false"),
    ],
    "words": [
        ("Ada Bella", "Ada Adam", "", "names.men.*'Adam' is in another group"),
        ('him = "him"', 'it = "it"', "", "names.men.*'it'.*unknown"), ("{animal9}", "{beast}", "", "'asides'.*{beast}"),
        ("hens goats", "hens hens", "", "lists.*'animal'.*'hens' twice"),
    ],
    "relations": [
        ("{o} likes {s}.", "{s} is liked.", "sentences", r"must have \{o\} and \{s\}"),
        ("{o} likes {s}.", "{o} likes {s} and {town}.", "sentences", r"must have \{o\} and \{s\}"),
        ("the friend of {x}", "the friend of {x", "phrases", r"must have \{x\}"),
        ('"who likes {x}?", ', "", "questions", "give 2 or more"), ("questions", "asked", "asked", "is unknown"),
        ("[friend]", "[best-friend]", "", "one lower-case word"),
    ],
    "talk relations": [
        ('key = "kin"', 'key = "planet"', "key", "is 'planet'; there is: town"),
        ('value = "pet"', "", "value", "is missing"),
        ('value = "pet"', 'value = "pet"\nvalues = "x"', "values", "is unknown"),
        (', "{value} belongs to my {key}."', "", "said", "give 3 or more"),
        ("My {key} has {value}.", "My aunt has {value}.", "said", r"needs \{key\}, \{value\}, and may have none"),
        ("What has {who}'s {key}?", "What has the {key}?", "asked", r"needs \{key\}, \{who\}"),
        ("What has {who}'s {key}?", "What has {who}'s {key}, {value}?", "asked", r"may have \{he\}"),
        ("[pet]", "[[pet]]", "", "field 'pet': .*table"), ("[pet]", "[pet", "", "no TOML"),
    ],
    "talk words": [
        ('day = "Monday|Tuesday|', 'day = "Tuesday|Tuesday|', "day", ""),
        ('room = "kitchen|bedroom|hallway|bathroom|study|', 'room = "', "room", ""),
        ("[titles]\nfirsts", "[titles]\nothers", "others", ""),
    ],
    "talk": [("farewells = [", "goodbyes = [", "goodbyes", "")],
    "code": [
        ("{x} inherit?", "{y} inherit?", "", "each of these gaps"),
        ("parameter {p} of {x}", "parameter of {x}", "", r"\{p\}, \{x\}"),
        ('subjects = ["method"]', 'subjects = ["thing"]', "", "class, function, method"),
        ("[raises]", "[throws]", "", "throws"), ('class = "the class {name}"', 'class = "the class"', "", r"\{name\}"),
    ],
}  # fmt: skip
"""What is changed of each, into what, and the field and the problem that are named."""


def copied(file: str, to: Path) -> tuple[Path, str]:
    """The data files of an environment, one of them with its text from above; the path of that one and its text."""
    environment, name, _, given = FILES[file]
    path = shutil.copytree(ENVS / environment / "data", to / "data") / name
    text = given or path.read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    for other in relations.FILES[1:] if file == "talk relations" else ():
        (path.parent / other).write_text("", encoding="utf-8")
    return path, text


@pytest.mark.parametrize("file", FILES)
def test_whole_files_are_read(file: str, tmp_path: Path) -> None:
    assert FILES[file][2](copied(file, tmp_path)[0].parent)


@pytest.mark.parametrize(
    ("file", "old", "new", "field", "problem"), [(file, *case) for file, cases in CASES.items() for case in cases]
)
def test_the_files_of_an_environment_are_checked(
    file: str, old: str, new: str, field: str, problem: str, tmp_path: Path
) -> None:
    _, _, read, given = FILES[file]
    path, text = copied(file, tmp_path)
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DataFileError, match=problem or None) as caught:
        read(path.parent)
    assert caught.value.file == str(path)
    if field:
        assert caught.value.field == field
    if field and given:
        assert caught.value.place == f"entry {given.split(']')[0].strip()[1:]!r}"


@pytest.mark.parametrize(
    ("file", "other", "message"),
    [
        ("templates", "money.toml", "money.toml: entry 'doubling': is in another file"),
        ("relations", "things.toml", "things.toml: entry 'friend': is in another file"),
        ("talk relations", relations.FILES[1], "entry 'pet': came before"),
    ],
)
def test_an_entry_stands_in_one_file_only(file: str, other: str, message: str, tmp_path: Path) -> None:
    path, text = copied(file, tmp_path)
    (path.parent / other).write_text(text, encoding="utf-8")
    with pytest.raises(DataFileError, match=message):
        FILES[file][2](path.parent)
