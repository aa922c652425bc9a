"""CBC and HiGHS through PuLP answer as every solver must, and leave nothing behind."""

from __future__ import annotations

import importlib.util
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from solvers import PathProblem, SolverUnavailableError, Status, get, solve
from solvers.errors import BackendError
from solvers.pulp_model import CbcSolver, PulpHighsSolver
from solvers.testing import CASES, SolverConformance, tight
from solvers.worker import stop_workers

PROBLEM = CASES[0].problem


class TestCbc(SolverConformance):
    name = "pulp:cbc"


@pytest.fixture(autouse=True)
def _temporary_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """PuLP keeps its files where an answer makes no sense; in a worker they go with its folder, in which it is."""
    monkeypatch.chdir(tmp_path)


def test_the_folder_for_temporary_files_may_have_any_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / (name := "a b 100%s %d\n größer '\"")).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / name))
    stop_workers()  # the next one has its folder there
    try:
        assert solve(PROBLEM, "pulp:cbc").status is Status.OPTIMAL
    finally:
        stop_workers()


class Cbc:
    """Stands in for the process: writes a solution file with the given first line."""

    first_line = "Optimal - objective value 0"
    code = 0

    def __init__(self, command: list[str], **_: Any) -> None:
        Path(command[-1]).write_text(self.first_line + "\n", encoding="utf-8")

    def wait(self) -> int:
        return self.code


def _answering(monkeypatch: pytest.MonkeyPatch, first_line: str) -> None:
    pytest.importorskip("pulp")
    monkeypatch.setattr(Cbc, "first_line", first_line)
    monkeypatch.setattr(subprocess, "Popen", Cbc)


@pytest.mark.parametrize(
    ("line", "limit", "status"),
    [
        ("Infeasible - objective value 0", 60.0, Status.INFEASIBLE),
        ("Integer infeasible - objective value 0", 60.0, Status.INFEASIBLE),
        ("Stopped on time (no integer solution - continuous used) - objective value 1", 60.0, Status.TIMEOUT),
        ("Stopped on iterations (no integer solution - continuous used) - objective value 1", None, None),
        ("Unbounded - objective value 0", 60.0, None),
        ("gibberish of several words", 60.0, None),
    ],
)
def test_statuses_of_cbc(
    monkeypatch: pytest.MonkeyPatch, line: str, limit: float | None, status: Status | None
) -> None:
    _answering(monkeypatch, line)
    if status is None:
        with pytest.raises(BackendError, match="no answer"):
            CbcSolver()._search(PROBLEM, limit)
        return
    solution = CbcSolver()._search(PROBLEM, limit)
    assert (solution.status, solution.has_path) == (status, False)


def test_a_run_that_its_clock_ended_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pulp")
    monkeypatch.setattr("solvers.pulp_model._NEARLY_ALL", 0.0)
    assert CbcSolver()._search(PROBLEM, 60.0).status is Status.FEASIBLE
    _answering(monkeypatch, "Infeasible - objective value 0")
    solution = CbcSolver()._search(PROBLEM, 60.0)
    assert solution.status is Status.TIMEOUT
    assert solution.bound is not None
    assert solution.bound >= 3.5


def test_a_program_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    _answering(monkeypatch, "")
    monkeypatch.setattr(Cbc, "code", 7)
    with pytest.raises(Exception, match="Error while trying to execute"):
        CbcSolver()._search(PROBLEM, None)


def test_no_file_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    stop_workers()
    for seed in range(3):
        solve(tight(seed), "pulp:cbc")
    stop_workers()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("solver", ["pulp:cbc", "pulp:highs"])
def test_amounts_beyond_its_precision_are_refused(solver: str) -> None:
    problem = PathProblem(
        n_nodes=2, edges=[(0, 1), (0, 1)], rewards=[0, 1], costs=[[10**15], [10**15 - 1]], budgets=[10**15], start=0,
        terminals=[1], horizon=2,
    )  # fmt: skip
    solution = solve(problem, solver)
    assert solution.status is Status.ERROR
    assert "coarser resolution" in solution.message


class TestPulpHighs(SolverConformance):
    name = "pulp:highs"


@pytest.mark.parametrize(
    ("said", "status"),
    [("kTimeLimit", Status.FEASIBLE), ("kInterrupt", Status.FEASIBLE), ("kInfeasible", Status.INFEASIBLE)],
)
def test_what_highs_says_is_not_taken_for_more(monkeypatch: pytest.MonkeyPatch, said: str, status: Status) -> None:
    highspy = pytest.importorskip("highspy")
    monkeypatch.setattr(highspy.Highs, "getModelStatus", lambda self: getattr(highspy.HighsModelStatus, said))
    assert PulpHighsSolver()._search(CASES[0].problem, 60.0).status is status


def test_without_highspy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    find: Any = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "highspy" else find(name))
    with pytest.raises(SolverUnavailableError, match=r"'highspy', which is not installed: pip install .*\[solvers\]"):
        get("pulp:highs")
