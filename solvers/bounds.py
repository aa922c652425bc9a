"""Backward passes: what can at best be earned, and must at least be spent, from a node at a step to the end.

These are the completion bounds of label setting; each costs O(L * E).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.deadline import NEVER as NO_LIMIT
from solvers.deadline import Deadline
from solvers.network import NEVER, AnyArray, IntArray, Network


@dataclass(frozen=True)
class Bound:
    """An upper bound on completions, from a pass in which resources are paid for at a price.

    Attributes:
        prices: int64[K'], the price of a unit of each resource, in score; all 0 for the unbudgeted bound.
        values: int64[L + 1, n], the best score from a node at step l to the end, less the price of what it uses.
    """

    prices: IntArray
    values: IntArray

    def at(self, step: int, nodes: IntArray, slack: AnyArray) -> IntArray:
        """Bounds on the score still to come of labels at `nodes`, which have `slack` [labels, K'] left to spend."""
        bounds: IntArray = self.values[step, nodes]
        if self.prices.any():
            bounds = bounds + (slack @ self.prices).astype(np.int64)
        return bounds


def priced_bound(network: Network, prices: IntArray, deadline: Deadline = NO_LIMIT) -> Bound:
    """The dynamic programme backwards from the horizon, with each resource paid for at its price.

    By weak duality, for a label with `slack` left, `values + prices @ slack` is never less than what its best
    completion within the budgets scores. With zero prices it is exact where no budget binds.

    Raises:
        LateError: If the deadline passes.
    """
    values = np.full((network.horizon + 1, len(network.rewards)), NEVER, dtype=np.int64)
    terminal = network.is_terminal
    values[-1, terminal] = network.stay(network.horizon)[terminal]
    paid = (network.costs @ prices).astype(np.int64) if prices.any() else np.zeros(len(network.heads), dtype=np.int64)
    for step in range(network.horizon - 1, -1, -1):
        deadline.check()
        row = values[step]
        if len(network.heads):
            through = (network.move(step) + values[step + 1])[network.heads] - paid
            row[network.tails] = np.maximum.reduceat(through, network.first_slot)
        row[terminal] = np.maximum(row[terminal], network.stay(step)[terminal])
        np.maximum(row, NEVER, out=row)
    return Bound(prices, values)


def best_path(network: Network, bound: Bound) -> list[int]:
    """The slots of a path that attains `bound.values[0, start]`, the lexicographically smallest one.

    The start must be able to reach a terminal within the horizon.
    """
    path: list[int] = []
    node = network.start
    for step in range(network.horizon):
        first = int(network.offset[node])
        slots = slice(first, first + int(network.degree[node]))
        heads = network.heads[slots]
        through = network.move(step)[heads] + bound.values[step + 1, heads]
        if bound.prices.any():
            through = through - (network.costs[slots] @ bound.prices).astype(np.int64)
        choice = int(through.argmax()) if len(through) else -1  # argmax: the first, so the smallest edge
        if network.is_terminal[node] and (choice < 0 or network.stay(step)[node] >= through[choice]):
            break
        path.append(first + choice)
        node = int(heads[choice])
    return path


def least_costs(network: Network, deadline: Deadline = NO_LIMIT) -> AnyArray:
    """[L + 1, n, K']: the least of each resource, by itself, that a completion uses; budget + 1 if there is none.

    Raises:
        LateError: If the deadline passes.
    """
    beyond = network.budgets + 1
    shape = (network.horizon + 1, len(network.rewards), len(network.budgets))
    least = np.empty(shape, dtype=network.costs.dtype)
    least[:] = beyond
    least[:, network.is_terminal] = 0
    if len(network.heads):
        for step in range(network.horizon - 1, -1, -1):
            deadline.check()
            through = np.minimum.reduceat(least[step + 1, network.heads] + network.costs, network.first_slot, axis=0)
            least[step, network.tails] = np.minimum(least[step, network.tails], np.minimum(through, beyond))
    return least
