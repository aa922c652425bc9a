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

MODULE = """
from solvers import PathSolution, Status
from solvers.answer import without_path
from solvers.base import Solver


class Pessimist(Solver):
    name = "acme:pessimist"
    summary = "gives up"

    def _solve(self, problem, time_limit):
        return without_path(Status.TIMEOUT)
"""

USE = """
from solvers import PathProblem, available, solve
info = {info.name: info for info in available()}
print(info["acme:pessimist"].available, info["acme:pessimist"].summary, info["acme:broken"].reason, sep="|")
answer = solve(PathProblem(1, [], [1.0], [], [], start=0, terminals=[0], horizon=1), "acme:pessimist")
print(answer.status, answer.solver, sep="|")
"""


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
        [sys.executable, *arguments], cwd=folder, env={**os.environ, "PYTHONPATH": paths}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip


def test_a_solver_of_another_distribution_is_found_listed_and_used(tmp_path: Path) -> None:
    entry_points = "[tape.solvers]\nacme:pessimist = acme_solvers:Pessimist\nacme:broken = acme_solvers:Absent\n"
    distribution(tmp_path, "acme_solvers", MODULE, entry_points)
    done = python(tmp_path, "-c", USE)
    assert done.returncode == 0, done.stderr
    listed, solved = done.stdout.splitlines()
    assert listed.startswith("True|gives up|it could not be loaded")
    assert "Absent" in listed
    assert solved == "TIMEOUT|acme:pessimist"


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
    done = python(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(suite))
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert int(passed[1]) > 40


def test_the_solvers_in_the_table_exist() -> None:
    named = set(re.findall(r"^\| `([^`]+)`", PAGE, re.MULTILINE))
    assert named == {info.name for info in available()}
