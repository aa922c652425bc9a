"""Circles and longest paths of a directed graph, for bounds on the number of moves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from solvers.deadline import NEVER, SolveDeadline
from solvers.problem import PathProblem
from solvers.reach import spread

_Edge = tuple[int, int]


def between(problem: PathProblem, edges: Iterable[int], deadline: SolveDeadline = NEVER) -> tuple[list[int], int]:
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
    numbers: dict[int, int] = {}
    for node in order:
        numbers[node] = max((1 + numbers[head] for head in out.get(node, ())), default=0)
    return max(numbers.values(), default=0)


def earning(
    n: int, edges: Sequence[int], ends: Sequence[_Edge], gains: Mapping[int, int], deadline: SolveDeadline = NEVER
) -> tuple[int, ...] | None:
    """A circle of some edges (by number) whose gains add up to more than 0, by its edges; None if there is none.

    `ends` has tail and head of every edge, `gains` what a move along each of `edges` earns.
    """
    return shortest([0] * n, [(edge, *ends[edge], -gains[edge]) for edge in edges], 1, deadline)[1] or None


def shortest(
    least: list[int],
    arcs: Sequence[tuple[int, int, int, int]],
    far: int,
    deadline: SolveDeadline,
    *,
    once: bool = False,
) -> tuple[dict[int, int], tuple[int, ...]]:
    """Lowers the least weights of nodes along arcs until none is lowered any more (Bellman, Ford and Moore).

    Args:
        least: What is known of each node; changed in place.
        arcs: Number, tail, head and weight of each.
        far: A node that weighs so much or more is not reached.
        deadline: Raises LateError where it passes.
        once: The arcs come in an order in which one look at each is enough.

    Returns:
        By node, the arc that lowered it last. And a circle of negative weight in order of travel, if there is one: the
        last arcs lead round there.
    """
    came: dict[int, tuple[int, int]] = {}
    out: dict[int, list[tuple[int, int, int, int]]] = {}
    if not once:
        for pair in deadline.each(arcs):
            out.setdefault(pair[1], []).append(pair)
    circle: tuple[int, ...] = ()
    turn, negative = 0, any(weight < 0 for *_, weight in arcs)
    while arcs and not circle:
        deadline.check()
        lowered = dict[int, None]()
        for arc, tail, head, weight in deadline.each(arcs):
            there = least[tail]
            if there < far and there + weight < least[head]:
                least[head], came[head], lowered[head] = there + weight, (arc, tail), None
        turn += 1
        if negative and not once and not turn & turn - 1:  # now and then, for it takes as long as many turns
            circle = _round(came)
        arcs = [item for node in lowered for item in out.get(node, ())]
    return {node: arc for node, (arc, _) in came.items()}, circle


def _round(came: Mapping[int, tuple[int, int]]) -> tuple[int, ...]:
    """A circle among arcs, of which at most one leads to each node, from a tail; empty if there is none."""
    seen: dict[int, int] = {}
    for number, first in enumerate(came):
        node = first
        while node in came and node not in seen:
            seen[node] = number
            node = came[node][1]
        if seen.get(node) == number:
            arcs, at = [came[node][0]], came[node][1]
            while at != node:
                arcs.append(came[at][0])
                at = came[at][1]
            return tuple(reversed(arcs))
    return ()


def components(n: int, ends: Sequence[_Edge], deadline: SolveDeadline = NEVER) -> tuple[list[int], list[int]]:
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
