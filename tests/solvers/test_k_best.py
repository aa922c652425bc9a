"""The k best paths are the first k of all paths, sorted; by one search, and by Lawler's partition."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from solvers import (
    KBest,
    PathProblem,
    PathSolution,
    ProblemError,
    Risk,
    RiskUnsupportedError,
    Solver,
    Status,
    check,
    k_best,
    solve,
)
from solvers.answer import without_path
from solvers.testing import Enumeration, endless, layered, ranking, risky, small, tight
from solvers.testing.instances import loose_grid
from tests.solvers.reference import Scripted

COUNTS = (1, 2, 5, 50)
MANY = small(3030)  # 522 paths

Make = Callable[[int], PathProblem]


@pytest.fixture
def without_extension(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solvers.compiled.AVAILABLE", False)


def agrees_with_brute_force(problem: PathProblem, k: int, all_paths: list[tuple[int, ...]]) -> None:
    """The very paths, in their order, and the right word on whether there are more."""
    best_paths = k_best(problem, k)
    assert [path_solution.edges for path_solution in best_paths] == all_paths[:k], problem
    assert best_paths.status is (Status.OPTIMAL if all_paths else Status.INFEASIBLE)
    for solution in best_paths:
        assert check(problem, solution) == []
        assert (solution.status, solution.bound) == (Status.OPTIMAL, solution.objective)


def sweep(make: Make, seeds: range, most_paths: int) -> None:
    """Several k for each problem, up to `most_paths`; also more than there are paths."""
    for seed in seeds:
        problem = make(seed)
        all_paths = [edges for _, edges in ranking(problem)]
        for k in (*COUNTS, len(all_paths) + 1):
            if k <= most_paths:
                agrees_with_brute_force(problem, k, all_paths)


@pytest.mark.parametrize(
    ("seeds", "most_paths"),
    [
        pytest.param(range(3000, 3025), 200, marks=pytest.mark.slow),
        pytest.param(range(30_000, 30_400), 5000, marks=pytest.mark.soak),
    ],
)
@pytest.mark.parametrize("make", [small, tight, risky])
def test_one_search_finds_the_paths_that_brute_force_ranks_first(make: Make, seeds: range, most_paths: int) -> None:
    sweep(make, seeds, most_paths)


@pytest.mark.parametrize(
    ("seeds", "most_paths"),
    [(range(3000, 3008), 40), pytest.param(range(40_000, 40_170), 200, marks=pytest.mark.soak)],
)
@pytest.mark.parametrize("make", [small, tight, risky])
def test_the_partition_finds_them_with_the_reference(
    make: Make, seeds: range, most_paths: int, without_extension: None
) -> None:
    sweep(make, seeds, most_paths)


def same_objectives(problem: PathProblem, k: int, solver: str) -> None:
    expected = [float(objective) for objective, _ in ranking(problem)][:k]
    best_paths = k_best(problem, k, solver)
    assert best_paths.status is (Status.OPTIMAL if expected else Status.INFEASIBLE), best_paths.message
    assert [solution.objective for solution in best_paths] == pytest.approx(expected, abs=1e-6)
    assert len({solution.edges for solution in best_paths}) == len(best_paths)


def test_the_partition_finds_their_objectives_with_cp_sat() -> None:
    for seed in range(3200, 3206):
        for k in (1, 2, 5):
            same_objectives(small(seed), k, "cp-sat")
            same_objectives(tight(seed), k, "cp-sat")


def grid(seed: int, side: int = 5) -> PathProblem:
    """A loosely directed grid, with far more paths than can be listed, and two budgets that bind."""
    rng = random.Random(seed)
    n, edges = side**2, loose_grid(side, side)
    rewards = [rng.randint(0, 4) / 4 for _ in range(n)]
    costs = [[rng.randint(1, 9), rng.randint(1, 9)] for _ in edges]
    return PathProblem(n, edges, rewards, costs, [12 * side] * 2, start=0, terminals=[n - 1], horizon=4 * side)


def test_both_ways_agree_where_enumeration_cannot_follow() -> None:
    # The partition asks the compiled path for the best of each part: a subclass of it is any other solver.
    from solvers.labelling import LabellingSolver

    class Wrapped(LabellingSolver):
        """Not recognised as the default solver."""

    for seed in range(4):
        problem = grid(seed)
        best_paths, other = k_best(problem, 12), k_best(problem, 12, Wrapped())
        assert len(best_paths) == 12
        assert [path.edges for path in best_paths] == [path.edges for path in other]
        assert best_paths[0].edges == solve(problem).edges


class TestKBest:
    @pytest.mark.parametrize("k", [0, -1, True, 1.5, "2", None])
    def test_a_bad_count_is_refused(self, k: object) -> None:
        with pytest.raises(ProblemError) as raised:
            k_best(MANY, k)  # type: ignore[arg-type]
        assert (raised.value.field, raised.value.index, raised.value.value) == ("k", None, k)

    def test_a_count_beyond_all_paths_gives_all(self) -> None:
        all_paths = [edges for _, edges in ranking(MANY)]
        assert len(all_paths) > 500
        assert [solution.edges for solution in k_best(MANY, 10**30)] == all_paths

    def test_what_solve_refuses_is_refused(self) -> None:
        with pytest.raises(ProblemError):
            k_best(MANY, 2, risk=1.5)
        with pytest.raises(RiskUnsupportedError, match="labelling"):
            k_best(risky(1), 2, "cp-sat")

    def test_the_risk_of_the_call_takes_the_place_of_the_problems(self) -> None:
        problem = PathProblem(2, [(0, 1), (0, 1)], [0, 1], [[1], [1]], [3], 0, [1], 1, spreads=[[0], [5]])
        assert len(k_best(problem, 5)) == 2
        assert [solution.edges for solution in k_best(problem, 5, risk=0.1)] == [(0,)]
        assert [solution.edges for solution in k_best(problem, 5, Enumeration(), risk=Risk(0.1, "any"))] == [(0,)]

    @pytest.mark.parametrize("solver", ["labelling", Enumeration()])
    def test_a_negative_budget_leaves_nothing(self, solver: str | Solver) -> None:
        problem = PathProblem(1, [(0, 0)], [1], [[0]], [-1], start=0, terminals=[0], horizon=3)
        assert k_best(problem, 3, solver).status is Status.INFEASIBLE


HOPELESS = without_path(Status.TIMEOUT)


def unproved(problem: PathProblem) -> PathSolution:
    answer = Enumeration()._solve(problem, None)
    return replace(answer, status=Status.FEASIBLE, bound=None) if answer.has_path else HOPELESS


class TestCutShort:
    def claims_are_true(self, best_paths: KBest) -> None:
        """What is proved has its place in the ranking; no path but those before beats a bound."""
        expected = [(float(objective), edges) for objective, edges in ranking(MANY)[:40]]
        for rank, solution in enumerate(best_paths):
            assert check(MANY, solution) == []
            if solution.status is Status.OPTIMAL:
                assert [path.edges for path in best_paths[: rank + 1]] == [edges for _, edges in expected[: rank + 1]]
            before = {path.edges for path in best_paths[:rank]}
            left = max(objective for objective, edges in expected if edges not in before)
            assert solution.bound is None or solution.bound >= left - 1e-9

    @pytest.mark.parametrize("right", range(1, 40, 3))
    @pytest.mark.parametrize("then", [HOPELESS, unproved])
    def test_no_more_is_claimed_than_is_proved(self, right: int, then: Callable[[PathProblem], PathSolution]) -> None:
        best_paths = k_best(MANY, 8, Scripted(right, then))
        assert best_paths.status in (Status.OPTIMAL, Status.FEASIBLE)
        assert len(best_paths) >= 1
        self.claims_are_true(best_paths)
        proved = [solution.status is Status.OPTIMAL for solution in best_paths]
        assert best_paths.status is (Status.OPTIMAL if all(proved) and len(best_paths) == 8 else Status.FEASIBLE)

    def test_nothing_at_all_is_a_timeout(self) -> None:
        best_paths = k_best(MANY, 8, Scripted(0, HOPELESS))
        assert (best_paths.status, len(best_paths)) == (Status.TIMEOUT, 0)

    def test_a_failure_keeps_what_was_found(self) -> None:
        best_paths = k_best(MANY, 8, Scripted(20, ZeroDivisionError("oh")))
        assert (best_paths.status, best_paths[0].status) == (Status.ERROR, Status.OPTIMAL)
        assert "ZeroDivisionError: oh" in best_paths.message
        self.claims_are_true(best_paths)

    def test_a_path_that_fails_its_check_is_not_handed_out(self) -> None:
        def lying(problem: PathProblem) -> PathSolution:
            return replace(Enumeration()._solve(problem, None), objective=1e6, bound=1e6)

        best_paths = k_best(MANY, 8, Scripted(0, lying))
        assert (best_paths.status, len(best_paths)) == (Status.ERROR, 0)
        assert "failed its check" in best_paths.message

    def test_a_time_limit_ends_the_compiled_search_with_paths_and_a_bound(self) -> None:
        problem = endless(1)
        best_paths = k_best(problem, 20, time_limit=0.2)
        assert best_paths.status in (Status.FEASIBLE, Status.TIMEOUT)
        known = solve(problem, time_limit=0.5)
        assert known.objective is not None
        for solution in best_paths:
            assert solution.status is Status.FEASIBLE
            assert check(problem, solution) == []
            assert solution.bound is not None
            assert solution.bound >= known.objective - 1e-9

    def test_a_time_limit_ends_the_partition(self) -> None:
        problem = layered(1, n=60, horizon=30)
        best_paths = k_best(problem, 10_000, "cp-sat", time_limit=1.0)
        assert best_paths.status in (Status.FEASIBLE, Status.TIMEOUT)
        assert all(check(problem, solution) == [] for solution in best_paths)


def test_the_first_of_very_many_equal_paths_are_found_in_order() -> None:
    side = 12
    edges = [
        (row * side + column, row * side + column + step)
        for row in range(side)
        for column in range(side)
        for step, inside in ((1, column + 1 < side), (side, row + 1 < side), (-1, column > 0))
        if inside
    ]
    n = side * side
    problem = PathProblem(
        n, edges, [-0.001] * (n - 1) + [0.0], [[] for _ in edges], [], start=0, terminals=[n - 1], horizon=60
    )
    best_paths = k_best(problem, 8)
    assert best_paths.status is Status.OPTIMAL
    assert len({solution.objective for solution in best_paths}) == 1
    paths = [solution.edges for solution in best_paths]
    assert paths == sorted(paths)
    # All go along the first row at first: those edges are the smallest.
    assert all(path[: side - 2] == paths[0][: side - 2] for path in paths)
