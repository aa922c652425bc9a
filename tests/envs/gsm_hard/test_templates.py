"""Templates of word problems are data files, which are checked."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import envs.gsm_hard
from envs.data_files import DataFileError
from envs.gsm_hard.errors import GsmHardError
from envs.gsm_hard.problem import Step
from envs.gsm_hard.templates import RANGES, TEMPLATES, WORD_LISTS, parse, read_templates, read_words

GROWTH = """
[doubling]
numbers = { a = "mid", b = "deck" }
program = ["power(2, b)", "multiply(a, #1)"]
wordings = [
    "There are {a} cells. [Their number|It] doubles each hour. How many are there after {b} hours?",
    "{name} has ${a}, and {x} {item2}. Each year {his} money doubles. How much is it after {b} years?",
]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of data files of which ``growth.toml`` has one template."""
    shutil.copytree(Path(envs.gsm_hard.__file__).parent / "data", tmp_path, dirs_exist_ok=True)
    (tmp_path / "growth.toml").write_text(GROWTH, encoding="utf-8")
    return tmp_path


def test_a_template_is_read(folder: Path) -> None:
    found = {template.name: template for template in read_templates(folder, WORD_LISTS)}
    template = found["doubling"]
    assert template.ranges == {"a": RANGES["mid"], "b": RANGES["deck"]}
    assert template.steps == (Step("power", (2.0, "b")), Step("multiply", ("a", "#1")))
    assert not template.held_out
    assert template.rare
    assert (template.choices(held_out=True), template.choices(held_out=False)) == ((1,), (0,))
    # Files and their entries keep their order, which seeds depend on.
    assert list(found) == [t.name for t in TEMPLATES if not t.rare or t.name == "doubling"]


@pytest.mark.parametrize(
    ("old", "new", "field", "message"),
    [
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
        ("There are {a} cells", "There are cells", "wordings", "a of the program is not told"),
        ("{item2}", "{thing}", "wordings", "nothing is known to put for {thing}"),
        ("{x}", "{c}", "wordings", "nothing is known to put for {c}"),
        ("[Their", "Their", "wordings", "outside of brackets"),
        ("|It]", "|It", "wordings", "an open bracket"),
        ("program =", "held_out = 1\nprogram =", "held_out", "true or false"),
    ],
)
def test_a_wrong_template_is_refused(folder: Path, old: str, new: str, field: str, message: str) -> None:
    assert old in GROWTH
    (folder / "growth.toml").write_text(GROWTH.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DataFileError) as caught:
        read_templates(folder, WORD_LISTS)
    error = caught.value
    assert (error.file, error.place, error.field) == (str(folder / "growth.toml"), "entry 'doubling'", field)
    assert message in error.problem


def test_a_name_stands_in_one_file_only(folder: Path) -> None:
    (folder / "money.toml").write_text(GROWTH, encoding="utf-8")
    with pytest.raises(DataFileError, match=r"money.toml: entry 'doubling': is in another file"):
        read_templates(folder, WORD_LISTS)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Ada Bella", "Ada Adam", "names.men.*'Adam' is in another group"),
        ('him = "him"', 'it = "it"', "names.men.*'it'.*unknown"),
        ("{animal9}", "{beast}", "'asides'.*{beast}"),
        ("hens goats", "hens hens", "lists.*'animal'.*'hens' twice"),
    ],
)
def test_wrong_word_lists_are_refused(folder: Path, old: str, new: str, message: str) -> None:
    text = (folder / "words.toml").read_text(encoding="utf-8")
    assert old in text
    (folder / "words.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DataFileError, match=message):
        read_words(folder)


@pytest.mark.parametrize("wording", ["[a|b", "a]", "{a", "a|b"])
def test_a_wording_with_odd_brackets_is_refused(wording: str) -> None:
    with pytest.raises(GsmHardError, match=r"brace|bracket"):
        parse(wording)
