"""The cheapest assignment of boxes to goals, a lower bound on the pushes still needed."""

from __future__ import annotations

from collections.abc import Sequence

FORBIDDEN = 10**6
"""A cost that marks a pair as impossible; larger than any sum of real costs."""


def min_assignment(costs: Sequence[Sequence[int]]) -> int | None:
    """Solve the assignment problem exactly (the Hungarian method with potentials, O(n^2 m)).

    Args:
        costs: ``costs[i][j]`` of giving row i the column j, non-negative; :data:`FORBIDDEN` where
            the pair is impossible. At most as many rows as columns.

    Returns:
        The least total cost with every row on a column of its own, or None where there is no such
        assignment.
    """
    n, m = len(costs), len(costs[0]) if costs else 0
    if n > m:
        return None
    if n == 1:
        best = min(costs[0])
        return None if best >= FORBIDDEN else best
    row_potential, col_potential = [0] * (n + 1), [0] * (m + 1)
    owner = [0] * (m + 1)  # row (from 1) of each column (from 1), 0 where free
    for row in range(1, n + 1):
        # Grow a shortest augmenting path from `row` (entered at the artificial column 0).
        owner[0] = row
        col = 0
        slack = [FORBIDDEN * (n + 2)] * (m + 1)
        came_from = [0] * (m + 1)
        used = [False] * (m + 1)
        while owner[col]:
            used[col] = True
            line, offset = costs[owner[col] - 1], row_potential[owner[col]]
            delta, nearest = FORBIDDEN * (n + 2), 0
            for j in range(1, m + 1):
                if used[j]:
                    continue
                reduced = line[j - 1] - offset - col_potential[j]
                if reduced < slack[j]:
                    slack[j], came_from[j] = reduced, col
                if slack[j] < delta:
                    delta, nearest = slack[j], j
            for j in range(m + 1):
                if used[j]:
                    row_potential[owner[j]] += delta
                    col_potential[j] -= delta
                else:
                    slack[j] -= delta
            col = nearest
        while col:
            owner[col] = owner[came_from[col]]
            col = came_from[col]
    total = sum(costs[owner[j] - 1][j - 1] for j in range(1, m + 1) if owner[j])
    return None if total >= FORBIDDEN else total
