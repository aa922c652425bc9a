"""What can be reached at all, and at what least cost: passes over a problem's edges, in exact integers."""

from __future__ import annotations

from collections.abc import Iterable

from solvers.problem import PathProblem
from solvers.risk import keeps


def distances(problem: PathProblem) -> dict[int, int]:
    """The fewest moves from the start to each node that it leads to, whatever the horizon and the budgets."""
    return spread(problem.edges, [problem.start])


def leading_nodes(problem: PathProblem) -> tuple[int, ...]:
    """The nodes that lead to a terminal, the terminals included, ascending."""
    return tuple(sorted(spread(((head, tail) for tail, head in problem.edges), problem.terminals)))


def barred_edges(problem: PathProblem) -> tuple[int, ...]:
    """Edges that alone exceed a budget, and one of which every walk to a terminal must take; ascending.

    They are those that leave the nodes reached by the other edges, if no terminal is among these. Empty where a
    terminal is, or where a budget is negative, so that nothing is affordable.
    """
    if any(budget < 0 for budget in problem.budgets):
        return ()
    kept = [affordable(problem, edge) for edge in range(len(problem.edges))]
    inside = spread((ends for ends, fits in zip(problem.edges, kept, strict=True) if fits), [problem.start])
    if any(terminal in inside for terminal in problem.terminals):
        return ()
    leading = set(leading_nodes(problem))
    return tuple(
        edge
        for edge, (tail, head) in enumerate(problem.edges)
        if tail in inside and head not in inside and head in leading
    )


def least_uses(problem: PathProblem, resource: int, horizon: int) -> int:
    """The least mean of one resource that a walk of at most `horizon` moves to a terminal uses.

    Bellman and Ford's layers: O(horizon * E). Some terminal must be that near.
    """
    out: dict[int, list[tuple[int, int]]] = {}
    for (tail, head), row in zip(problem.edges, problem.costs, strict=True):
        out.setdefault(tail, []).append((head, row[resource]))
    used, layer = {problem.start: 0}, {problem.start: 0}
    for _ in range(horizon):
        following: dict[int, int] = {}
        for node, amount in layer.items():
            for head, cost in out.get(node, ()):
                if amount + cost < min(used.get(head, amount + cost + 1), following.get(head, amount + cost + 1)):
                    following[head] = amount + cost
        if not following:
            break
        used |= following
        layer = following
    return min(used[terminal] for terminal in problem.terminals if terminal in used)


def affordable(problem: PathProblem, edge: int) -> bool:
    """Whether an edge alone keeps every budget."""
    spreads = problem.spreads[edge] if problem.spreads else (0,) * len(problem.budgets)
    square = 0 if problem.risk is None else problem.risk.square
    amounts = zip(problem.costs[edge], spreads, problem.budgets, strict=True)
    return all(keeps(cost, spread**2, budget, square) for cost, spread, budget in amounts)


def spread(edges: Iterable[tuple[int, int]], sources: Iterable[int]) -> dict[int, int]:
    """The fewest moves from any of `sources` to each node that they lead to, in breadth-first order."""
    out: dict[int, list[int]] = {}
    for tail, head in edges:
        out.setdefault(tail, []).append(head)
    moves = dict.fromkeys(sources, 0)
    queue = list(moves)
    for node in queue:  # grows while it is read
        for head in out.get(node, ()):
            if head not in moves:
                moves[head] = moves[node] + 1
                queue.append(head)
    return moves
