"""The labelling solver: conformance, the tie-break, time limits, and every stage of its search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solvers import PathProblem, Status, check, solve
from solvers.numpy_dominance import undominated
from tests.solvers.brute_force import best
from tests.solvers.conformance import SolverConformance
from tests.solvers.instances import layered, small, tight


class TestLabelling(SolverConformance):
    name = "labelling"


def same_walk_as_brute_force(problem: PathProblem) -> None:
    """The very walk that enumeration ranks first, tie-break included."""
    solution, expected = solve(problem), best(problem)
    assert check(problem, solution) == []
    if expected is None:
        assert solution.status is Status.INFEASIBLE, problem
        return
    assert solution.status is Status.OPTIMAL, problem
    assert solution.edges == expected.edges, problem
    assert solution.objective == pytest.approx(float(expected.objective), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("block", range(8))
def test_the_walk_is_the_one_that_brute_force_ranks_first(block: int) -> None:
    for seed in range(1000 + block * 25, 1000 + block * 25 + 25):
        same_walk_as_brute_force(small(seed))
        same_walk_as_brute_force(tight(seed))


@pytest.mark.parametrize("block", range(4))
def test_a_narrow_beam_comes_to_the_same_walk(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solvers.labelling._FIRST_WIDTH", 1)
    monkeypatch.setattr("solvers.labelling._GROWTH", 2)
    for seed in range(2000 + block * 25, 2000 + block * 25 + 25):
        same_walk_as_brute_force(tight(seed))


@pytest.mark.soak
@pytest.mark.parametrize("block", range(100))
def test_long_sweep_against_brute_force(block: int) -> None:
    for seed in range(10_000 + block * 50, 10_000 + block * 50 + 50):
        same_walk_as_brute_force(small(seed))
        same_walk_as_brute_force(tight(seed))


class TestTieBreak:
    def test_fewer_moves_first(self) -> None:
        problem = PathProblem(
            n_nodes=3, edges=[(0, 1), (1, 2), (0, 2)], rewards=[0, 1, 1], costs=[], budgets=[], start=0,
            terminals=[2], horizon=3,
        )  # fmt: skip
        assert solve(problem).edges == (2,)

    def test_then_the_smallest_edges(self) -> None:
        problem = PathProblem(
            n_nodes=4, edges=[(2, 3), (1, 3), (0, 2), (0, 1)], rewards=[0, 1, 1, 1], costs=[], budgets=[], start=0,
            terminals=[3], horizon=3,
        )  # fmt: skip
        assert solve(problem).edges == (2, 0)

    def test_sums_that_are_equal_in_decimals_are_ties(self) -> None:
        assert 0.1 + 0.2 != 0.3
        problem = PathProblem(
            n_nodes=5, edges=[(0, 1), (1, 4), (0, 2), (2, 4)], rewards=[0, 0.3, 0.1, 0, 0], costs=[], budgets=[],
            start=0, terminals=[4], horizon=3,
        )  # fmt: skip
        assert solve(problem).edges == (0, 1)
        tied = PathProblem(
            n_nodes=6, edges=[(0, 1), (1, 2), (2, 5), (0, 3), (3, 4), (4, 5)], rewards=[0, 0.1, 0.2, 0.3, 0, 0],
            costs=[], budgets=[], start=0, terminals=[5], horizon=3,
        )  # fmt: skip
        assert solve(tied).edges == (0, 1, 2)
        assert solve(replace(tied, rewards=[0, 0.3, 0, 0.1, 0.2, 0])).edges == (0, 1, 2)

    def test_the_smallest_edges_win_over_an_equal_walk_that_spends_less(self) -> None:
        problem = PathProblem(
            n_nodes=3, edges=[(0, 1), (0, 1), (1, 2), (1, 2)], rewards=[0, 1, 1], costs=[[3], [1], [9], [1]],
            budgets=[4], start=0, terminals=[2], horizon=2,
        )  # fmt: skip
        assert solve(problem).edges == (0, 3)


class TestLargeNumbers:
    @pytest.mark.parametrize("factor", [10**6, 10**15, 10**30, 3 * 10**40 + 1])
    def test_scaled_costs_change_nothing(self, factor: int) -> None:
        for seed in range(20):
            problem = tight(seed)
            scaled = replace(
                problem,
                costs=[[cost * factor for cost in row] for row in problem.costs],
                budgets=[budget * factor for budget in problem.budgets],
            )
            assert solve(scaled).edges == solve(problem).edges

    @pytest.mark.parametrize("factor", [2**55, 2**61, 2**62, 2**80])
    def test_large_costs_without_a_common_divisor(self, factor: int) -> None:
        for seed in range(20):
            problem = tight(seed)
            raised = replace(
                problem,
                costs=[[cost * factor + (cost > 0) for cost in row] for row in problem.costs],
                budgets=[budget * factor + 5 for budget in problem.budgets],
            )
            same_walk_as_brute_force(raised)

    @pytest.mark.parametrize("factor", [1e-200, 1e-12, 1e9, 1e200])
    def test_scaled_rewards_change_nothing(self, factor: float) -> None:
        for seed in range(20):
            problem = tight(seed)
            scaled = replace(problem, rewards=[reward * factor for reward in problem.rewards])
            assert solve(scaled).edges == solve(problem).edges


class _Countdown:
    """A deadline that passes after it has been looked at so many times."""

    def __init__(self, looks: int) -> None:
        self._looks = looks

    def passed(self) -> bool:
        self._looks -= 1
        return self._looks < 0


class TestTimeLimit:
    @pytest.fixture(params=range(0, 60, 3))
    def looks(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
        monkeypatch.setattr("solvers.labelling.Deadline", lambda seconds: _Countdown(request.param))
        monkeypatch.setattr("solvers.labelling._FIRST_WIDTH", 4)
        return int(request.param)

    def test_a_stopped_search_claims_no_more_than_it_knows(self, looks: int) -> None:
        problem = layered(3, n=40, horizon=15)
        solution = solve(problem, time_limit=1.0)
        assert check(problem, solution) == []
        assert solution.status in (Status.OPTIMAL, Status.FEASIBLE, Status.TIMEOUT)
        assert solution.bound is not None
        truth = solve(problem, "cp-sat")
        assert truth.objective is not None
        assert solution.bound >= truth.objective - 1e-6

    def test_being_stopped_at_once_leaves_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("solvers.labelling.Deadline", lambda seconds: _Countdown(0))
        solution = solve(layered(3, n=40, horizon=15), time_limit=1.0)
        assert (solution.status, solution.has_walk) == (Status.TIMEOUT, False)

    def test_being_stopped_on_the_way_leaves_a_walk(self, monkeypatch: pytest.MonkeyPatch) -> None:
        ends = set()
        for looks in range(60):
            monkeypatch.setattr("solvers.labelling.Deadline", lambda seconds, looks=looks: _Countdown(looks))
            ends.add(solve(layered(3, n=40, horizon=15), time_limit=1.0).status)
        assert ends == {Status.TIMEOUT, Status.FEASIBLE, Status.OPTIMAL}


@pytest.mark.parametrize("resources", [1, 2, 3])
def test_a_large_plan_graph_is_solved_to_the_end(resources: int) -> None:
    for seed in range(2):
        problem = layered(seed, resources=resources)
        assert solve(problem).status is Status.OPTIMAL


@pytest.mark.parametrize("resources", [1, 2, 3])
def test_dominance_drops_only_what_another_label_covers(resources: int) -> None:
    rng = np.random.default_rng(resources)
    for _ in range(50):
        count = int(rng.integers(1, 40))
        nodes, scores = rng.integers(0, 3, count), rng.integers(0, 4, count)
        used = rng.integers(0, 4, (count, resources))
        kept = undominated(nodes, scores, used)
        covered = [
            any(
                nodes[a] == nodes[b] and (used[b] <= used[a]).all() and (scores[b], -b) > (scores[a], -a)
                for b in range(count)
            )
            for a in range(count)
        ]
        assert kept.tolist() == [a for a in range(count) if not covered[a]]
