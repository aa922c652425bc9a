"""What can be reached at all, and at what least cost: passes over a problem's edges, in exact integers."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

from solvers.deadline import NEVER, SolveDeadline
from solvers.problem import PathProblem
from solvers.risk import keeps


def distances(problem: PathProblem, deadline: SolveDeadline = NEVER) -> dict[int, int]:
    """The fewest moves from the start to each node that it leads to, whatever the horizon and the budgets."""
    return spread(problem.edges, [problem.start], deadline)


def leading_nodes(problem: PathProblem, deadline: SolveDeadline = NEVER) -> tuple[int, ...]:
    """The nodes that lead to a terminal, the terminals included, ascending."""
    return tuple(sorted(spread(((head, tail) for tail, head in problem.edges), problem.terminals, deadline)))


def barred_edges(problem: PathProblem, deadline: SolveDeadline = NEVER) -> tuple[int, ...]:
    """Edges that alone exceed a budget, and one of which every path to a terminal must take; ascending.

    They are those that leave the nodes reached by the other edges, if no terminal is among these. Empty where a
    terminal is, or where a budget is negative, so that nothing is affordable.
    """
    if any(budget < 0 for budget in problem.budgets):
        return ()
    kept = [affordable(problem, edge) for edge in deadline.each(range(len(problem.edges)))]
    inside = spread((ends for ends, fits in zip(problem.edges, kept, strict=True) if fits), [problem.start], deadline)
    if any(terminal in inside for terminal in problem.terminals):
        return ()
    leading = set(leading_nodes(problem, deadline))
    return tuple(
        edge
        for edge, (tail, head) in enumerate(problem.edges)
        if tail in inside and head not in inside and head in leading
    )


def least_uses(problem: PathProblem, resource: int, deadline: SolveDeadline = NEVER) -> int:
    """The least mean of one resource that a path to a terminal uses, whatever the horizon, by Dijkstra's algorithm.

    Some terminal must be within reach.
    """
    ways = ((tail, head, row[resource]) for (tail, head), row in zip(problem.edges, problem.costs, strict=True))
    amounts = least_amounts(ways, [problem.start], deadline)
    return min(amounts[terminal] for terminal in problem.terminals if terminal in amounts)


def least_amounts(
    ways: Iterable[tuple[int, int, int]], sources: Iterable[int], deadline: SolveDeadline = NEVER
) -> dict[int, int]:
    """The least amount from any of `sources` to each node that they lead to, by Dijkstra's algorithm.

    `ways` has tail, head and amount of each edge.
    """
    out: dict[int, list[tuple[int, int]]] = {}
    for tail, head, amount in deadline.each(ways):
        out.setdefault(tail, []).append((head, amount))
    numbers: dict[int, int] = {}
    queue = [(0, node) for node in sorted(sources)]
    while queue:
        amount, node = heapq.heappop(queue)
        if node in numbers:
            continue
        numbers[node] = amount
        if not len(numbers) % 256:
            deadline.check()
        for head, more in out.get(node, ()):
            if head not in numbers:
                heapq.heappush(queue, (amount + more, head))
    return numbers


def least_with_reserves(problem: PathProblem, resource: int, reserves: Sequence[int]) -> int | None:
    """The least budget of one resource with which a path to a terminal can be taken, if reserves must be left.

    Before an edge is taken its reserve, for instance its worst case, has to be left; what it then uses is its cost. For
    a path this is the largest, over its edges, of the costs before the edge and its reserve together; the least over
    all paths is found by Dijkstra's algorithm from the terminals, whatever the horizon.

    Args:
        problem: The problem; its costs are the least that is used.
        resource: Which.
        reserves: Of each edge, not below its cost.

    Returns:
        None if no terminal can be reached.
    """
    into: dict[int, list[tuple[int, int, int]]] = {}
    for (tail, head), row, reserve in zip(problem.edges, problem.costs, reserves, strict=True):
        into.setdefault(head, []).append((tail, row[resource], reserve))
    queue = [(0, terminal) for terminal in problem.terminals]
    heapq.heapify(queue)
    done = set[int]()
    while queue:
        amount, node = heapq.heappop(queue)
        if node == problem.start:
            return amount
        if node in done:
            continue
        done.add(node)
        for tail, cost, reserve in into.get(node, ()):
            if tail not in done:
                heapq.heappush(queue, (max(reserve, cost + amount), tail))
    return None


def affordable(problem: PathProblem, edge: int) -> bool:
    """Whether an edge alone keeps every budget."""
    spreads = problem.spreads[edge] if problem.spreads else (0,) * len(problem.budgets)
    square = 0 if problem.risk is None else problem.risk.square
    amounts = zip(problem.costs[edge], spreads, problem.budgets, strict=True)
    return all(keeps(cost, spread**2, budget, square) for cost, spread, budget in amounts)


def spread(edges: Iterable[tuple[int, int]], sources: Iterable[int], deadline: SolveDeadline = NEVER) -> dict[int, int]:
    """The fewest moves from any of `sources` to each node that they lead to, in breadth-first order."""
    out: dict[int, list[int]] = {}
    for tail, head in deadline.each(edges):
        out.setdefault(tail, []).append(head)
    moves = dict.fromkeys(sources, 0)
    queue = list(moves)
    for place, node in enumerate(queue):  # grows while it is read
        if place % 1024 == 1023:
            deadline.check()
        for head in out.get(node, ()):
            if head not in moves:
                moves[head] = moves[node] + 1
                queue.append(head)
    return moves
