"""A `PathProblem` as arrays: costs reduced to what can bind, rewards as exact integers on a decimal grid."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.chances import Chance, LinearParts, linear_parts
from solvers.deadline import NEVER as NO_LIMIT
from solvers.deadline import Deadline
from solvers.grid import Grid, most_objective, score_grid
from solvers.memory import require_memory
from solvers.problem import PathProblem

IntArray = NDArray[np.int64]
AnyArray = NDArray[Any]

_LARGEST_INT64_AMOUNT = 2**62

_STEP_BYTES = 1_000
"""What a step takes, however few arcs it has."""


@dataclass(frozen=True)
class Network:
    """What a time-expanded graph is made of; n nodes, S <= E usable edges ("slots"), K' binding resources, L steps.

    Slots are sorted by tail, then by edge index, so that the first of equal slots is the lexicographically smallest.

    A *score* is an exact integer, `(L + 1) * objective in units - moves`, where the units are those of `grid`. Equal
    scores mean equal objectives and equally many moves, so that one number carries the first two rules of the order;
    only the lexicographic one is left.

    Attributes:
        horizon: L, the steps to look at: the grid's.
        start: The start node.
        is_terminal: bool[n].
        heads: int64[S], where a slot leads.
        edge_ids: int64[S], the slot's index in the problem's edges.
        costs: int64[S, K'], or Python ints (dtype object) where budgets are too large for an int64.
        budgets: [K'], of the same dtype.
        tails: int64[S], the node that a slot leaves.
        rewards: float64[n].
        ends: int64[T], the terminals.
        stays: int64[L + 1, T], with a discount: score of staying at each of them from step l to the end.
        grid: The units.
        most: No path has a greater objective.
        chances: Tests that a path must pass beside its budgets.
    """

    horizon: int
    start: int
    is_terminal: NDArray[np.bool_]
    heads: IntArray
    edge_ids: IntArray
    costs: AnyArray
    budgets: AnyArray
    tails: IntArray
    rewards: NDArray[np.float64]
    ends: IntArray
    stays: IntArray | None
    grid: Grid
    most: float
    chances: tuple[Chance, ...] = ()

    def objective_bound(self, score: int) -> float:
        """The greatest objective that a path of at most this score can have."""
        return min(self.most, self.grid.bound((score + self.horizon) // (self.horizon + 1)))

    def move(self, step: int) -> IntArray:
        """int64[n]: the score of arriving at each node by move number `step` (from 0)."""
        units = np.rint(self.grid.weight(step) * self.rewards * self.grid.scale)
        return units.astype(np.int64) * (self.horizon + 1) - 1

    def stay(self, step: int) -> IntArray:
        """int64[n]: the score of staying at each terminal from `step` to the end; 0 for other nodes."""
        scores = np.zeros(len(self.rewards), dtype=np.int64)
        if self.stays is not None:
            scores[self.ends] = self.stays[step]
        else:
            scores[self.ends] = (self.horizon - step) * (self.move(0)[self.ends] + 1)
        if self.grid.rests and self.stays is None:
            scores += np.array(self.grid.rests, dtype=np.int64) * (self.horizon + 1)
        return scores


def build_network(problem: PathProblem, deadline: Deadline = NO_LIMIT) -> Network:
    """Reduces a problem to its usable edges and binding resources, without changing its feasible paths.

    Left out are edges that cost more than a whole budget, resources of which even L times the dearest edge keeps the
    budget, and steps that no best path needs. Costs and budgets are divided by the costs' greatest common divisor.

    Rewards, times their discount, are rounded once to a decimal grid on which every sum is an exact integer. Equality
    of objectives is therefore exact, transitive and independent of the order of summation, and 0.1 + 0.2 equals 0.3 as
    a reader expects. Up to 1000 steps the grid is finer than 1e-13 of the largest possible objective. Paths whose
    objectives differ by less than L + 1 units may count as equal, also where OPTIMAL is claimed.

    Args:
        problem: A problem whose budgets are not negative.
        deadline: When to give up.

    Raises:
        LateError: If the deadline passes.
        TooLargeError: If so many steps would take too much memory.
    """
    grid = score_grid(problem, 1, deadline)
    horizon, terminals = grid.moves, np.array(problem.terminals, dtype=np.int64)
    stays = len(terminals) if grid.weights else 0
    require_memory((_STEP_BYTES + 8.0 * stays) * horizon, f"a time-expanded graph of {horizon:,} steps")
    deadline.check()
    ends = np.array(problem.edges, dtype=np.int64).reshape(-1, 2)
    deadline.check()
    usable, costs, budgets, chances = _binding(problem, linear_parts(problem, deadline), horizon, deadline)
    deadline.check()
    order = usable[np.argsort(ends[usable, 0], kind="stable")]
    rewards = np.array(problem.rewards)
    is_terminal = np.zeros(problem.n_nodes, dtype=np.bool_)
    is_terminal[terminals] = True
    return Network(
        horizon=horizon,
        start=problem.start,
        is_terminal=is_terminal,
        heads=ends[order, 1],
        edge_ids=order,
        costs=costs[order],
        budgets=budgets,
        tails=ends[order, 0],
        rewards=rewards,
        ends=terminals,
        stays=_stays(grid, rewards, terminals) if grid.weights else None,
        grid=grid,
        most=most_objective(problem),
        chances=chances,
    )


def _binding(
    problem: PathProblem, parts: LinearParts, horizon: int, deadline: Deadline
) -> tuple[IntArray, AnyArray, AnyArray, tuple[Chance, ...]]:
    """Usable edges, the costs [E, K'] and budgets [K'] of the resources that can bind, and the tests on them."""
    try:
        costs: AnyArray = np.array(parts.costs, dtype=np.int64)
    except OverflowError:
        costs = np.array(parts.costs, dtype=object)
    costs = costs.reshape(len(problem.edges), len(parts.budgets))
    if any(budget * horizon >= _LARGEST_INT64_AMOUNT for budget in parts.budgets):  # what a path uses must fit as well
        costs = costs.astype(object)
    limits: AnyArray = np.array(parts.budgets, dtype=object)
    usable = np.flatnonzero((costs <= limits).all(axis=1))
    tested = {column for chance in parts.chances for column in (chance.mean, chance.variance)}
    columns: list[AnyArray] = []
    budgets: list[int] = []
    place: dict[int, int] = {}
    for k, budget in enumerate(parts.budgets):
        dearest = int(costs[usable, k].max(initial=0))
        deadline.check()
        if dearest * horizon > budget or k in tested:
            divisor = 1 if k in tested else math.gcd(*(int(cost) for cost in np.unique(costs[usable, k])))
            place[k] = len(columns)
            columns.append(costs[:, k] // divisor)
            budgets.append(budget // divisor)
    chances = tuple(replace(one, mean=place[one.mean], variance=place[one.variance]) for one in parts.chances)
    if not columns:
        return usable, np.zeros((len(costs), 0), dtype=np.int64), np.zeros(0, dtype=np.int64), chances
    return usable, np.stack(columns, axis=1), np.array(budgets, dtype=costs.dtype), chances


def _stays(grid: Grid, rewards: NDArray[np.float64], ends: IntArray) -> IntArray:
    """The `stays` of a `Network`."""
    stays = np.zeros((grid.moves + 1, len(ends)), dtype=np.int64)
    if grid.rests:
        stays[-1] = np.array(grid.rests, dtype=np.int64)[ends]
    for step in range(grid.moves - 1, -1, -1):
        stays[step] = stays[step + 1] + np.rint(grid.weights[step] * rewards[ends] * grid.scale).astype(np.int64)
    stays *= grid.moves + 1
    return stays
