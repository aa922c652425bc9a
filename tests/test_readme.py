"""The README is short, in its order, and its figures are those of the committed results."""

from __future__ import annotations

import re

from experiments.tables import main as tables
from tests.places import ROOT

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_is_short() -> None:
    assert len(TEXT.splitlines()) < 150


def test_its_sections_stand_in_their_order() -> None:
    sections = [
        "Priced tools", "Only the solver", "How it works", "Does it help", "When to use it", "Swap a part", "Docs",
    ]  # fmt: skip
    heads = re.findall(r"^## (.*)$", TEXT, re.MULTILINE)
    assert len(heads) == len(sections)
    assert all(head.startswith(section) for head, section in zip(heads, sections, strict=True))


def test_it_has_one_picture_and_one_table_of_results() -> None:
    assert len(re.findall(r"!\[", TEXT)) == 1
    assert len(re.findall(r"^\|[-|]+\|$", TEXT, re.MULTILINE)) == 1, "the headline"


def test_every_page_is_linked_from_it_or_from_a_page_that_is() -> None:
    reached, left = set(), {"README.md"}
    while left:
        name = left.pop()
        reached.add(name)
        folder = (ROOT / name).parent
        for link in re.findall(r"\]\(([^)#\s]+\.md)", (ROOT / name).read_text(encoding="utf-8")):
            target = (folder / link).resolve()
            if target.is_relative_to(ROOT) and target.exists():
                left |= {str(target.relative_to(ROOT))} - reached
    assert {str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")} <= reached


def test_the_tables_of_the_results_are_fresh() -> None:
    assert tables(["--check"]) == 0
