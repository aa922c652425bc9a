"""The word lists and wordings of invented conversations."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree

import pytest

from envs.data_files import DataFileError
from envs.locomo.relations import FILES, Wording, by_name, choices, leads_to, pronouns, read_relations, relations
from envs.locomo.talk import read_talk
from envs.locomo.words import PARTS, part_of, read_words, words
from tests.places import ROOT

DATA = ROOT / "envs" / "locomo" / "data"


def test_every_relation_has_wordings_for_training_and_some_that_are_held_out() -> None:
    for relation in relations():
        for wordings in (relation.said, relation.asked, relation.linked, relation.described):
            held_out = choices(wordings, held_out=True)
            assert len(held_out) == (1 if wordings else 0)
            assert wordings == () or wordings[-1:] == tuple(held_out)
    firsts = {first.name for first in relations() for second in relations() if leads_to(first, second)}
    assert len(firsts) >= 10


def test_the_price_is_asked_only_of_what_was_bought() -> None:
    by = {relation.name: relation for relation in relations()}
    assert leads_to(by["market"], by["paid"])
    assert [one.name for one in relations() if leads_to(one, by["paid"])] == ["market"]
    assert not leads_to(by["kin_gift"], by["keeps"])  # it has no description


def test_names_are_divided_between_the_parts() -> None:
    for names in (words().women, words().men):
        assert all(sum(part_of(name) == part for name in names) >= 20 for part in PARTS)
    assert part_of("Runa") == part_of("RUNA")


def test_wordings_are_filled() -> None:
    asked = Wording("What did {who} give {his} {key}?", held_out=False)
    assert asked.slots == {"who", "his", "key"}
    assert asked.filled(**pronouns("Runa", woman=True), key="aunt") == "What did Runa give her aunt?"
    assert asked.filled(**by_name("Otto"), key="aunt") == "What did Otto give Otto's aunt?"
    assert Wording("{key} is fine.", held_out=False).filled(key="the old {one}") == "The old {one} is fine."
    assert Wording("the town of {key}", held_out=False).filled(key="Ada") == "the town of Ada"


RELATION = """[pet]
key = "kin"
value = "pet"
said = ["My {key} has {value}.", "The pet of my {key} is {value}.", "{value} belongs to my {key}."]
asked = ["What has {who}'s {key}?", "Which pet has {who}'s {key}?", "What pet belongs to {who}'s {key}?"]
"""


@pytest.mark.parametrize(
    ("old", "new", "field", "problem"),
    [
        ('key = "kin"', 'key = "planet"', "key", "is 'planet'; there is: town"),
        ('value = "pet"', "", "value", "is missing"),
        ('value = "pet"', 'value = "pet"\nvalues = "x"', "values", "is unknown"),
        (', "{value} belongs to my {key}."', "", "said", "give 3 or more"),
        ("My {key} has {value}.", "My aunt has {value}.", "said", "needs {key}, {value}, and may have none"),
        ("What has {who}'s {key}?", "What has the {key}?", "asked", "needs {key}, {who}"),
        ("What has {who}'s {key}?", "What has {who}'s {key}, {value}?", "asked", "may have {he}"),
        ("[pet]", "[[pet]]", "pet", "table"),
        ("[pet]", "[pet", "", "no TOML"),
    ],
)
def test_relations_that_cannot_be_used(old: str, new: str, field: str, problem: str, tmp_path: Path) -> None:
    first, second = FILES
    (tmp_path / second).write_text("", encoding="utf-8")
    (tmp_path / first).write_text(RELATION, encoding="utf-8")
    assert [relation.name for relation in read_relations(tmp_path)] == ["pet"]
    assert old in RELATION
    (tmp_path / first).write_text(RELATION.replace(old, new), encoding="utf-8")
    with pytest.raises(DataFileError) as caught:
        read_relations(tmp_path)
    assert caught.value.field == field
    assert problem in caught.value.problem


def test_a_relation_that_comes_twice(tmp_path: Path) -> None:
    for file in FILES:
        (tmp_path / file).write_text(RELATION, encoding="utf-8")
    with pytest.raises(DataFileError, match=r"entry 'pet': came before"):
        read_relations(tmp_path)


def test_word_lists_and_small_talk_that_cannot_be_used(tmp_path: Path) -> None:
    folder = copytree(DATA, tmp_path / "data")
    assert read_words(folder) == words()
    for file, old, new, field in (
        ("words.toml", 'day = "Monday|Tuesday|', 'day = "Tuesday|Tuesday|', "day"),
        ("words.toml", 'room = "kitchen|bedroom|hallway|bathroom|study|', 'room = "', "room"),
        ("words.toml", "[titles]\nfirsts", "[titles]\nothers", "others"),
        ("talk.toml", "farewells = [", "goodbyes = [", "goodbyes"),
    ):
        text = (DATA / file).read_text(encoding="utf-8")
        assert old in text
        (folder / file).write_text(text.replace(old, new), encoding="utf-8")
        with pytest.raises(DataFileError) as caught:
            (read_words if file == "words.toml" else read_talk)(folder)
        assert caught.value.field == field
        (folder / file).write_text(text, encoding="utf-8")
