"""The README is short, in its order, and its figures are those of the committed results."""

from __future__ import annotations

import re

from experiments.tables import main as tables
from tests.places import ROOT

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
RESULTS = (ROOT / "docs" / "evidence" / "results.md").read_text(encoding="utf-8")


def test_the_readme_is_short() -> None:
    assert len(TEXT.splitlines()) < 150


def test_its_sections_stand_in_their_order() -> None:
    sections = ["Priced tools", "Only the solver", "How it works", "When to use it", "Swap a part", "Docs"]
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


def test_its_table_is_that_of_the_results() -> None:
    [head, *whole_rows] = table(RESULTS)
    rows = {row[0]: row[1:] for row in whole_rows}
    models, *shown = table(TEXT)
    columns = [head[1:].index(model) for model in models[1:]]
    assert len(columns) > 3
    for name, *cells in shown:
        whole = rows[name]
        for cell, column in zip(cells, columns, strict=True):
            assert whole[column].startswith(cell), name


def test_the_tables_of_the_results_are_fresh() -> None:
    assert tables(["--check"]) == 0


def table(text: str) -> list[list[str]]:
    """The cells of the first table of a text that compares models, its head first."""
    begin = next(match.start() for match in re.finditer(r"^\|  ?\| `nano", text, re.MULTILINE))
    lines = text[begin:].split("\n\n", maxsplit=1)[0].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if set("".join(row)) != {"-"}]
