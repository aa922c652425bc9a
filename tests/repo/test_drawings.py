"""The pages on concepts: short, with one drawing each, and the drawing is of what their programs do now."""

from __future__ import annotations

import importlib.util
import re

import pytest

from tools.site.drawings import DRAWINGS, IMAGES, PAGES, drawing

NEEDS = {"execution": ["torch"], "verification": ["torch", "textworld", "bm25s"], "models": ["torch"]}
"""Page -> the optional packages that its programs import."""
MOST_LINES = 100


def test_every_page_has_a_drawing_of_its_name() -> None:
    pages = {page.stem for page in PAGES.glob("*.md")} - {"index"}
    assert pages == set(DRAWINGS) == {image.stem for image in IMAGES.iterdir()}
    assert len(pages) == 7


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_page_is_short_and_shows_its_drawing_alone(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert text.count("\n") <= MOST_LINES
    assert re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text) == [f"../images/concepts/{name}.svg"]
    assert re.search(r"^Next: \[", text, re.MULTILINE)


def test_the_index_has_a_line_for_each_page() -> None:
    text = (PAGES / "index.md").read_text(encoding="utf-8")
    assert re.findall(r"^- \[[^\]]+\]\(([\w-]+)\.md\): ", text, re.MULTILINE) == list(DRAWINGS)
    assert 10 <= text.count("\n") <= 20


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_is_what_the_programs_of_its_page_make(name: str) -> None:
    for package in NEEDS.get(name, []):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    same = (IMAGES / f"{name}.svg").read_text(encoding="utf-8") == drawing(name)
    assert same, f"docs/concepts/{name}.md draws something else now: python -m tools.site.drawings writes it"
