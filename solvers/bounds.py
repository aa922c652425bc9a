"""Backward passes over a network: what can at best be earned, and must at least be spent, from a node at a step on.

Each costs O(L * E).
"""

from __future__ import annotations

import numpy as np

from solvers.deadline import NEVER as NO_LIMIT
from solvers.deadline import Deadline
from solvers.network import NEVER, AnyArray, IntArray, Network


def best_scores(network: Network, deadline: Deadline = NO_LIMIT) -> IntArray:
    """int64[L + 1, n]: the best score from a node at step l to the end, whatever the budgets.

    Raises:
        LateError: If the deadline passes.
    """
    values = np.full((network.horizon + 1, len(network.rewards)), NEVER, dtype=np.int64)
    terminal = network.is_terminal
    values[-1, terminal] = network.stay(network.horizon)[terminal]
    for step in range(network.horizon - 1, -1, -1):
        deadline.check()
        row = values[step]
        if len(network.heads):
            through = (network.move(step) + values[step + 1])[network.heads]
            row[network.tails] = np.maximum.reduceat(through, network.first_slot)
        row[terminal] = np.maximum(row[terminal], network.stay(step)[terminal])
        np.maximum(row, NEVER, out=row)
    return values


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
