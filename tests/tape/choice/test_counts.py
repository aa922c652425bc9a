"""`best_counts` against all counts there are, and against HiGHS where there are too many."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.choice.counts import Counts, Group, best_counts
from tests.profiles import examples


def drawn(
    rng: random.Random, groups: int, ways: int, count: int, resources: int, kind: str
) -> tuple[list[Group], list[int]]:
    """Groups whose ways differ in the first resource, as models do in money, and caps of which some bind."""
    result, most = [], [0] * resources
    for _ in range(groups):
        number, rest = rng.randint(1, count), [rng.randint(0, 20_000) for _ in range(resources - 1)]
        usd = sorted((rng.randint(0, 200_000) for _ in range(rng.randint(1, ways))), reverse=True)
        if kind == "small":
            usd, rest = [rng.randint(0, 9) for _ in usd], [rng.randint(0, 4) for _ in rest]
        values = [1] * len(usd) if kind == "equal" else [rng.randint(0, 12 if kind == "small" else 10**6) for _ in usd]
        if kind == "quality":
            worth = rng.choice([100, 100, 200, 500])
            values = sorted((worth * rng.randint(50, 100) for _ in usd), reverse=True)
        result.append(Group(number, 0, tuple((index, *rest) for index in usd), tuple(values)))
        most = [have + number * cost for have, cost in zip(most, (usd[0], *rest), strict=True)]
    return result, [int(index * rng.uniform(0.1, 0.8)) for index in most]


def require_kept(groups: Sequence[Group], caps: Sequence[int], counts: Counts) -> None:
    for group, taken in zip(groups, counts.taken, strict=True):
        assert min(taken) >= 0
        assert group.least <= sum(taken) <= group.count
    used = [
        [
            n * c
            for g, t in zip(groups, counts.taken, strict=True)
            for n, cost in zip(t, g.costs, strict=True)
            for c in [cost[k]]
        ]
        for k in range(len(caps))
    ]
    assert all(sum(use) <= cap for use, cap in zip(used, caps, strict=True))
    assert counts.value == sum(
        n * v for g, t in zip(groups, counts.taken, strict=True) for n, v in zip(t, g.values, strict=True)
    )


def all_counts(group: Group) -> list[tuple[int, ...]]:
    counts = itertools.product(range(group.count + 1), repeat=len(group.costs))
    return [count for count in counts if group.least <= sum(count) <= group.count]


def brute_force(groups: Sequence[Group], caps: Sequence[int]) -> int | None:
    """The greatest value, or None; by all sums there are, one group after the other."""
    sums = {(0,) * len(caps): 0}
    for group in groups:
        after: dict[tuple[int, ...], int] = {}
        for (used, value), counts in itertools.product(sums.items(), all_counts(group)):
            row = tuple(u + sum(n * c[k] for n, c in zip(counts, group.costs, strict=True)) for k, u in enumerate(used))
            if all(index <= cap for index, cap in zip(row, caps, strict=True)):
                gain = value + sum(n * v for n, v in zip(counts, group.values, strict=True))
                after[row] = max(gain, after.get(row, -1))
        sums = after
    return max(sums.values(), default=None)


@given(seed=st.integers(0, 2**32))
@examples(300)
def test_it_is_brute_force(seed: int) -> None:
    rng = random.Random(seed)
    groups, caps = drawn(rng, rng.randint(1, 4), 3, 5, rng.randint(0, 3) or 1, "small")
    if rng.random() < 0.5:
        groups = [
            Group(group.count, rng.choice([0, 0, rng.randint(0, group.count)]), group.costs, group.values)
            for group in groups
        ]
    if rng.random() < 0.3:
        groups.append(rng.choice(groups))
    counts = best_counts(groups, caps, 60)
    assert (None if counts is None else counts.value) == brute_force(groups, caps)
    if counts is not None:
        assert counts.bound == counts.value
        require_kept(groups, caps, counts)


@pytest.mark.parametrize("kind", ["equal", "quality", "fine"])
@pytest.mark.parametrize("resources", [1, 2, 3])
def test_it_is_highs_where_counts_are_large(kind: str, resources: int) -> None:
    pulp = pytest.importorskip("pulp")
    solver = pulp.HiGHS(msg=False, gapRel=0, timeLimit=60)
    if not solver.available():
        pytest.skip("highspy is not installed")
    for seed in range(1):
        groups, caps = drawn(random.Random(seed), 20, 3, 500, resources, kind)
        model = pulp.LpProblem("counts", pulp.LpMaximize)
        taken = [
            [pulp.LpVariable(f"x{place}_{way}", 0, group.count, "Integer") for way in range(len(group.costs))]
            for place, group in enumerate(groups)
        ]
        flat = [
            (item, group.costs[way], group.values[way])
            for group, row in zip(groups, taken, strict=True)
            for way, item in enumerate(row)
        ]
        model += pulp.lpSum(value * item for item, _, value in flat)
        for group, row in zip(groups, taken, strict=True):
            model += pulp.lpSum(row) <= group.count
        for k, cap in enumerate(caps):
            model += pulp.lpSum(cost[k] / cap * item for item, cost, _ in flat) <= 1
        model.solve(solver)
        counts = best_counts(groups, caps, 60)
        assert counts is not None
        require_kept(groups, caps, counts)
        assert counts.bound == counts.value
        # HiGHS keeps caps within a millionth, and proves within a ten-thousandth.
        assert counts.value == pytest.approx(pulp.value(model.objective), rel=2e-6, abs=0.5)


def test_equal_groups_are_shared_out() -> None:
    alike = Group(3, 1, ((7, 1), (2, 1)), (10, 8))
    counts = best_counts([alike, alike, Group(2, 0, ((100, 0),), (1000,)), alike], [40, 7], 60)
    assert counts is not None
    require_kept([alike, alike, Group(2, 0, ((100, 0),), (1000,)), alike], [40, 7], counts)
    assert (counts.value, counts.taken[2]) == (66, [0])
    assert best_counts([alike] * 4, [7, 9], 60) is None
    assert best_counts([Group(3, 1, ((9,),), (1,))], [8], 60) is None
    assert best_counts([Group(3, 0, ((9,),), (1,))], [8], 60) == Counts([[0]], 0, 0)


def test_without_time_it_says_how_far_it_may_be() -> None:
    groups, caps = drawn(random.Random(3), 20, 3, 500, 3, "fine")
    best, hurried = best_counts(groups, caps, 60), best_counts(groups, caps, 1e-9)
    assert best is not None
    assert hurried is not None
    require_kept(groups, caps, hurried)
    assert hurried.value <= best.value == best.bound <= hurried.bound


def test_large_counts_are_no_more_work() -> None:
    begun = time.process_time()
    counts = best_counts([Group(10**9, 5, ((30_000, 9), (1800, 9)), (10, 8))], [10**13, 10**11], 60)
    assert counts.bound == counts.value
    require_kept([Group(10**9, 5, ((30_000, 9), (1800, 9)), (10, 8))], [10**13, 10**11], counts)
    assert time.process_time() - begun < 1
