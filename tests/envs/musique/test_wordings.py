"""Relations, types of entities and frames are data files, which are checked."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import envs.musique
from envs.musique.wordings import ENTITY_TYPES, RELATIONS, read_relations

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
