"""A solver that another distribution declares, also the one of the docs, with real metadata, in a fresh process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from solvers import available
from tests.places import ROOT


def distribution(folder: Path, module: str, text: str, entry_points: str) -> None:
    """Lays a distribution out as an installer would."""
    (folder / f"{module}.py").write_text(text, encoding="utf-8")
    metadata = folder / f"{module}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text(entry_points, encoding="utf-8")


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A fresh process that finds what is installed in the folder."""
    paths = os.pathsep.join([str(folder), str(ROOT)])
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": paths, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )  # fmt: skip


PAGE = (ROOT / "docs" / "reference" / "solvers.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)


def block(language: str, containing: str) -> str:
    """The one block of code of the page with a text in it."""
    (result,) = [text for kind, text in BLOCKS if kind == language and containing in text]
    return result


def test_the_first_example_runs(tmp_path: Path) -> None:
    done = python(tmp_path, "-c", block("python", "print(solve(problem))"))
    assert done.returncode == 0, done.stderr
    assert [line.partition(",")[0] for line in done.stdout.splitlines()] == [
        "PathSolution(status=<Status.OPTIMAL: 'OPTIMAL'>"
    ] * 2


@pytest.mark.slow
def test_the_worked_example_passes_the_conformance_suite(tmp_path: Path) -> None:
    entry_points = block("toml", "tape.solvers").replace('project.entry-points."tape.solvers"', "tape.solvers")
    distribution(tmp_path, "acme_solver", block("python", "# acme_solver.py"), entry_points.replace('"', ""))
    suite = tmp_path / "test_acme_solver.py"
    suite.write_text(block("python", "# test_acme_solver.py"), encoding="utf-8")
    done = python(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(suite))
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert int(passed[1]) > 40


def test_the_solvers_in_the_table_exist() -> None:
    named = set(re.findall(r"^\| `([^`]+)`", PAGE, re.MULTILINE))
    assert named == {info.name for info in available()}
