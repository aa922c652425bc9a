"""The site builds strictly and offline, and has what it promises; the files for a hosting service are well-formed."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
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
QUIET = {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}


@pytest.mark.parametrize("file", BUILT_IN)
def test_files_of_the_hosting_service_keep_its_schema(file: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", BUILT_IN[file], str(ROOT / file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole site, built once: notebooks are executed."""
    if importlib.util.find_spec("mkdocs") is None:
        pytest.skip("the extra docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | QUIET, capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 100
    for page in pages:
        text = re.sub(r"<a [^>]*>", "", page.read_text(encoding="utf-8"))  # a link loads nothing
        assert OUTSIDE.findall(text) == [], page.relative_to(site)


@pytest.mark.slow
def test_every_public_name_and_command_has_its_place(site: Path) -> None:
    for slug, page in PUBLIC.items():
        text = (site / "reference" / "api" / f"{slug}.html").read_text(encoding="utf-8")
        missing = [
            identifier(module, name)
            for module, names in page.names.items()
            for name in names
            if f'id="{identifier(module, name)}"' not in text
        ]
        assert missing == []
    commands = (site / "reference" / "cli.html").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f'id="tape-{name}"' not in commands] == []


@pytest.mark.slow
def test_notebooks_are_executed(site: Path) -> None:
    pages = sorted((site / "notebooks").glob("*.html"))
    assert len(pages) == 3
    for page in pages:
        assert "jp-OutputArea-output" in page.read_text(encoding="utf-8"), page.name


@pytest.mark.slow
def test_language_models_get_a_list_and_the_whole_text(site: Path) -> None:
    listed, whole = ((site / name).read_text(encoding="utf-8") for name in ("llms.txt", "llms-full.txt"))
    for url in re.findall(r"\]\(([^)]+)\): ", listed):
        assert (site / url).exists(), url
        assert f"<!-- {url} -->" in whole
    assert listed.count("\n- ") > 80
