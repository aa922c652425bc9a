"""How many moves the best paths make at most, however long the horizon: beyond that, steps need not be looked at.

A path that ends at a terminal of reward c may lose a circle and stay longer instead. That is never worse where the
circle earns no more than c a move; the path is then shorter, and by the order of ties better. So circles matter only
where they *pay*: where they earn more than the poorest terminal that they lead to. This gives, for the k best paths:

1. No path without circles has more moves than the longest simple path.
2. Where no circle pays, k * n - 1 moves are enough on n nodes: a longer path has k circles to lose one by one, and k
   paths are better than it.
3. A budget of which every edge takes something allows only so many moves; several budgets of which every edge takes
   from one, their sum. Edges that take nothing count between those, as in 1 and 2.
4. With a discount there is a step from which on nothing is worth a unit of the grid on which objectives are compared
   (`solvers.grid`); after it every circle is lost.

For the best path alone (k = 1) one more thing is known. A path is not worse where it ends at a terminal that earns as
much as all that can be reached from there; so nothing leaves such a terminal.

The objective is "stay" here; `solvers.visit` writes the other one in its terms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from solvers.circles import between, components, earning, longest
from solvers.deadline import NEVER, SolveDeadline
from solvers.problem import PathProblem

WORTH = 1000
"""Up to this horizon, looking at every step costs less than finding out which to leave out."""

_BELLMAN_FORD = 2_000_000
"""Up to so many steps it is worth asking whether a circle pays in all, and not only whether a part of it does."""

_NEGLIGIBLE = 2.0**-54
"""The share of the largest objective that is surely less than half a unit of the grid."""


def useful_moves(problem: PathProblem, wanted: int = 1, deadline: SolveDeadline = NEVER) -> int:
    """The most moves of the `wanted` best paths by the objective "stay", or more; never more than the horizon."""
    n, horizon = problem.n_nodes, problem.steps
    if horizon <= WORTH:
        return horizon
    most = horizon
    if problem.discount < 1.0:
        most = min(most, _negligible_from(problem.discount) + wanted * n)
    usable = [
        edge
        for edge, row in enumerate(deadline.each(problem.costs))
        if all(cost <= budget for cost, budget in zip(row, problem.budgets, strict=True))
    ]
    inside, _ = between(problem, usable, deadline)
    if not inside:
        return 1
    paid = paid_moves(problem, inside)
    if paid is not None:
        most = min(most, paid)
    if most < n or most <= WORTH:
        return max(1, most)
    return max(1, min(most, _by_circles(problem, inside, wanted, deadline)))


def _negligible_from(discount: float) -> int:
    """The step from which on nothing counts any more (4 above)."""
    return math.ceil(math.log(_NEGLIGIBLE) / math.log(discount)) + 1


def paid_moves(problem: PathProblem, edges: Sequence[int]) -> int | None:
    """The most moves that the budgets allow (3 above); None where some edges take nothing."""
    if not edges:
        return 0
    least: list[int] = []
    single = []
    for k, budget in enumerate(problem.budgets):
        amounts = {problem.costs[edge][k] for edge in edges}
        positive = min((amount for amount in amounts if amount), default=0)
        least.append(positive)
        if 0 not in amounts:
            single.append(budget // positive)
    if single:
        return min(single)
    if any(not any(problem.costs[edge]) for edge in edges):
        return None
    return sum(budget // amount for budget, amount in zip(problem.budgets, least, strict=True) if amount)


@dataclass(frozen=True)
class _Ends:
    """What can come after each node, by its component.

    Attributes:
        group: The component of each node.
        best: For each component, the greatest reward of a node in it or behind it.
        poorest: The least reward of a terminal in it or behind it.
        least: The least reward of any node in it or behind it.
    """

    group: Sequence[int]
    best: Sequence[float]
    poorest: Sequence[float]
    least: Sequence[float]


def _ends(problem: PathProblem, order: Sequence[int], group: Sequence[int], edges: Sequence[int]) -> _Ends:
    rewards, terminals = problem.rewards, set(problem.terminals)
    count = max(group) + 1
    best, poorest, least = [-math.inf] * count, [math.inf] * count, [math.inf] * count
    out: dict[int, set[int]] = {}
    for edge in edges:
        tail, head = problem.edges[edge]
        if group[tail] != group[head]:
            out.setdefault(group[tail], set()).add(group[head])
    done = -1
    for node in order:  # components come after those that they lead to, each in one run
        index = group[node]
        if index != done:
            for behind in out.get(index, ()):
                best[index] = max(best[index], best[behind])
                poorest[index] = min(poorest[index], poorest[behind])
                least[index] = min(least[index], least[behind])
            done = index
        best[index] = max(best[index], rewards[node])
        least[index] = min(least[index], rewards[node])
        if node in terminals:
            poorest[index] = min(poorest[index], rewards[node])
    return _Ends(group, best, poorest, least)


def _by_circles(problem: PathProblem, edges: Sequence[int], wanted: int, deadline: SolveDeadline) -> int:
    """The most moves by what circles there are (1 to 3 above); the horizon where there is no bound."""
    ends = [problem.edges[edge] for edge in edges]
    order, group = components(problem.n_nodes, ends, deadline)
    met = {node for pair in ends for node in pair} | {problem.start}
    order = [node for node in order if node in met]  # the others lead nowhere, and are led to from nowhere
    if wanted == 1:
        known = _ends(problem, order, group, edges)
        top = {node for node in problem.terminals if problem.rewards[node] >= known.best[group[node]]}
        edges, _ = between(problem, [edge for edge in edges if problem.edges[edge][0] not in top], deadline)
        if not edges:
            return 1
        ends = [problem.edges[edge] for edge in edges]
        order, group = components(problem.n_nodes, ends, deadline)
        met = {node for pair in ends for node in pair} | {problem.start}
        order = [node for node in order if node in met]
    known = _ends(problem, order, group, edges)
    rounds = _within(edges, problem, group)
    if not rounds:
        return longest(order, ends)
    numbers = [problem.steps]
    if not _pays(problem, rounds, known, deadline):
        numbers.append(wanted * len(met) - 1)
    free = [edge for edge in edges if not any(problem.costs[edge])]
    paid = paid_moves(problem, [edge for edge in edges if any(problem.costs[edge])])
    if paid is not None:
        free_ends = [problem.edges[edge] for edge in free]
        free_order, free_group = components(problem.n_nodes, free_ends, deadline)
        circles = _within(free, problem, free_group)
        size = len({node for pair in free_ends for node in pair})
        if not circles:
            numbers.append(paid + (paid + 1) * longest(free_order, free_ends))
        elif not _pays(problem, circles, known, deadline):
            numbers.append(paid + (paid + 1) * (size - 1) + wanted * size)
    return min(numbers)


def _within(edges: Sequence[int], problem: PathProblem, group: Sequence[int]) -> list[int]:
    """The edges on circles."""
    return [edge for edge in edges if group[problem.edges[edge][0]] == group[problem.edges[edge][1]]]


def _pays(problem: PathProblem, rounds: Sequence[int], known: _Ends, deadline: SolveDeadline) -> bool:
    """Whether some circle of these edges may pay: a circle earns at most what the best node on it does a move."""
    rewards, group = problem.rewards, known.group
    heads = {problem.edges[edge][1] for edge in rounds}
    if problem.discount < 1.0:  # what comes after is put off, so it has to be worth no less, all of it
        return any(rewards[head] > known.least[group[head]] for head in heads)
    paying = {group[head] for head in heads if rewards[head] > known.poorest[group[head]]}
    if not paying:
        return False
    part = [edge for edge in rounds if group[problem.edges[edge][1]] in paying]
    if len(part) * problem.n_nodes > _BELLMAN_FORD:
        return True
    exact = {
        edge: Fraction(repr(rewards[head])) - Fraction(repr(known.poorest[group[head]]))
        for edge in part
        for head in [problem.edges[edge][1]]
    }
    unit = math.lcm(*{gain.denominator for gain in exact.values()})
    gains = {edge: int(gain * unit) for edge, gain in exact.items()}
    return earning(problem.n_nodes, part, problem.edges, gains, deadline) is not None
