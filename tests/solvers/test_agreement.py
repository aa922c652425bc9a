"""The solvers agree with enumeration, and with each other where enumeration cannot follow."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvers import PathProblem, Status, available, check, solve
from solvers.testing import SolverConformance, layered, small, tight
from tests.profiles import examples
from tests.solvers.reference import same_path_as_brute_force

BACKENDS = ["cp-sat", "pulp:cbc", "pulp:highs"]


def needs(solver: str) -> None:
    """Skips the test where the solver cannot run."""
    reason = next(info.reason for info in available() if info.name == solver)
    if reason:
        pytest.skip(reason)


@st.composite
def problems(draw: Any) -> PathProblem:
    """Small problems whose budgets often bind."""
    n = draw(st.integers(1, 5))
    node = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=8))
    resources = draw(st.integers(0, 3))
    amounts = st.lists(st.integers(0, 4), min_size=resources, max_size=resources)
    return PathProblem(
        n_nodes=n, edges=edges,
        rewards=draw(st.lists(st.integers(-10, 10).map(lambda x: x / 10), min_size=n, max_size=n)),
        costs=draw(st.lists(amounts, min_size=len(edges), max_size=len(edges))),
        budgets=draw(st.lists(st.integers(-1, 8), min_size=resources, max_size=resources)), start=draw(node),
        terminals=draw(st.sets(node)), horizon=draw(st.integers(1, 5)), discount=draw(st.sampled_from([1.0, 0.9, 0.5])),
    )  # fmt: skip


@given(problems())
@examples(150)
def test_labelling_agrees_with_brute_force(problem: PathProblem) -> None:
    same_path_as_brute_force(problem)


@given(problems())
@examples(100)
def test_json_keeps_a_problem(problem: PathProblem) -> None:
    assert PathProblem.from_json(problem.to_json()) == problem


@pytest.mark.parametrize("solver", BACKENDS)
@pytest.mark.parametrize("resources", [1, 2, 3])
def test_the_solvers_agree_on_a_medium_problem(solver: str, resources: int) -> None:
    needs(solver)
    problem = layered(resources, n=24, horizon=10, resources=resources)
    ours, theirs = solve(problem), solve(problem, solver)
    assert check(problem, theirs) == []
    assert ours.status is theirs.status is Status.OPTIMAL, theirs.message
    assert theirs.objective == pytest.approx(ours.objective, abs=1e-6)


@pytest.mark.soak
@pytest.mark.parametrize("solver", BACKENDS)
def test_long_sweep_of_each_backend_against_brute_force(solver: str) -> None:
    needs(solver)
    suite = SolverConformance()
    suite.name = solver
    for seed in range(20_000, 20_150):  # 300 problems; the suite that each backend inherits has 60 others
        suite.agrees_with_brute_force(small(seed))
        suite.agrees_with_brute_force(tight(seed))
