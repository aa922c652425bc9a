"""The labelling solver: conformance with and without its extension, ties, large numbers, many resources, deadlines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solvers import Solver, Status, check, solve
from solvers.labelling import answer_of
from solvers.rcsp.plain_labels import Front, Label
from solvers.testing import SolverConformance, endless, layered, risky, small, tight
from solvers.time_expanded import search
from tests.solvers.reference import Countdown, Reference, same_path_as_brute_force


class TestLabelling(SolverConformance):
    name = "labelling"


class TestWithoutTheExtension(SolverConformance):
    name = "labelling"

    @pytest.fixture(autouse=True)
    def _no_extension(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("solvers.compiled.AVAILABLE", False)
        monkeypatch.delattr("solvers.compiled._solve", raising=False)


BOTH = pytest.mark.parametrize("solver", ["labelling", Reference()], ids=["labelling", "plain"])


@BOTH
@pytest.mark.parametrize(
    ("first", "count"),
    [
        *(pytest.param(first, 15, marks=pytest.mark.slow) for first in range(1000, 1030, 15)),
        pytest.param(10_000, 1250, marks=pytest.mark.soak),
    ],
)
def test_the_path_is_the_one_that_brute_force_ranks_first(solver: str | Solver, first: int, count: int) -> None:
    for seed in range(first, first + count):
        for make in (small, tight, risky):
            same_path_as_brute_force(make(seed), solver)


class TestLargeNumbers:
    @pytest.mark.parametrize(
        ("factor", "more"),
        [(10**6, 0), (10**15, 0), (10**30, 0), (3 * 10**40 + 1, 0), *((2**bits, 5) for bits in (55, 61, 62, 80))],
    )
    def test_large_costs_with_and_without_a_common_divisor(self, factor: int, more: int) -> None:
        for seed in range(20):
            problem = tight(seed)
            raised = replace(
                problem,
                costs=[[cost * factor + (more > 0) * (cost > 0) for cost in row] for row in problem.costs],
                budgets=[budget * factor + more for budget in problem.budgets],
            )
            same_path_as_brute_force(raised)

    @pytest.mark.parametrize("factor", [1e-200, 1e-12, 1e9, 1e200])
    def test_scaled_rewards_change_nothing(self, factor: float) -> None:
        for seed in range(20):
            problem = tight(seed)
            scaled = replace(problem, rewards=[reward * factor for reward in problem.rewards])
            assert solve(scaled).edges == solve(problem).edges


@pytest.mark.parametrize("times", [8, 9])
def test_more_resources_than_the_extension_takes(times: int) -> None:
    """It takes sixteen."""
    for seed in range(20):
        problem = tight(seed)
        costs = [[*row] * times for row in problem.costs]
        repeated = replace(problem, costs=costs, budgets=[*problem.budgets] * times, resources=())
        assert solve(repeated).edges == solve(problem).edges


class TestTimeLimit:
    problem = endless(0)

    def test_a_hard_search_is_stopped_with_a_path_and_a_bound(self) -> None:
        solution = solve(self.problem, time_limit=1.0)
        assert solution.status is Status.FEASIBLE
        assert check(self.problem, solution) == []
        assert solution.objective is not None
        assert solution.bound is not None
        assert solution.bound > solution.objective


@pytest.mark.parametrize("resources", [1, 2, 3])
def test_a_large_plan_graph_is_solved_to_the_end(resources: int) -> None:
    for seed in range(2):
        problem = layered(seed, resources=resources)
        assert solve(problem).status is Status.OPTIMAL


def test_without_prices_it_comes_to_the_same_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solvers.rcsp.plain._STEPS", 1)
    for seed in range(2000, 2025):
        same_path_as_brute_force(tight(seed), Reference())


def test_a_stopped_search_claims_no_more_than_it_knows() -> None:
    problem = layered(1, n=40, horizon=20)
    truth, ends = solve(problem, "cp-sat").objective, set()
    assert truth is not None
    for looks in (*range(0, 57, 4), *range(57, 63), 10**6):
        solution = answer_of(problem, search(problem, Countdown(looks)))
        assert check(problem, solution) == []
        assert solution.bound is not None
        assert solution.bound >= truth - 1e-6
        assert looks or (solution.status, solution.has_path) == (Status.TIMEOUT, False)
        assert solution.status is not Status.OPTIMAL or solution.objective == pytest.approx(truth)
        ends.add((solution.status, bool(solution.message)))
    assert {status for status, _ in ends} == {Status.TIMEOUT, Status.FEASIBLE, Status.OPTIMAL}
    assert (Status.OPTIMAL, True) in ends, "the time was up before ties were broken"


@pytest.mark.parametrize("resources", [1, 2, 3])
@pytest.mark.parametrize("wanted", [1, 2])
def test_dominance_drops_only_what_other_labels_cover(resources: int, wanted: int) -> None:
    rng, label = np.random.default_rng(resources), Label(0, 0, (), 0)
    for _ in range(50):
        rows = rng.integers(0, 4, (int(rng.integers(1, 40)), 1 + resources))
        front, kept = Front(rows[0]), list[int]()
        for a, row in enumerate(rows):
            if not front.dominates(row, wanted):
                front.add(row, label)
                kept.append(a)
        assert kept == [a for a, row in enumerate(rows) if sum((rows[b] <= row).all() for b in kept if b < a) < wanted]
