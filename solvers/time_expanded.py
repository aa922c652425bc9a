"""The time-expanded graph of a problem: a net for the search in Python, and for integer programmes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import add, gt

from solvers.chances import Chance, LinearParts, linear_parts
from solvers.deadline import NEVER as NO_LIMIT
from solvers.deadline import SolveDeadline
from solvers.errors import BackendError, LateError
from solvers.found import Ending, Found
from solvers.grid import Grid, doubt, most_objective, score_grid
from solvers.memory import require_memory
from solvers.problem import PathProblem
from solvers.rcsp.plain import searched
from solvers.rcsp.plain_net import Amounts, Net, pruned, ways
from solvers.reach import distances, least_amounts, spread

END = -1
"""The name of an arc that ends a path."""

_STEP_BYTES = 1_000
"""What a step takes, however few arcs it has."""

_ARC_BYTES = 2_800
"""What an arc takes, here (some 280 bytes) and in the backend: as measured with CP-SAT at 45,000 arcs, the most."""

_SEARCHED_ARC_BYTES = 1_000
"""What an arc takes in the search in Python, in arrays and in lists."""


@dataclass(frozen=True)
class StepStates:
    """The nodes of a problem at each step, with the arcs between them, of the edges and resources that can bind.

    A *score* is an exact integer, `(L + 1) * objective in units - moves`, where L are the grid's steps and the units
    its own. Equal scores mean equal objectives and equally many moves, so that one number carries the first two rules
    of the order; only the lexicographic one is left.

    Rewards, times their discount, are rounded once to a decimal grid on which every sum is an exact integer. Equality
    of objectives is therefore exact, transitive and independent of the order of summation, and 0.1 + 0.2 equals 0.3 as
    a reader expects. Up to 1000 steps the grid is finer than 1e-13 of the largest possible objective. Paths whose
    objectives differ by less than L + 1 units may count as equal; where that is more than `OPTIMALITY_TOLERANCE`, the
    answer is FEASIBLE, not OPTIMAL.

    Attributes:
        grid: The units, and the steps to look at.
        budgets: K' budgets, of the resources that can bind.
        most: No path has a greater objective.
        net: An arc from one step to the next is a move; an arc to the target, named `END`, ends the path and stands for
            all the stays up to the horizon. A path costs minus its score. None where no way leads to a terminal.
        names: Step and node of each state, by its number in the net.
    """

    grid: Grid
    budgets: Amounts
    most: float
    net: Net | None
    names: Sequence[tuple[int, int]]

    def objective_bound(self, score: int) -> float:
        """The greatest objective that a path of at most this score can have."""
        factor = self.grid.moves + 1
        return min(self.most, self.grid.bound((score + factor - 1) // factor))


@dataclass(frozen=True)
class Programme:
    """An integer programme: of the arcs, which are binary decisions, exactly the paths of a problem can be made.

    A path takes moves from the start and finishes with one arc to the target. As that stands for all the stays up to
    the horizon, nothing can move after a stay: that staying is final needs no further constraint.

    Attributes:
        grid: The units of gains.
        net: The arcs, those on some way to the target that keeps each budget by itself, with their use and its limits.
        gains: What each arc adds to the objective, in units of the grid.
        most: No path has a greater objective (the unbudgeted optimum).
    """

    grid: Grid
    net: Net
    gains: Sequence[int]
    most: float

    def flow(self) -> list[tuple[list[int], list[int], int]]:
        """Of each node but the target the arcs that enter, those that leave, and how many more of the latter."""
        net = self.net
        rows: list[tuple[list[int], list[int], int]] = [([], [], int(node == net.source)) for node in range(net.n)]
        for arc, (tail, head) in enumerate(zip(net.tails, net.heads, strict=True)):
            rows[tail][1].append(arc)
            rows[head][0].append(arc)
        return [row for node, row in enumerate(rows) if node != net.target and any(row)]

    def edges_of(self, chosen: Sequence[int]) -> list[int]:
        """The edges of the path that the chosen arcs (ascending) form.

        Raises:
            BackendError: If they do not form one.
        """
        net, at = self.net, [self.net.source, *(self.net.heads[arc] for arc in chosen)]
        if [net.tails[arc] for arc in chosen] != at[:-1] or at[-1] != net.target:
            raise BackendError(f"the {len(chosen)} arcs chosen by the solver do not form a path")
        return [net.ids[arc] for arc in chosen[:-1]]


def search(problem: PathProblem, deadline: SolveDeadline) -> Found:
    """Finds the best path, of equal ones that of the smallest edges, of a problem whose budgets are not negative."""
    began = time.perf_counter()
    result, bound, steps, lost = Found(Ending.OUT_OF_TIME, []), most_objective(problem), 0, 0.0
    try:
        states = states_of(problem, _SEARCHED_ARC_BYTES, deadline)
        steps, lost = states.grid.moves, doubt(problem, states.grid)
        if states.net is None:
            moves = distances(problem, deadline)
            reached = any(moves.get(terminal, problem.steps + 1) <= problem.steps for terminal in problem.terminals)
            result = Found(Ending.INFEASIBLE if reached else Ending.UNREACHABLE, [])
        else:
            result = searched(states.net, 1, deadline, ties=True)
            bound = bound if result.bound is None else states.objective_bound(-int(result.bound))
    except LateError:
        pass
    paths = [tuple(edge for edge in path if edge != END) for path in result.paths]
    return result._replace(paths=paths, bound=bound, seconds=time.perf_counter() - began, steps=steps, doubt=lost)


def programme(problem: PathProblem, deadline: SolveDeadline = NO_LIMIT) -> Programme | None:
    """The integer programme of a problem; None if making it already shows that no path is feasible."""
    if any(budget < 0 for budget in problem.budgets):
        return None
    states = states_of(problem, _ARC_BYTES, deadline)
    net = states.net and pruned(states.net, deadline)
    if net is None or not net.tails:
        return None
    factor = states.grid.moves + 1
    best = ways(net, net.cost, deadline, back=True).least[net.source]
    return Programme(states.grid, net, [-(cost // factor) for cost in net.cost], states.objective_bound(-best))


def states_of(problem: PathProblem, arc_bytes: int, deadline: SolveDeadline = NO_LIMIT) -> StepStates:
    """The states on ways from the start to a terminal, as far as each budget by itself allows them.

    No budget may be negative. Each arc will take `arc_bytes`, for `require_memory`.
    """
    grid, terminals = score_grid(problem, 1, deadline), set(problem.terminals)
    table = 8.0 * len(terminals) if grid.weights else 0.0
    require_memory((_STEP_BYTES + table) * grid.moves, f"a time-expanded graph of {grid.moves:,} steps")
    deadline.check()
    costs, budgets, chances = _binding(linear_parts(problem, deadline), grid.moves, deadline)
    out: list[list[tuple[int, int, Amounts]]] = [[] for _ in range(problem.n_nodes)]
    for edge, cost in deadline.each(costs.items()):
        out[problem.edges[edge][0]].append((edge, problem.edges[edge][1], cost))
    rows, names = _arcs(problem, grid, out, _rooms(problem, costs, budgets, deadline), arc_bytes, deadline)
    target = len(names)
    if not any(head < 0 for _, head, *_ in rows):
        return StepStates(grid, budgets, most_objective(problem), None, names)
    tails, heads, cost, use, ids = zip(*rows, strict=True)
    net = Net(
        target + 1, tails, [target if head < 0 else head for head in heads], cost, use, ids, (0,) * len(budgets),
        budgets, 0, target, layered=True, chances=chances,
    )  # fmt: skip
    return StepStates(grid, budgets, most_objective(problem), net, names)


def _binding(
    parts: LinearParts, horizon: int, deadline: SolveDeadline
) -> tuple[dict[int, Amounts], Amounts, tuple[Chance, ...]]:
    """By usable edge the costs of the K' resources that can bind, their budgets, and the tests on them.

    Left out are edges that cost more than a whole budget, and resources of which even as many of the dearest edges as
    there are steps keep the budget. Costs and budgets are divided by the costs' greatest common divisor.
    """
    rows = deadline.each(enumerate(parts.costs))
    usable = {edge: row for edge, row in rows if not any(map(gt, row, parts.budgets))}
    tested = {column for chance in parts.chances for column in (chance.mean, chance.variance)}
    divisors: dict[int, int] = {}
    for k, budget in enumerate(parts.budgets):
        deadline.check()
        column = [row[k] for row in usable.values()]
        if max(column, default=0) * horizon > budget or k in tested:
            divisors[k] = 1 if k in tested else math.gcd(*column)
    place = {k: i for i, k in enumerate(divisors)}
    chances = tuple(item._replace(mean=place[item.mean], variance=place[item.variance]) for item in parts.chances)
    rows = deadline.each(usable.items())
    costs = {edge: tuple(row[k] // divisor for k, divisor in divisors.items()) for edge, row in rows}
    return costs, tuple(parts.budgets[k] // divisor for k, divisor in divisors.items()), chances


def _rooms(
    problem: PathProblem, costs: Mapping[int, Amounts], budgets: Amounts, deadline: SolveDeadline
) -> dict[int, tuple[int, Amounts]]:
    """The fewest moves from each node to a terminal, and how much of each resource may be used on the way there."""
    back = [problem.edges[edge][::-1] for edge in costs]
    moves = spread(back, problem.terminals, deadline)
    columns = []
    for k, budget in enumerate(budgets):
        tolls = ((*ends, row[k]) for ends, row in zip(back, costs.values(), strict=True))
        least = least_amounts(tolls, problem.terminals, deadline)
        columns.append([budget - least[node] for node in moves])
    rooms = zip(*columns, strict=True) if columns else [()] * len(moves)
    return {node: (count, room) for (node, count), room in zip(moves.items(), rooms, strict=True)}


_Row = tuple[int, int, int, Amounts, int]
"""Tail, head, cost, use and name of an arc; the head of one that ends a path is -1."""


def _arcs(
    problem: PathProblem,
    grid: Grid,
    out: Sequence[Sequence[tuple[int, int, Amounts]]],
    rooms: Mapping[int, tuple[int, Amounts]],
    arc_bytes: int,
    deadline: SolveDeadline,
) -> tuple[list[_Row], list[tuple[int, int]]]:
    """The arcs step by step, and the states' names.

    `out` has for each node the edges that leave it: number, head and costs; `rooms` are those of `_rooms`.
    """
    earned, stays, factor = _earned(problem, grid), _stays(problem, grid), grid.moves + 1
    names, rows, nothing = [(0, problem.start)], list[_Row](), (0,) * len(next(iter(rooms.values()), (0, ()))[1])
    layer, terminals = {problem.start: (0, nothing)}, set(problem.terminals)
    for step in range(grid.moves + 1):
        deadline.check()
        here, following = sorted(layer.items()), dict[int, tuple[int, Amounts]]()
        for node, (tail, used) in deadline.each(here if step < grid.moves else ()):
            for edge, head, cost in out[node]:
                to_go, room = rooms.get(head, (factor, nothing))
                spent = tuple(map(add, used, cost))
                if to_go >= grid.moves - step or any(map(gt, spent, room)):
                    continue
                number, least = following.get(head, (len(names), spent))
                if number == len(names):
                    names.append((step + 1, head))
                following[head] = number, tuple(map(min, least, spent))
                rows.append((tail, number, 1 - factor * earned(step, head), cost, edge))
        rows += [(tail, -1, -factor * stays(step, node), nothing, END) for node, (tail, _) in here if node in terminals]
        require_memory(arc_bytes * len(rows), f"a model of {len(rows):,} arcs at the first {step + 1:,} steps")
        layer = following
    return rows, names


def _earned(problem: PathProblem, grid: Grid) -> Callable[[int, int], int]:
    """The units of arriving at a node by a move, counted from 0."""
    return lambda step, node: round(grid.weight(step) * problem.rewards[node] * grid.scale)


def _stays(problem: PathProblem, grid: Grid) -> Callable[[int, int], int]:
    """The units of staying at a terminal from a step to the end."""
    earned = _earned(problem, grid)

    def rest(node: int) -> int:
        return grid.rests[node] if grid.rests else 0

    @cache
    def sums(node: int) -> list[int]:
        numbers = [rest(node)]
        for step in reversed(range(grid.moves)):
            numbers.append(numbers[-1] + earned(step, node))
        return numbers[::-1]

    if grid.weights:
        return lambda step, node: sums(node)[step]
    return lambda step, node: (grid.moves - step) * earned(0, node) + rest(node)
