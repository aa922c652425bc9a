"""Both searches against brute force over all paths, and against each other where brute force cannot follow."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from solvers.compiled import AVAILABLE
from solvers.deadline import SolveDeadline
from solvers.found import Ending
from solvers.rcsp import plain, solving
from solvers.rcsp.problem import RcspProblem
from tests.profiles import examples
from tests.solvers.rcsp.agreement import SEARCHES, agrees, asked, cost_of, is_honest
from tests.solvers.rcsp.brute_force import Task, TooManyError, Truth, brute_force
from tests.solvers.rcsp.instances import medium_task, small_task

ANY_COST, ANY_AMOUNT, NO_LOWER_LIMIT = st.integers(-3, 6), st.integers(0, 3), st.just(0)
FREE_OR_ONE = st.sampled_from([0, 0, 1])

both = pytest.mark.parametrize("search", SEARCHES)
needs_extension = pytest.mark.skipif(not AVAILABLE, reason="the extension was not built")


@st.composite
def tasks(
    draw: Any,
    costs: st.SearchStrategy[int] = ANY_COST,
    amounts: st.SearchStrategy[int] = ANY_AMOUNT,
    lowest: st.SearchStrategy[int] = NO_LOWER_LIMIT,
    acyclic: bool = False,
    limited: bool = False,
) -> Task:
    """Small tasks; `limited`: each edge uses some of the first resource, which has a limit."""
    n = draw(st.integers(1, 5))
    node = st.integers(0, n - 1)
    ends = draw(st.lists(st.tuples(node, node), max_size=8))
    if acyclic:
        ends = [(min(pair), max(pair)) for pair in ends if pair[0] != pair[1]]
    k = draw(st.integers(1 if limited else 0, 3))
    use = np.array(draw(st.lists(amounts, min_size=k * len(ends), max_size=k * len(ends))), dtype=int)
    use = use.reshape(len(ends), k)
    upper = draw(st.lists(st.none() | st.integers(0, 7), min_size=k, max_size=k))
    if limited:
        use[:, 0] = np.maximum(use[:, 0], 1)
        upper[0] = 7 if upper[0] is None else upper[0]
    at_nodes = draw(st.booleans())
    problem = RcspProblem(
        n, [tail for tail, _ in ends], [head for _, head in ends],
        draw(st.lists(costs, min_size=len(ends), max_size=len(ends))), use,
        draw(st.lists(costs, min_size=n, max_size=n)) if at_nodes else None, None,
        draw(st.lists(lowest, min_size=k, max_size=k)), upper, source=draw(node), target=draw(node),
    )  # fmt: skip
    return Task(problem, draw(st.integers(1, 4)), draw(st.booleans()))


def _truth(task: Task) -> Truth:
    try:
        return brute_force(task)
    except TooManyError:
        assume(False)
        raise


@both
@given(
    task=st.one_of(
        tasks(), tasks(lowest=st.integers(0, 5)), tasks(costs=FREE_OR_ONE, amounts=FREE_OR_ONE), tasks(acyclic=True),
        tasks(limited=True),
    )
)  # fmt: skip
@examples(750)
def test_any_small_task(search: ModuleType, task: Task) -> None:
    agrees(search, task, _truth(task))


@both
@pytest.mark.parametrize(
    ("first", "count"),
    [
        *((block * 40, 40) for block in range(4)),
        *(pytest.param(1000 + block * 200, 200, marks=pytest.mark.slow) for block in range(4)),
        pytest.param(100_000, 4000, marks=pytest.mark.soak),
    ],
)
def test_small_tasks(search: ModuleType, first: int, count: int) -> None:
    for seed in range(first, first + count):
        agrees(search, *small_task(seed), threads=1 + seed % 2)


@needs_extension
@pytest.mark.parametrize(("first", "count"), [(0, 10), (10, 10), pytest.param(10_000, 200, marks=pytest.mark.soak)])
def test_the_two_searches_agree_on_medium_tasks(first: int, count: int) -> None:
    for seed in range(first, first + count):
        task = medium_task(seed)
        ours = asked(solving, task)
        theirs = asked(
            plain, task, deadline=SolveDeadline(20.0)
        )  # it may not come to an end; then what it says must be so
        costs = tuple(cost_of(task.problem, path) for path in ours.paths)
        is_honest(task, ours, Truth(ours.ending, costs))
        if theirs.ending is Ending.OUT_OF_TIME:
            is_honest(task, theirs, Truth(ours.ending, costs))
        else:
            agrees(plain, task, Truth(ours.ending, costs))


@needs_extension
@pytest.mark.parametrize("large", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_number_of_threads_changes_no_answer(large: bool) -> None:
    several = [*(small_task(seed)[0] for seed in range(100)), *map(medium_task, range(30))]
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
