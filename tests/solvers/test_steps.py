"""Passes over the network itself, before anything is expanded: only problems of some size get them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from solvers import PathProblem, PathSolution, Risk, Status, solve
from solvers.compiled import AVAILABLE
from solvers.numpy_labelling import solve_numpy

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="the compiled path was not built")


def a_problem(seed: int, resources: int, share: float, *, discount: float = 1.0, risk: bool = False) -> PathProblem:
    """A well connected graph of about 60 edges at 24 steps: enough of both for passes over the network.

    Args:
        seed: Of all that is drawn.
        resources: K.
        share: Of what a path of all steps uses on average, as the budgets.
        discount: As the problem's.
        risk: Whether costs have spreads, and the problem a risk.
    """
    rng = random.Random(f"{seed} {resources} {share} {discount} {risk}")
    n, horizon = rng.randint(8, 14), 24
    edges = [(tail, head) for tail in range(n) for head in rng.sample(range(n), 5)]
    coarse = rng.random() < 0.5  # many equal objectives
    return PathProblem(
        n_nodes=n,
        edges=edges,
        rewards=[rng.randint(-2, 4) / 2 if coarse else rng.uniform(-0.3, 1) for _ in range(n)],
        costs=[[rng.randint(0, 5) for _ in range(resources)] for _ in edges],
        budgets=[int(share * 2.5 * horizon)] * resources,
        start=0,
        terminals=rng.sample(range(n), 2),
        horizon=horizon,
        discount=discount,
        spreads=[[rng.randint(0, 2) for _ in range(resources)] for _ in edges] if risk else (),
        risk=Risk(0.2) if risk else None,
    )


def told(solution: PathSolution) -> tuple[object, ...]:
    return solution.status, solution.objective, solution.edges, solution.consumption


PLAIN: list[tuple[int, float, dict[str, Any]]] = [(k, share, {}) for k in range(4) for share in (0.15, 0.4, 1.2)]


@pytest.mark.parametrize(
    ("resources", "share", "more"),
    [*PLAIN, (2, 0.4, {"discount": 0.9}), (2, 0.4, {"discount": 0.5}), (1, 0.4, {"risk": True})],
)
def test_the_answers_are_those_of_the_numpy_version(resources: int, share: float, more: dict[str, Any]) -> None:
    for seed in range(4):
        problem = a_problem(seed, resources, share, **more)
        assert told(solve(problem)) == told(solve_numpy(problem, None))


def test_budgets_that_no_path_keeps_together() -> None:
    """Three moves or more are needed, each takes 10 of both budgets together, and there are 28."""
    edges = [(v, (v + step) % 12) for v in range(12) for step in (1, 2, 3, 5, 7)]
    rng = random.Random(0)
    costs = [[first, 10 - first] for first in (rng.choice([1, 9]) for _ in edges)]
    problem = PathProblem(12, edges, [0.5] * 12, costs, [14, 14], 0, [11], 24)
    assert solve(problem).status is solve_numpy(problem, None).status is Status.INFEASIBLE
