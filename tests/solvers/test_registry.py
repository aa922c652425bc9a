"""Solvers by name: built in, by entry point, by alias, missing and broken."""

from __future__ import annotations

import importlib.metadata
from importlib.metadata import EntryPoint
from typing import ClassVar

import pytest

from solvers import (
    PathProblem,
    PathSolution,
    Solver,
    SolverUnavailableError,
    Status,
    UnknownSolverError,
    available,
    get,
    solve,
)
from solvers.answer import without_path

PROBLEM = PathProblem(1, [], [1.0], [], [], start=0, terminals=[0], horizon=1)


class Plugin(Solver):
    """A third party's solver."""

    name: ClassVar[str] = "my:plugin"
    summary: ClassVar[str] = "always gives up"

    def _solve(self, problem: PathProblem, time_limit: float | None) -> PathSolution:
        return without_path(Status.TIMEOUT)


class Lacking(Plugin):
    """A solver whose package is missing."""

    @classmethod
    def unavailable_reason(cls) -> str | None:
        return "pip install something"


NOT_A_SOLVER = 3


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint(name, f"tests.solvers.test_registry:{target}", "tape.solvers")
        for name, target in [
            ("my:plugin", "Plugin"), ("my:lacking", "Lacking"), ("my:number", "NOT_A_SOLVER"), ("my:absent", "Absent"),
            ("labelling", "Plugin"),
        ]
    ]  # fmt: skip
    points.append(EntryPoint("my:broken", "no_such_module_anywhere:Solver", "tape.solvers"))
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: points if group == "tape.solvers" else [])


@pytest.mark.usefixtures("plugins")
class TestPlugins:
    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("my:lacking", "pip install something"),
            ("my:broken", "no_such_module_anywhere"),
            ("my:absent", "Absent"),
            ("my:number", "not a subclass"),
        ],
    )
    def test_broken_ones_are_listed_with_their_reason_beside_the_others(self, name: str, reason: str) -> None:
        infos = {info.name: info for info in available()}
        assert reason in infos[name].reason
        assert not infos[name].available
        assert infos["labelling"].available
        with pytest.raises(SolverUnavailableError, match=name):
            get(name)

    def test_a_built_in_name_cannot_be_taken_over(self) -> None:
        assert not isinstance(get("labelling"), Plugin)
        assert "label setting" in {info.name: info.summary for info in available()}["labelling"]

    def test_an_unknown_name_lists_those_there_are(self) -> None:
        with pytest.raises(UnknownSolverError, match=r"'gurobi'.*cp-sat.*labelling.*my:plugin.*pulp.*pulp:cbc"):
            solve(PROBLEM, "gurobi")


def test_the_built_in_ones_need_no_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [])
    names = ["labelling", "cp-sat", "pulp:cbc", "pulp:highs"]
    assert [info.name for info in available()][: len(names)] == names
    assert (get("labelling").name, get("pulp").name) == ("labelling", "pulp:cbc")


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SolverUnavailableError, match=r"'cp-sat'.*needs the package 'ortools'.*tape-planner\[solvers\]"):
        get("cp-sat")
    with pytest.raises(SolverUnavailableError, match=r"pip install 'tape-planner\[solvers\]'"):
        get("pulp")
