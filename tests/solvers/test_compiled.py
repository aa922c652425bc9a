"""The compiled search agrees with the one in Python, path for path, on problems that reach every stage of it."""

from __future__ import annotations

import math
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest

from solvers import PathProblem, PathSolution, Status, check, solve
from solvers.chances import LinearParts, linear_parts
from solvers.compiled import AVAILABLE, can_solve, search
from solvers.deadline import SolveDeadline
from solvers.found import Ending
from solvers.labelling import answer_of
from solvers.testing import demanding, layered, plain, tight
from tests.places import ROOT
from tests.solvers.reference import Reference, same_path_as_brute_force, solve_plain

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="the extension was not built")


def paths_agree(problem: PathProblem) -> None:
    """Both give the same path, or both none."""
    parts = linear_parts(problem)
    if not can_solve(parts):
        return
    result, reference = search(problem, parts, 1), solve(problem, Reference())
    ours = answer_of(problem, result)
    assert check(problem, ours) == []
    assert (ours.status, ours.edges) == (reference.status, reference.edges), problem.to_json()
    assert result.ordered


@pytest.mark.parametrize("first", [0, pytest.param(100_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize(("make", "scale"), [(plain, 1), (demanding, 10)])
def test_the_paths_agree(make: Callable[[int], PathProblem], scale: int, first: int) -> None:
    for seed in range(first // scale, (first + (150 if first < 100_000 else 5_000)) // scale):
        paths_agree(make(seed))


# Two edges fit alone but not in a row, so that the search goes past its first dive before it looks at the clock.
OVER_AT_ONCE = """
from solvers import PathProblem
from solvers.chances import linear_parts
from solvers.compiled import search
from solvers.deadline import SolveDeadline
from solvers.labelling import answer_of
problem = PathProblem(4, [(0, 1), (1, 3), (0, 2), (2, 3)], [0, 1.0, 0.5, 0], [[2], [2], [1], [2]], [3], start=0,
                      terminals=[3], horizon=2)
for limit in (1e-300, 1e-9, 1e-6):
    answer = answer_of(problem, search(problem, linear_parts(problem), 1, SolveDeadline(limit)))
    assert answer.status == "TIMEOUT" or answer.edges == (2, 3), answer
"""


def test_a_time_limit_that_is_over_at_once_ends_the_search() -> None:
    # In a process of its own, for native code that is wrong here takes its process down.
    done = subprocess.run([sys.executable, "-c", OVER_AT_ONCE], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_time_limit_of_any_length_leaves_true_bounds() -> None:
    for seed in range(4):
        problem = layered(seed, n=200, horizon=50, resources=3)
        truth = search(problem, linear_parts(problem), 1)
        best = answer_of(problem, truth).objective
        assert best is not None
        for limit in (1e-9, 1e-4, 1e-3, 1e-2, 0.1):
            result = search(problem, linear_parts(problem), 1, SolveDeadline(limit))
            answer = answer_of(problem, result)
            assert check(problem, answer) == []
            if result.ending is Ending.PROVED:
                assert answer.objective == best
            else:
                assert answer.status in (Status.FEASIBLE, Status.TIMEOUT)
                assert answer.bound is not None
                assert answer.bound >= best - 1e-9
                assert answer.objective is None or answer.objective <= best + 1e-9


class TestWhatItTakes:
    def test_up_to_sixteen_resources_and_budgets_of_58_bits(self) -> None:
        assert can_solve(LinearParts(((1,) * 16,), (5,) * 16))
        assert not can_solve(LinearParts(((1,) * 17,), (5,) * 17))
        assert can_solve(LinearParts(((1,),), (2**58,)))
        assert not can_solve(LinearParts(((1,),), (2**58 + 1,)))

    def test_costs_beyond_all_bits_are_no_obstacle(self) -> None:
        problem = PathProblem(2, [(0, 1), (0, 1)], [0, 1], [[10**40], [2]], [5], start=0, terminals=[1], horizon=2)
        parts = linear_parts(problem)
        assert can_solve(parts)
        assert search(problem, parts, 5).paths == [(1,)]
        assert solve(problem).edges == (1,)

    @pytest.mark.parametrize("budget", [2**57, 2**58 - 1, 2**58])
    def test_the_largest_budgets_do_not_overflow(self, budget: int) -> None:
        for seed in range(40):
            problem = tight(seed)
            step = budget // (max([*problem.budgets, 1]) + 1)
            raised = replace(
                problem,
                costs=[[cost * step + (cost > 0) for cost in row] for row in problem.costs],
                budgets=[min(budget, amount * step + 5) for amount in problem.budgets],
            )
            assert can_solve(linear_parts(raised))
            same_path_as_brute_force(raised)

    def test_a_path_of_many_whole_budgets_is_not_taken_for_free(self) -> None:
        # The unbudgeted optimum uses 64 * 2^58 = 2^64, which is 0 in 64 bits.
        budget = 2**58
        costs = [[budget], [budget], [1]]
        problem = PathProblem(2, [(0, 0), (0, 1), (0, 1)], [1, 0], costs, [budget], start=0, terminals=[1], horizon=64)
        assert can_solve(linear_parts(problem))
        assert solve(problem).edges == (1,)

    @pytest.mark.parametrize(
        ("place", "wrong", "error"),
        [
            (0, ((0, 2),), ValueError), (0, ((-1, 1),), ValueError), (0, ((0,),), IndexError),
            (0, ((0, "1"),), TypeError), (1, (), ValueError), (1, (0.0, math.nan), ValueError),
            (1, (0.0, 1e300), ValueError), (2, (), IndexError), (2, ((-1,),), ValueError), (3, (-1,), ValueError),
            (3, (2**58 + 1,), ValueError), (3, (1,) * 17, ValueError), (4, 2, ValueError), (5, (2,), ValueError),
            (6, 0, ValueError), (6, 2**31 - 2, ValueError), (7, (1.0,), ValueError), (8, (0,), ValueError),
            (8, (0, 2**58), ValueError), (9, math.nan, ValueError), (10, ((0, 1, 5, 1),), ValueError),
            (11, 0, ValueError),
        ],
    )  # fmt: skip
    def test_what_python_should_have_refused_is_an_error(
        self, place: int, wrong: object, error: type[Exception]
    ) -> None:
        from solvers import _native

        right: list[object] = [((0, 1),), (0.0, 1.0), ((1,),), (5,), 0, (1,), 2, (1.0, 1.0), (), 10.0, ()]
        right += [1, -1.0, 1e9]
        assert _native.solve(*right)[1] == [(0,)]  # type: ignore[arg-type]
        with pytest.raises(error):
            _native.solve(*right[:place], wrong, *right[place + 1 :])  # type: ignore[arg-type]


def compared(solution: PathSolution) -> tuple[object, ...]:
    return solution.status, solution.objective, solution.edges, solution.consumption


def test_budgets_that_no_path_keeps_together() -> None:
    """Three moves or more are needed, each takes 10 of both budgets together, and there are 28."""
    edges = [(v, (v + step) % 12) for v in range(12) for step in (1, 2, 3, 5, 7)]
    rng = random.Random(0)
    costs = [[first, 10 - first] for first in (rng.choice([1, 9]) for _ in edges)]
    problem = PathProblem(12, edges, [0.5] * 12, costs, [14, 14], 0, [11], 24)
    assert solve(problem).status is solve_plain(problem).status is Status.INFEASIBLE
