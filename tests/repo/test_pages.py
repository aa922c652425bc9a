"""Pages keep the rules of their door, and each describes a module that exists."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.places import ROOT

DOCS = ROOT / "docs"
OWNERS: dict[str, str] = tomllib.loads((ROOT / "tools" / "site" / "owners.toml").read_text(encoding="utf-8"))
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
OUTPUT = re.compile(r"^```(?:text)?\n", re.MULTILINE)
RECIPES = sorted(page for page in (DOCS / "recipes").glob("*.md") if page.name != "index.md")


def pages() -> set[str]:
    return {path.relative_to(DOCS).as_posix() for end in ("md", "ipynb") for path in DOCS.rglob(f"*.{end}")}


def lines(program: str) -> int:
    return sum(bool(line.strip()) for line in program.splitlines())


def test_every_page_has_an_owner_that_exists() -> None:
    assert set(OWNERS) == pages()
    places = {module: ROOT / Path(*module.split(".")) for module in OWNERS.values()}
    missing = {module for module, place in places.items() if not (place.is_dir() or place.with_suffix(".py").is_file())}
    assert missing == set()


def test_every_package_has_a_page() -> None:
    packages = {path.parent.name for path in (ROOT / "tape").glob("*/__init__.py")} - {"cli"}
    owned = {module.split(".")[1] for module in OWNERS.values() if module.startswith("tape.")}
    assert packages <= owned, "cli has a page that is made of the code"


@pytest.mark.parametrize("name", ["cap-an-agent", "tools-at-several-prices", "plans-from-anywhere"])
def test_a_first_program_is_short(name: str) -> None:
    programs = PYTHON.findall((DOCS / "start" / f"{name}.md").read_text(encoding="utf-8"))
    assert 1 <= lines(programs[0]) <= 15


def test_there_are_recipes() -> None:
    assert len(RECIPES) >= 20


@pytest.mark.parametrize("page", RECIPES, ids=lambda page: page.stem)
def test_a_recipe_is_one_program_with_its_output(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert 20 <= sum(map(lines, PYTHON.findall(text))) <= 65
    assert OUTPUT.search(text), "it shows what comes out"
