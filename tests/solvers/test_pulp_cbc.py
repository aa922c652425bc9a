"""CBC through PuLP answers as every solver must, and leaves nothing behind."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from solvers import PathProblem, Status, get, solve
from tests.solvers.conformance import CASES, SolverConformance
from tests.solvers.instances import tight

PROBLEM = CASES[0].problem


class TestCbc(SolverConformance):
    name = "pulp:cbc"


def _answering(monkeypatch: pytest.MonkeyPatch, first_line: str) -> None:
    """Replaces CBC by one that writes a solution file with the given first line."""

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[bytes]:
        Path(command[-1]).write_text(first_line + "\n", encoding="utf-8")
        return subprocess.CompletedProcess(command, 0, b"", b"")

    monkeypatch.setattr(subprocess, "run", run)


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("Infeasible - objective value 0", Status.INFEASIBLE),
        ("Integer infeasible - objective value 0", Status.INFEASIBLE),
        ("Stopped on time (no integer solution - continuous used) - objective value 1", Status.TIMEOUT),
        ("Unbounded - objective value 0", Status.ERROR),
        ("gibberish", Status.ERROR),
    ],
)
def test_what_cbc_says_is_not_taken_for_more(monkeypatch: pytest.MonkeyPatch, line: str, status: Status) -> None:
    _answering(monkeypatch, line)
    solution = solve(PROBLEM, "pulp:cbc", time_limit=60)
    assert (solution.status, solution.has_walk) == (status, False)


def test_stopping_without_a_time_limit_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    _answering(monkeypatch, "Stopped on difficulties")
    assert solve(PROBLEM, "pulp:cbc").status is Status.ERROR


def test_a_run_that_its_clock_ended_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solvers.pulp_backend.Deadline.passed", lambda self: True)
    assert solve(PROBLEM, "pulp:cbc", time_limit=60).status is Status.FEASIBLE
    _answering(monkeypatch, "Infeasible - objective value 0")
    assert solve(PROBLEM, "pulp:cbc", time_limit=60).status is Status.TIMEOUT


def test_a_child_that_overruns_is_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], **_: Any) -> None:
        raise subprocess.TimeoutExpired(command, 1.0)

    monkeypatch.setattr(subprocess, "run", run)
    solution = solve(PROBLEM, "pulp:cbc", time_limit=60)
    assert (solution.status, solution.has_walk) == (Status.TIMEOUT, False)
    assert solution.bound is not None
    assert solution.bound >= 3.5


def test_a_child_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 7, b"oh", b""))
    solution = solve(PROBLEM, "pulp:cbc")
    assert solution.status is Status.ERROR
    assert "7" in solution.message


def test_no_file_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for seed in range(3):
        solve(tight(seed), "pulp:cbc")
    assert list(tmp_path.iterdir()) == []


def test_amounts_beyond_its_precision_are_refused() -> None:
    problem = PathProblem(
        n_nodes=2, edges=[(0, 1), (0, 1)], rewards=[0, 1], costs=[[10**15], [10**15 - 1]], budgets=[10**15], start=0,
        terminals=[1], horizon=2,
    )  # fmt: skip
    solution = solve(problem, "pulp:cbc")
    assert solution.status is Status.ERROR
    assert "coarser resolution" in solution.message


def test_the_alias() -> None:
    assert get("pulp").name == "pulp:cbc"
