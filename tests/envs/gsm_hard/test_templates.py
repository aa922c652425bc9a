"""Templates of word problems are data files, which are checked."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import envs.gsm_hard
from envs.gsm_hard.errors import GsmHardError
from envs.gsm_hard.problem import Step
from envs.gsm_hard.templates import RANGES, TEMPLATES, WORD_LISTS, parse, read_templates

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


@pytest.mark.parametrize("wording", ["[a|b", "a]", "{a", "a|b"])
def test_a_wording_with_odd_brackets_is_refused(wording: str) -> None:
    with pytest.raises(GsmHardError, match=r"brace|bracket"):
        parse(wording)
