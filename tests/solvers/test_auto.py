"""`auto` picks what its table says, and the next one where that cannot run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

import pytest

import solvers.registry
from solvers import PathProblem, PathSolution, Solver, SolverUnavailableError, Status, auto, solve
from solvers.answer import without_walk
from solvers.auto import SCHEMA, TABLE, AutoSolver, Features, Rule, read_rules
from solvers.errors import BackendError
from solvers.testing import SolverConformance

PROBLEM = PathProblem(3, [(0, 1), (1, 2)], [0, 0, 1], [[20, 7], [40, 7]], [80, 14], start=0, terminals=[2], horizon=4)


class TestAuto(SolverConformance):
    name = "auto"


class Other(Solver):
    """Says that it was asked."""

    name: ClassVar[str] = "other"
    summary: ClassVar[str] = "gives up"

    def _solve(self, problem: PathProblem, time_limit: float | None) -> PathSolution:
        return without_walk(Status.TIMEOUT, message="asked")


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry of `other` and the real `labelling`; nothing else is installed."""
    real = solvers.registry.get

    def get(name: str) -> Solver:
        if name == "other":
            return Other()
        if name == "labelling":
            return real(name)
        raise SolverUnavailableError(name, "pip install it")

    monkeypatch.setattr("solvers.registry.get", get)


def use(monkeypatch: pytest.MonkeyPatch, *rules: Rule) -> None:
    monkeypatch.setattr(auto, "_rules", lambda: rules)


def test_features_are_read_off() -> None:
    assert Features.of(PROBLEM) == Features(resources=2, edge_steps=8, units=4)
    free = PathProblem(1, [], [0.0], [], [], 0, [0], 1)
    assert Features.of(free) == Features(0, 0, 0)
    assert Features.of(PathProblem(1, [], [0.0], [], [5], 0, [0], 1)) == Features(1, 0, 5)


@pytest.mark.parametrize(
    ("when", "holds"),
    [({}, True), ({"resources": (2, 2)}, True), ({"resources": (3, None)}, False), ({"edge_steps": (None, 8)}, True),
     ({"edge_steps": (9, None)}, False), ({"units": (None, 3)}, False), ({"resources": (1, 3), "units": (4, 4)}, True)],
)  # fmt: skip
def test_a_rule_holds_within_its_limits(when: dict[str, tuple[int | None, int | None]], holds: bool) -> None:
    assert Rule(when, [], {}).holds(Features.of(PROBLEM)) is holds


@pytest.mark.usefixtures("registry")
class TestChoice:
    def test_the_first_rule_that_holds_counts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        rules = Rule({"resources": (5, None)}, ["labelling"], {}), Rule({"resources": (2, 2)}, ["other"], {})
        use(monkeypatch, *rules, Rule({}, ["labelling"], {}))
        solution = solve(PROBLEM, AutoSolver())
        assert (solution.solver, solution.status) == ("auto:other", Status.TIMEOUT)
        assert "asked" in solution.message
        assert "resources = 2" in solution.message

    def test_a_missing_backend_is_passed_over_and_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        use(monkeypatch, Rule({}, ["cp-sat", "labelling", "other"], {}))
        solution = solve(PROBLEM, AutoSolver())
        assert (solution.solver, solution.status) == ("auto:labelling", Status.OPTIMAL)
        assert "'cp-sat' cannot run here: pip install it" in solution.message

    def test_labelling_is_the_last_resort(self, monkeypatch: pytest.MonkeyPatch) -> None:
        use(monkeypatch, Rule({}, ["cp-sat"], {}))
        assert solve(PROBLEM, AutoSolver()).solver == "auto:labelling"
        use(monkeypatch)
        solution = solve(PROBLEM, AutoSolver())
        assert solution.solver == "auto:labelling"
        assert "no row" in solution.message


def test_the_shipped_table_covers_every_size_and_number_of_resources() -> None:
    rules = read_rules()
    for resources in range(7):
        for edge_steps in (1, 10**4, 10**7):
            for units in (0, 10**6) if resources else (0,):
                rule = next(rule for rule in rules if rule.holds(Features(resources, edge_steps, units)))
                assert set(rule.solvers) == set(rule.measured)
                assert all({"median_ms", "n", "closed"} <= set(found) for found in rule.measured.values())


def test_a_file_that_is_no_table_is_refused(tmp_path: Path) -> None:
    assert json.loads(TABLE.read_text())["schema"] == SCHEMA
    (tmp_path / "t.json").write_text('{"schema": "x"}')
    with pytest.raises(BackendError, match=r"solvers\.crossovers"):
        read_rules(tmp_path / "t.json")
