"""The solvers that PuLP finds installed, with the CBC that it bundles put on PATH as one of them (COIN_CMD)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from solvers import SolverUnavailableError, Status, UnknownSolverError, available, get, solve
from solvers.pulp_named import PulpNamedSolver
from solvers.pulp_survey import Survey
from solvers.testing import CASES, SolverConformance

PROBLEM = CASES[0].problem


@pytest.fixture
def _cbc_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    pulp = pytest.importorskip("pulp")
    folder = Path(pulp.PULP_CBC_CMD.pulp_cbc_path).parent
    monkeypatch.setenv("PATH", os.pathsep.join([str(folder), os.environ["PATH"]]))


@pytest.mark.usefixtures("_cbc_on_path")
class TestCoinCmd(SolverConformance):
    name = "pulp:coin_cmd"

    @pytest.fixture(autouse=True)
    def _needs_the_solver(self, _cbc_on_path: None) -> None:
        """It is there once PATH is set."""

    def test_it_is_listed(self) -> None:
        info = {info.name: info for info in available()}[self.name]
        assert info.available
        assert "COIN_CMD" in info.summary


def surveyed(monkeypatch: pytest.MonkeyPatch, survey: Survey) -> None:
    monkeypatch.setattr("solvers.registry.survey", lambda: survey)
    monkeypatch.setattr("solvers.pulp_named.survey", lambda: survey)


def test_one_that_is_known_but_not_installed_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    surveyed(monkeypatch, Survey({"glpk_cmd": "GLPK_CMD"}))
    assert "pulp:glpk_cmd" not in {info.name for info in available()}
    with pytest.raises(SolverUnavailableError, match="PuLP does not find GLPK_CMD installed"):
        get("pulp:glpk_cmd")


def test_one_that_pulp_does_not_know_is_unknown() -> None:
    with pytest.raises(UnknownSolverError, match="pulp:nonsense"):
        get("pulp:nonsense")


def test_the_bundled_ones_are_not_listed_twice() -> None:
    assert not {"pulp:pulp_cbc_cmd", "pulp:highs_cmd"} & {info.name for info in available() if info.available}


def test_a_pulp_that_cannot_be_asked_hides_no_other_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    surveyed(monkeypatch, Survey(fault="PuLP could not be asked: broken"))
    assert "labelling" in {info.name for info in available()}
    with pytest.raises(SolverUnavailableError, match="could not be asked: broken"):
        get("pulp:scip_cmd")


def _found(monkeypatch: pytest.MonkeyPatch, make: Any) -> list[dict[str, Any]]:
    """Has PuLP make its solver by `make`, and notes what it was called with."""
    pulp = pytest.importorskip("pulp")
    calls: list[dict[str, Any]] = []

    def get_solver(name: str, **options: Any) -> Any:
        calls.append(options)
        return make(path=pulp.PULP_CBC_CMD.pulp_cbc_path, **options)

    monkeypatch.setattr(pulp, "getSolver", get_solver)
    return calls


def test_a_solver_that_cannot_be_asked_for_a_gap_of_zero_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pulp = pytest.importorskip("pulp")

    class Plain(pulp.COIN_CMD):  # type: ignore[misc,name-defined]
        def __init__(self, path: str, msg: bool = True, timeLimit: float | None = None) -> None:
            super().__init__(path=path, msg=msg, timeLimit=timeLimit)

    calls = _found(monkeypatch, Plain)
    solution = PulpNamedSolver("PLAIN")._search(PROBLEM, 60.7)
    assert (solution.status, solution.objective, solution.bound) == (Status.FEASIBLE, 3.5, None)
    assert {"msg": False, "timeLimit": 60} in calls


def test_a_solver_that_can_is_asked_for_a_gap_of_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    pulp = pytest.importorskip("pulp")
    calls = _found(monkeypatch, pulp.COIN_CMD)
    solution = PulpNamedSolver("OTHER")._search(PROBLEM, None)
    assert solution.status is Status.OPTIMAL
    assert solution.solve_seconds is None
    assert {"msg": False, "threads": 1, "gapRel": 0.0, "gapAbs": 0.0, "timeLimit": None} in calls


def test_cbc_is_not_put_into_its_parallel_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = _found(monkeypatch, pytest.importorskip("pulp").COIN_CMD)
    assert PulpNamedSolver("COIN_CMD")._search(PROBLEM, None).status is Status.OPTIMAL
    assert not any("threads" in call for call in calls)


def test_the_worker_makes_it_by_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    surveyed(monkeypatch, Survey({"coin_cmd": "COIN_CMD"}, frozenset({"coin_cmd"})))
    solver = get("pulp:coin_cmd")
    assert isinstance(solver, PulpNamedSolver)
    assert solver._recipe() == ("solvers.pulp_named:PulpNamedSolver", {"pulp_name": "COIN_CMD"})
    assert solve(PROBLEM, "labelling").objective == 3.5
