"""Relations, types of entities and frames are data files, which are checked."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import envs.musique
from envs.data_files import DataFileError
from envs.musique.wordings import ENTITY_TYPES, RELATIONS, read_entity_types, read_frames_and_syllables, read_relations

PEOPLE = """
[friend]
subjects = ["person"]
answer = "person"
symmetric = true
sentences = ["{s} is a friend of {o}.", "{o} likes {s}."]
phrases = ["the friend of {x}", "the one whom {x} likes"]
questions = ["who likes {x}?", "whom does {x} like?"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of data files of which ``people.toml`` has one relation."""
    shutil.copytree(Path(envs.musique.__file__).parent / "data", tmp_path, dirs_exist_ok=True)
    (tmp_path / "people.toml").write_text(PEOPLE, encoding="utf-8")
    return tmp_path


def test_a_relation_is_read(folder: Path) -> None:
    found = read_relations(folder, ENTITY_TYPES)
    assert next(iter(found)) == "friend"
    assert found["friend"].symmetric
    assert found["friend"].subjects == ("person",)
    assert found["friend"].phrases[-1] == "the one whom {x} likes"
    assert [name for name in RELATIONS if name in found] == list(found)[1:]


@pytest.mark.parametrize(
    ("old", "new", "field", "message"),
    [
        ('subjects = ["person"]', 'subjects = ["robot"]', "subjects", "no type 'robot'; there is: person"),
        ('answer = "person"', 'answer = "robot"', "answer", "no type 'robot'"),
        ('answer = "person"', 'answer = "town"', "symmetric", "of one type"),
        ("{o} likes {s}.", "{s} is liked.", "sentences", "must have {o} and {s}"),
        ("{o} likes {s}.", "{o} likes {s} and {town}.", "sentences", "must have {o} and {s}"),
        ("the friend of {x}", "the friend of {x", "phrases", "must have {x}"),
        ('"who likes {x}?", ', "", "questions", "give 2 or more"),
        ("questions", "asked", "asked", "is unknown"),
    ],
)
def test_a_wrong_relation_is_refused(folder: Path, old: str, new: str, field: str, message: str) -> None:
    assert old in PEOPLE
    (folder / "people.toml").write_text(PEOPLE.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DataFileError) as caught:
        read_relations(folder, ENTITY_TYPES)
    error = caught.value
    assert (error.file, error.place, error.field) == (str(folder / "people.toml"), "entry 'friend'", field)
    assert message in error.problem


def test_relations_are_named_once_and_by_one_word(folder: Path) -> None:
    (folder / "things.toml").write_text(PEOPLE, encoding="utf-8")
    with pytest.raises(DataFileError, match=r"things.toml: entry 'friend': is in another file"):
        read_relations(folder, ENTITY_TYPES)
    (folder / "people.toml").write_text(PEOPLE.replace("[friend]", "[best-friend]"), encoding="utf-8")
    with pytest.raises(DataFileError, match="one lower-case word"):
        read_relations(folder, ENTITY_TYPES)


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("entities.toml", "alone = 0.15", "alone = 2", "'person'.*'alone'.*from 0 to 1"),
        ("entities.toml", "alone = 0.15\n", "", "'person'.*'alone'.*is missing"),
        ("entities.toml", "in {town}", "in {city}", "'beside'.*must have {s}, and may have .*{town}"),
        ("words.toml", "find {p}.", "find it.", "'frames'.*'all'.*must have {p}"),
        ("words.toml", "Al Bel", "Al Al", "'names'.*'starts'.*'Al' twice"),
        ("words.toml", "middles", "centres", "'centres'.*is unknown"),
    ],
)
def test_wrong_types_and_words_are_refused(folder: Path, name: str, old: str, new: str, message: str) -> None:
    text = (folder / name).read_text(encoding="utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DataFileError, match=message):
        [read(folder) for read in (read_entity_types, read_frames_and_syllables)]
