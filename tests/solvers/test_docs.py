"""The page for authors of solvers says what is true: its example is installed, used, and put through the suite."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from solvers import available
from tests.places import ROOT
from tests.solvers.test_third_party import distribution, python

PAGE = (ROOT / "docs" / "solvers.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)


def block(language: str, containing: str) -> str:
    """The one block of code of the page with a text in it."""
    (found,) = [text for kind, text in BLOCKS if kind == language and containing in text]
    return found


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
    done = python(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(suite))
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) > 40


def test_the_solvers_in_the_table_exist() -> None:
    named = set(re.findall(r"^\| `([^`]+)`", PAGE, re.MULTILINE)) - {"pulp:NAME"}
    assert len(named) > 6
    assert named <= {info.name for info in available()}
