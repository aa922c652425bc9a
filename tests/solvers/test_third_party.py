"""A solver that another distribution declares, with real package metadata, in a fresh process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_solver_of_another_distribution_is_found_listed_and_used(tmp_path: Path) -> None:
    entry_points = "[tape.solvers]\nacme:pessimist = acme_solvers:Pessimist\nacme:broken = acme_solvers:Absent\n"
    distribution(tmp_path, "acme_solvers", MODULE, entry_points)
    done = python(tmp_path, "-c", USE)
    assert done.returncode == 0, done.stderr
    listed, solved = done.stdout.splitlines()
    assert listed.startswith("True|gives up|it could not be loaded")
    assert "Absent" in listed
    assert solved == "TIMEOUT|acme:pessimist"
