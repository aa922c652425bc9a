"""The least budget of a path before whose every edge a reserve must be left, against all paths."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from solvers import PathProblem
from solvers.reach import least_uses, least_with_reserves
from tests.profiles import examples

EDGE = st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 9), st.integers(0, 9))


def simple_paths(edges: list[tuple[int, int, int, int]], start: int, end: int) -> Iterator[list[int]]:
    def further(node: int, path: list[int], seen: set[int]) -> Iterator[list[int]]:
        if node == end:
            yield path
            return
        for number, (tail, head, *_) in enumerate(edges):
            if tail == node and head not in seen:
                yield from further(head, [*path, number], {*seen, head})

    yield from further(start, [], {start})


@examples(400)
@given(st.lists(EDGE, min_size=1, max_size=12))
def test_it_is_the_least_over_all_paths(drawn: list[tuple[int, int, int, int]]) -> None:
    edges = [(tail, head, cost, cost + more) for tail, head, cost, more in drawn]
    problem = PathProblem(
        n_nodes=6, edges=[edge[:2] for edge in edges], rewards=[0.0] * 6, costs=[[edge[2]] for edge in edges],
        budgets=[5], start=0, terminals=[5], horizon=6,
    )  # fmt: skip
    reserves = [edge[3] for edge in edges]
    needs = []
    for path in simple_paths(edges, 0, 5):
        used, most = 0, 0
        for number in path:
            most = max(most, used + reserves[number])
            used += edges[number][2]
        needs.append(most)
    least = least_with_reserves(problem, 0, reserves)
    assert least == (min(needs) if needs else None)
    if needs:
        assert least_with_reserves(problem, 0, [edge[2] for edge in edges]) == least_uses(problem, 0)
