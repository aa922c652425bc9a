"""Tables of the docs are made of committed results, and no page has figures of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from experiments import tables
from experiments.harness import excerpts

SETTINGS = ("default", "option", "setting", "switch")
"""Heads of tables that tell what can be set, and not what was measured."""

NO_RESULTS: Mapping[tuple[str, str], str] = {
    ("reference/budgets.md", "kind"): "the units that amounts are counted in",
    ("reference/risk.md", "`Risk(p, ...)`"): "follows from formulas; tests/solvers/test_risk.py compares it",
    ("evidence/own-tools.md", "lines"): "prompts tried on develop lines, whose answers are not kept",
    ("evidence/real-model.md", "ground"): "causes of failures, read in traces",
    ("evidence/solvers.md", "package"): "versions of other packages and their licences",
}
"""Tables with numbers that are no results, by page below docs and first head, and what they are instead."""

FIGURE = re.compile(r"(?<![\w.])\d*\.\d+(?![\w.])|\d of [\d,]+")
SENTENCE = 60
"""Longer cells are prose."""

BLOCK = re.compile(r"^<!-- table:([\w-]+):begin -->.*?^<!-- table:\1:end -->", re.DOTALL | re.MULTILINE)
TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)


def rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|\n").split("|")] for line in text.splitlines()]


def loose(text: str) -> list[str]:
    """The first heads of tables of figures that stand outside of blocks."""
    texts = []
    for table in TABLE.findall(BLOCK.sub("", re.sub(r"```.*?```", "", text, flags=re.DOTALL))):
        head, _, *body = rows(table)
        cells = [re.sub(r"`[^`]*`", "", cell) for row in body for cell in row]
        figures = sum(len(cell) <= SENTENCE and bool(FIGURE.search(cell)) for cell in cells)
        if figures >= 2 and not any(word in SETTINGS for word in head):
            texts.append(head[0])
    return texts


def test_every_table_of_figures_is_made_of_results() -> None:
    pairs = {
        (path.relative_to(tables.DOCS).as_posix(), head)
        for path in tables.DOCS.rglob("*.md")
        for head in loose(path.read_text(encoding="utf-8"))
    }
    assert pairs - set(NO_RESULTS) == set(), "put it between marks, or say why it is no result"
    assert set(NO_RESULTS) <= pairs, "what is exempt is there"


def test_a_typed_table_is_found() -> None:
    typed = "| method | success |\n|---|---|\n| A | 0.51 (0.40 to 0.62) |\n| B | 3 of 40 |\n"
    assert loose(typed) == ["method"]
    assert loose(f"<!-- table:x:begin -->\n{typed}<!-- table:x:end -->\n") == []
    assert loose(typed.replace("success", "default")) == []


def test_every_declared_table_stands_on_one_page() -> None:
    marks = [name for path in tables.PAGES for name in BLOCK.findall(path.read_text(encoding="utf-8"))]
    assert sorted(marks) == sorted([*tables.MADE, *excerpts.declared()])


def test_a_mark_without_a_table_is_an_error() -> None:
    with pytest.raises(ValueError, match="each mark needs its fellow and a table"):
        tables.written("x.md", "<!-- table:nothing:begin -->\n<!-- table:nothing:end -->\n")


REPORT = """# T

## All

| levels | method | success | over | over |
|---|---|---|---|---|
| easy | A | 0.5 | 1 | 9 |
| easy | B | 0.6 | 0 | 9 |
| hard | A | 0.7 | 2 | 9 |

Words.
"""
DECLARED = """
[report]
source = "s/report.md"
rows = "All"
by = "{method}"
across = "{levels}"
add = ["over"]
columns = { "" = "{method}", "*" = ["{success}", "-"], over = "{over}" }
note = "Over budget: {over}."

[counts]
source = "counts.json"
rows = "parts.*.rows.*"
where = { kind = ["x", "y"] }
columns = { part = "{name}", share = "{right[0]:.2f}", time = "{seconds:ms}" }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "report.md").write_text(REPORT)
    cases = [{"kind": kind, "right": [0.25], "seconds": 0.0123} for kind in "xyz"]
    (tmp_path / "counts.json").write_text(json.dumps({"parts": [{"name": "P", "rows": cases}]}))
    (tmp_path / "tables.toml").write_text(DECLARED)
    return tmp_path


def test_a_table_is_an_excerpt_of_a_report_or_of_data(folder: Path) -> None:
    text = excerpts.text("report", folder, folder / "tables.toml")
    head, _, *body = rows(text)[:4]
    assert (head, body) == (["", "easy", "hard", "over"], [["A", "0.5", "0.7", "3"], ["B", "0.6", "-", "0"]])
    assert text.endswith("\n\nOver budget: 3.\n")
    assert rows(excerpts.text("counts", folder, folder / "tables.toml"))[2:4] == [["P", "0.25", "12.3"]] * 2


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('"All"', '"Some"', "no table under"),
        ("{method}", "{agent}", "no field for '{agent}'"),
        ("add", 'where.method = "C"\nadd', "no rows"),
    ],
)
def test_what_cannot_be_shown_is_named(folder: Path, before: str, after: str, said: str) -> None:
    file = folder / "tables.toml"
    file.write_text(DECLARED.replace(before, after, 1))
    with pytest.raises(excerpts.ExcerptError, match=said):
        excerpts.text("report", folder, file)
