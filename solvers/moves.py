"""How many moves are enough where no horizon is given, with the objective "visit".

Let a path be *straight* if no part of it that comes back to its beginning could be cut out without losing reward. A
best path with the fewest moves is straight, so the longest straight path that keeps the budgets is horizon enough:

1. No path without circles has more moves than the longest simple path.
2. Where no circle earns anything in all, a straight path meets no node twice: n - 1 moves are enough. (With a discount
   this does not hold, since a circle puts off what comes after it; then every circle counts as one that earns.)
3. Else let a component be a maximal set of nodes that edges free of all capped costs lead to and fro between. If a
   free circle earns, there is no best path, and its edges are reported. If none does, a straight path meets no node
   twice between two edges that cost something, so it makes at most s - 1 moves while it stays in a component of s
   nodes. With the components drawn together every circle costs something, so paths within the budgets are finitely
   many; one pass per move counts the moves of the longest one (`_most_moves`), and the moves inside components, which
   are none where no circle is free, are added.

Never fewer than n - 1 moves come out where there is a circle, so that greater budgets than those given change nothing
in what `solvers.explain` finds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from solvers.circles import between, components, earning, longest
from solvers.deadline import NEVER, SolveDeadline
from solvers.errors import EndlessError
from solvers.horizon import paid_moves
from solvers.problem import PathProblem
from solvers.reach import affordable, least_amounts

MOST_MOVES = 10_000
"""Longer paths are not looked for; whoever wants them says so by a horizon."""

_WORTH = 500_000
"""Where counting the moves of the longest path takes more steps than this, what the budgets allow at most will do."""

_MOST_STEPS = 2_000_000
"""Most steps to count them in, some two seconds."""


def enough_moves(problem: PathProblem, deadline: SolveDeadline = NEVER) -> int:
    """A horizon with which the best path is as good as with any longer one, and so are the k best straight paths.

    Args:
        problem: A problem with the objective "visit"; its own horizon plays no part.
        deadline: When to give up.

    Returns:
        At least 1.

    Raises:
        EndlessError: There is none, or it is above `MOST_MOVES`, or takes too long to count; names a circle.
        LateError: If the deadline passes.

    Examples:
        >>> from solvers import PathProblem, enough_moves
        >>> edges, costs = [(0, 0), (0, 1)], [[2], [0]]
        >>> problem = PathProblem(
        ...     2, edges, rewards=[1, 0], costs=costs, budgets=[7], start=0, terminals=[1], objective="visit"
        ... )
        >>> enough_moves(problem)  # three rounds that earn, and the move to the end
        4
    """
    inside, useful = between(problem, range(len(problem.edges)), deadline)
    order, group = components(problem.n_nodes, [problem.edges[edge] for edge in inside], deadline)
    if not any(group[tail] == group[head] for tail, head in (problem.edges[edge] for edge in inside)):
        return max(1, longest(order, [problem.edges[edge] for edge in inside]))
    simple = max(1, useful - 1)
    usable, _ = between(problem, [edge for edge in deadline.each(inside) if affordable(problem, edge)], deadline)
    circle = _earning(problem, usable, deadline)
    if circle is None:
        return simple
    free = _earning(problem, [edge for edge in usable if not any(problem.costs[edge])], deadline)
    if free is not None:
        raise EndlessError(free, "it earns and takes nothing of what is capped")
    paid = paid_moves(problem, usable)
    if paid is not None and paid <= MOST_MOVES and paid * len(usable) > _WORTH:
        return max(simple, paid)
    if (most := _bounded(problem, usable, circle, deadline)) > MOST_MOVES:
        raise EndlessError(circle, f"it earns, and the budgets allow for more than {MOST_MOVES} moves")
    return max(simple, most)


def _earning(problem: PathProblem, edges: Sequence[int], deadline: SolveDeadline) -> tuple[int, ...] | None:
    """A circle of these edges that earns, by its edges; None if there is none. With a discount, any circle."""
    gains = dict.fromkeys(edges, 1)
    if problem.discount == 1:  # as integers in a unit common to all
        exact = exact_gains(problem)
        unit = math.lcm(*(exact[edge].denominator for edge in edges))
        gains = {edge: int(exact[edge] * unit) for edge in edges}
    return earning(problem.n_nodes, edges, problem.edges, gains, deadline)


def exact_gains(problem: PathProblem) -> list[Fraction]:
    """What a move along each edge earns, each reward being the decimal that it is written as."""
    nodes = [Fraction(repr(reward)) for reward in problem.rewards]
    own = [Fraction(repr(reward)) for reward in problem.edge_rewards] or [Fraction(0)] * len(problem.edges)
    return [nodes[head] + gain for (_, head), gain in zip(problem.edges, own, strict=True)]


def _bounded(problem: PathProblem, edges: Sequence[int], circle: tuple[int, ...], deadline: SolveDeadline) -> int:
    """The moves of the longest straight path to a terminal, where no circle is free that earns."""
    free = [problem.edges[edge] for edge in edges if not any(problem.costs[edge])]
    _, group = components(problem.n_nodes, free, deadline)
    sizes = [0] * (max(group) + 1)
    for index in group:
        sizes[index] += 1
    kept = [
        (group[tail], group[head], problem.costs[edge])
        for edge in edges
        for tail, head in [problem.edges[edge]]
        if group[tail] != group[head] or any(problem.costs[edge])
    ]
    ends = {group[terminal] for terminal in problem.terminals}
    moves = _most_moves(kept, problem.budgets, group[problem.start], ends, deadline)
    if moves is None:
        raise EndlessError(circle, "it earns, and counting the moves that the budgets allow for takes too long")
    return moves + (moves + 1) * (max(sizes) - 1)


def _most_moves(
    edges: Sequence[tuple[int, int, Sequence[int]]],
    budgets: Sequence[int],
    start: int,
    ends: set[int],
    deadline: SolveDeadline,
) -> int | None:
    """The most moves for which no resource, nor the sum of their shares of the budgets, rules out a path to an end.

    None where that takes more than `_MOST_STEPS` to count.

    Layer by layer: the least that a path of so many moves to a node takes, of each resource for itself and of all
    together, as shares of the budgets. A node stays while each of these leaves enough for the way from there to an end.
    The sum of shares grows along every circle, since every circle costs something; so the layers come to an end.
    """
    capped = [k for k, budget in enumerate(budgets) if budget > 0]  # what costs of another is not usable
    whole = math.lcm(*(budgets[k] for k in capped))
    weighed = [
        (tail, head, (*(cost[k] for k in capped), sum(cost[k] * (whole // budgets[k]) for k in capped)))
        for tail, head, cost in edges
    ]
    limits = (*(budgets[k] for k in capped), whole * len(capped))
    tests = range(len(limits))
    togo = [least_amounts(((head, tail, cost[test]) for tail, head, cost in weighed), ends, deadline) for test in tests]
    out: dict[int, list[tuple[int, tuple[int, ...]]]] = {}
    for tail, head, cost in weighed:
        out.setdefault(tail, []).append((head, cost))

    def alive(node: int, used: Sequence[int]) -> bool:
        return all(node in togo[test] and used[test] + togo[test][node] <= limits[test] for test in tests)

    layer = {start: (0,) * len(limits)} if alive(start, (0,) * len(limits)) else {}
    moves = steps = 0
    while layer and moves <= MOST_MOVES:
        deadline.check()
        steps += sum(len(out.get(node, ())) for node in layer)
        if steps > _MOST_STEPS:
            return None
        following: dict[int, tuple[int, ...]] = {}
        for node, used in layer.items():
            for head, cost in out.get(node, ()):
                total = tuple(map(sum, zip(used, cost, strict=True)))
                known = following.get(head)
                following[head] = total if known is None else tuple(map(min, known, total))
        layer = {node: used for node, used in following.items() if alive(node, used)}
        moves += bool(layer)
    return moves
