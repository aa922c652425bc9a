"""Circles and longest paths of a directed graph, for bounds on the number of moves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from solvers.deadline import NEVER, Deadline
from solvers.problem import PathProblem
from solvers.reach import spread

_Edge = tuple[int, int]


def between(problem: PathProblem, edges: Iterable[int], deadline: Deadline = NEVER) -> tuple[list[int], int]:
    """Those of some edges that are on a path of them from the start to a terminal, and how many nodes they meet."""
    part = list(edges)
    ends = [problem.edges[edge] for edge in deadline.each(part)]
    forth = spread(ends, [problem.start], deadline)
    back = spread([(head, tail) for tail, head in ends], problem.terminals, deadline)
    useful = forth.keys() & back.keys()
    pairs = deadline.each(zip(part, ends, strict=True))
    return [edge for edge, (tail, head) in pairs if tail in useful and head in useful], len(useful)


def longest(order: Sequence[int], ends: Sequence[_Edge]) -> int:
    """The edges of a longest path, where there is no circle; `order` has every head before its tails."""
    out: dict[int, list[int]] = {}
    for tail, head in ends:
        out.setdefault(tail, []).append(head)
    found: dict[int, int] = {}
    for node in order:
        found[node] = max((1 + found[head] for head in out.get(node, ())), default=0)
    return max(found.values(), default=0)


def earning(
    n: int, edges: Sequence[int], ends: Sequence[_Edge], gains: Mapping[int, int], deadline: Deadline = NEVER
) -> tuple[int, ...] | None:
    """A circle of some edges whose gains add up to more than 0, by its edges; None if there is none.

    Args:
        n: How many nodes there are.
        edges: The edges' numbers.
        ends: Tail and head of every edge, by its number.
        gains: What a move along each of `edges` earns.
        deadline: Raises LateError where it passes.
    """
    # Bellman and Ford. Where the edges by which gains grew last lead round, that circle earns.
    best = [0] * n
    came: dict[int, int] = {}
    while True:
        grown = False
        for edge in deadline.each(edges):
            tail, head = ends[edge]
            if best[tail] + gains[edge] > best[head]:
                best[head], came[head], grown = best[tail] + gains[edge], edge, True
        if not grown:
            return None
        if circle := _round(came, ends):
            return circle


def _round(came: Mapping[int, int], ends: Sequence[_Edge]) -> tuple[int, ...]:
    """A circle among edges of which at most one leads to each node, by its edges; empty if there is none."""
    seen: dict[int, int] = {}
    for number, first in enumerate(came):
        node = first
        while node in came and node not in seen:
            seen[node] = number
            node = ends[came[node]][0]
        if seen.get(node) == number:
            circle = [came[node]]
            while ends[circle[-1]][0] != node:
                circle.append(came[ends[circle[-1]][0]])
            return tuple(reversed(circle))
    return ()


def components(n: int, ends: Sequence[_Edge], deadline: Deadline = NEVER) -> tuple[list[int], list[int]]:
    """The strongly connected components, by Tarjan's algorithm without recursion.

    A node with an edge to itself is its own component's only member; such an edge is a circle all the same, and has
    both ends in one component.

    Returns:
        The nodes, every component after those that it leads to have been listed; and the number of each node's
        component, in the order in which they were listed.
    """
    out: list[list[int]] = [[] for _ in range(n)]
    for tail, head in deadline.each(ends):
        out[tail].append(head)
    index, low, group = [-1] * n, [0] * n, [-1] * n
    order: list[int] = []
    open_nodes: list[int] = []
    count = groups = 0
    for root in deadline.each(range(n)):
        if index[root] >= 0:
            continue
        stack = [(root, iter(out[root]))]
        index[root] = low[root] = count
        count += 1
        open_nodes.append(root)
        while stack:
            node, heads = stack[-1]
            for head in heads:
                if index[head] < 0:
                    if not count % 1024:
                        deadline.check()
                    index[head] = low[head] = count
                    count += 1
                    open_nodes.append(head)
                    stack.append((head, iter(out[head])))
                    break
                if group[head] < 0:
                    low[node] = min(low[node], index[head])
            else:
                stack.pop()
                if stack:
                    low[stack[-1][0]] = min(low[stack[-1][0]], low[node])
                if low[node] == index[node]:
                    if not groups % 1024:
                        deadline.check()
                    while True:
                        member = open_nodes.pop()
                        group[member] = groups
                        order.append(member)
                        if member == node:
                            break
                    groups += 1
    return order, group
