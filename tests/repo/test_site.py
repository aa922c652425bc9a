"""The site builds strictly and offline, and has what it promises; the files for a hosting service are well-formed."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tape.cli.main import COMMANDS
from tests.places import ROOT
from tools.site.public import PUBLIC
from tools.site.reference import identifier

BUILT_IN = {
    ".github/workflows/ci.yml": "vendor.github-workflows",
    ".github/ISSUE_TEMPLATE/bug.yml": "vendor.github-issue-forms",
    ".github/ISSUE_TEMPLATE/feature.yml": "vendor.github-issue-forms",
}
OUTSIDE = re.compile(r"""(?:src|href)=["']?(?:https?:)?//[^"'\s>]+""")
NOTEBOOK = "notebooks/frontier.ipynb"
QUIET = {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}


@pytest.mark.parametrize("file", BUILT_IN)
def test_files_of_the_hosting_service_keep_its_schema(file: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", BUILT_IN[file], str(ROOT / file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout


@dataclass(frozen=True)
class Site:
    """A site that was built.

    Attributes:
        folder: Where it lies.
        slugs: Its pages of public names.
        notebooks: How many it has.
        least: So many pages it has at least.
    """

    folder: Path
    slugs: Iterable[str]
    notebooks: int
    least: int


def small(docs: Path, folder: Path) -> None:
    """Build a site of a page that links to what lies outside docs/, a notebook, and pages made of the code."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    (docs / "notebooks").mkdir()
    shutil.copy(ROOT / "docs" / NOTEBOOK, docs / NOTEBOOK)
    shutil.copy(ROOT / "docs" / "site.css", docs)
    (docs / "index.md").write_text(
        "# A page\n\nOf a [file](../Makefile), [code](../tape) and [commands](reference/cli.md).\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**QUIET, "TAPE_PROGRESS": "0"}.items():
            patch.setenv(name, value)
        build(
            load_config(
                str(ROOT / "mkdocs.yml"), strict=True, docs_dir=str(docs), site_dir=str(folder),
                nav=["index.md", NOTEBOOK, "reference/cli.md", "reference/api/errors.md"],
                exclude_docs="reference/**\n!reference/cli.md\n!reference/api/errors.md",
                validation={"links": {"not_found": "ignore", "anchors": "ignore", "unrecognized_links": "ignore"}},
            )
        )  # fmt: skip


@pytest.fixture(scope="module", params=["small", pytest.param("whole", marks=pytest.mark.soak)])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A site, built once: notebooks are executed. ``make docs`` builds the whole one, too."""
    if importlib.util.find_spec("mkdocs") is None:
        pytest.skip("the extra docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    if request.param == "small":
        small(tmp_path_factory.mktemp("docs"), folder)
        return Site(folder, ["errors"], 1, 4)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | QUIET, capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return Site(folder, PUBLIC, 3, 100)


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(site: Site) -> None:
    pages = sorted(site.folder.rglob("*.html"))
    assert len(pages) > site.least
    for page in pages:
        text = re.sub(r"<a [^>]*>", "", page.read_text(encoding="utf-8"))  # a link loads nothing
        assert OUTSIDE.findall(text) == [], page.relative_to(site.folder)


@pytest.mark.slow
def test_every_public_name_and_command_has_its_place(site: Site) -> None:
    for slug in site.slugs:
        text = (site.folder / "reference" / "api" / f"{slug}.html").read_text(encoding="utf-8")
        missing = [
            identifier(module, name)
            for module, names in PUBLIC[slug].names.items()
            for name in names
            if f'id="{identifier(module, name)}"' not in text
        ]
        assert missing == []
    commands = (site.folder / "reference" / "cli.html").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f'id="tape-{name}"' not in commands] == []


@pytest.mark.slow
def test_notebooks_are_executed(site: Site) -> None:
    pages = sorted((site.folder / "notebooks").glob("*.html"))
    assert len(pages) == site.notebooks
    for page in pages:
        assert "jp-OutputArea-output" in page.read_text(encoding="utf-8"), page.name


@pytest.mark.slow
def test_language_models_get_a_list_and_the_whole_text(site: Site) -> None:
    listed, whole = ((site.folder / name).read_text(encoding="utf-8") for name in ("llms.txt", "llms-full.txt"))
    for url in re.findall(r"\]\(([^)]+)\): ", listed):
        assert (site.folder / url).exists(), url
        assert f"<!-- {url} -->" in whole
    assert listed.count("\n- ") >= min(site.least, 80)


@pytest.mark.slow
def test_files_outside_the_pages_come_along_and_folders_are_named(site: Site) -> None:
    if site.least < 100:
        text = (site.folder / "index.html").read_text(encoding="utf-8")
        assert 'Of a <a href="source/Makefile">file</a>, code and <a href="reference/cli.html">commands</a>' in text
    assert (site.folder / "source" / "Makefile").exists()
