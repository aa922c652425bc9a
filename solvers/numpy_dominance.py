"""Which labels at one step are dominated, so that no completion of theirs can win."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solvers.deadline import NEVER, Deadline
from solvers.network import AnyArray, IntArray

_LOOK_BACK = 48


def undominated(nodes: IntArray, scores: IntArray, used: AnyArray, deadline: Deadline = NEVER) -> IntArray:
    """Returns the labels worth keeping, ascending.

    All labels are at the same step and listed in the lexicographic order of their edges. Label b dominates label a if
    they are at the same node, b uses no more of any resource, and b has the greater score, or the same score and the
    smaller edges: whatever completes a completes b as well and comes out ahead, tie-break included.

    For one resource every dominated label is found. For more, each label is compared with the `_LOOK_BACK` labels
    that precede it: missing one costs time, never exactness.

    Args:
        nodes: int64[N], where the labels are.
        scores: int64[N], what they have earned.
        used: [N, K'], what they have used; K' >= 1.
        deadline: Raises LateError where it passes.
    """
    order = np.lexsort((-scores, nodes))  # stable: equal scores stay in lexicographic order
    node, spent = nodes[order], used[order]
    dominated = _undercut(node, spent[:, 0]) if spent.shape[1] == 1 else _compared(node, spent, deadline)
    kept: IntArray = np.sort(order[~dominated])
    return kept


def _undercut(node: IntArray, spent: AnyArray) -> NDArray[np.bool_]:
    """Whether an earlier label of the same node spends no more; nodes are sorted, K' = 1."""
    _, rank = np.unique(spent, return_inverse=True)
    group = np.cumsum(np.diff(node, prepend=node[:1]) != 0)
    # Each node's ranks lie wholly below those of the nodes before it, so a running minimum restarts by itself.
    level = rank - group * (len(rank) + 1)
    least = np.minimum.accumulate(level)
    dominated = np.zeros(len(node), dtype=np.bool_)
    dominated[1:] = (least[:-1] <= level[1:]) & (group[1:] == group[:-1])
    return dominated


def _compared(node: IntArray, spent: AnyArray, deadline: Deadline) -> NDArray[np.bool_]:
    """Whether one of the labels just before spends no more of anything; nodes are sorted."""
    dominated = np.zeros(len(node), dtype=np.bool_)
    for distance in range(1, min(_LOOK_BACK, len(node) - 1) + 1):
        deadline.check()
        same = node[distance:] == node[:-distance]
        if not same.any():
            break
        dominated[distance:] |= same & (spent[:-distance] <= spent[distance:]).all(axis=1)
    return dominated
