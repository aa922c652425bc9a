"""Both searches against brute force over all paths, and against each other where brute force cannot follow."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from solvers.compiled import AVAILABLE
from solvers.deadline import SolveDeadline
from solvers.found import Ending
from solvers.rcsp import plain, solving
from solvers.rcsp.problem import RcspProblem
from tests.solvers.rcsp.agreement import SEARCHES, agrees, asked, cost_of, is_honest
from tests.solvers.rcsp.brute_force import Task, Truth
from tests.solvers.rcsp.instances import medium_task, small_task

both = pytest.mark.parametrize("search", SEARCHES)
needs_extension = pytest.mark.skipif(not AVAILABLE, reason="the extension was not built")


@both
@pytest.mark.parametrize(
    ("first", "count"),
    [
        *((block * 60, 60) for block in range(4)),
        pytest.param(600, 200, marks=pytest.mark.slow),
        pytest.param(100_000, 4000, marks=pytest.mark.soak),
    ],
)
def test_small_tasks(search: ModuleType, first: int, count: int) -> None:
    for seed in range(first, first + count):
        agrees(search, *small_task(seed), threads=1 + seed % 2)


@needs_extension
@pytest.mark.parametrize(("first", "count"), [(0, 10), pytest.param(10_000, 200, marks=pytest.mark.soak)])
def test_the_two_searches_agree_on_medium_tasks(first: int, count: int) -> None:
    for seed in range(first, first + count):
        task = medium_task(seed)
        ours = asked(solving, task)
        theirs = asked(plain, task, deadline=SolveDeadline(20.0))  # if it comes to no end, what it says must be so
        costs = tuple(cost_of(task.problem, path) for path in ours.paths)
        is_honest(task, ours, Truth(ours.ending, costs))
        if theirs.ending is Ending.OUT_OF_TIME:
            is_honest(task, theirs, Truth(ours.ending, costs))
        else:
            agrees(plain, task, Truth(ours.ending, costs))


@needs_extension
@pytest.mark.parametrize("large", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_number_of_threads_changes_no_answer(large: bool) -> None:
    several = [*(small_task(seed)[0] for seed in range(40)), *map(medium_task, range(12))]
    for task in map(large_task, range(3)) if large else several:
        alone = asked(solving, task, threads=1)
        for threads in (2, 4):
            result = asked(solving, task, threads=threads)
            assert (result.ending, result.paths, result.bound) == (alone.ending, alone.paths, alone.bound)


def large_task(seed: int) -> Task:
    """A grid of two-way streets on which two limits bind."""
    rng = np.random.default_rng(seed)
    width, height = 60, 40
    cells = np.arange(width * height)
    right, down = cells[cells % width < width - 1], cells[:-width]
    ends = np.concatenate([[right, right + 1], [right + 1, right], [down, down + width], [down + width, down]], axis=1)
    use = rng.integers(1, 100, (ends.shape[1], 2))
    cost = rng.integers(1, 100, len(use))
    return Task(
        RcspProblem(len(cells), ends[0], ends[1], cost, use, upper=[36 * (width + height)] * 2), 2, elementary=False
    )
