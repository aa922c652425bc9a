"""The graph that the plain search works on, and the least ways through it.

Everything is in exact integers: 64 bits wide where sums fit, Python's own where they do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from solvers.chances import Chance
from solvers.deadline import Deadline
from solvers.risk import keeps

Integers = npt.NDArray[Any]
"""int64, or object with Python integers."""

_SAFE = 2**59
"""Four of such numbers add up in 64 bits."""


@dataclass(frozen=True)
class Net:
    """The part of a graph that is still of interest.

    Attributes:
        n: The number of nodes.
        tails: (m,) int64.
        heads: (m,) int64.
        cost: (m,).
        use: (m, K).
        lower: (K,); 0 for none.
        upper: (K,); meaningless where a resource is not `limited`.
        limited: (K,) bool; which resources have an upper limit.
        source: Where paths begin.
        target: Where they end.
        ids: (m,) What the arcs are called outside.
        behind: (n, K) At least this much is used from a node to the target; meaningless for nodes that no arc touches.
        chances: Tests that what a path uses must pass beside its limits.
        layers: (m,) Rising; an arc leads from its layer to a later one, so that there is no circle. None for any graph.
        scale: Prices are whole multiples of 1 / scale; priced costs are in that unit.
    """

    n: int
    tails: Integers
    heads: Integers
    cost: Integers
    use: Integers
    lower: Integers
    upper: Integers
    limited: npt.NDArray[np.bool_]
    source: int
    target: int
    ids: Integers
    behind: Integers
    chances: tuple[Chance, ...] = ()
    layers: Integers | None = None
    scale: int = 2**10

    def only(self, kept: npt.NDArray[np.bool_]) -> Net:
        """With those arcs alone; (m,) bool."""
        if kept.all():
            return self
        tails, heads, cost, use, ids = (one[kept] for one in (self.tails, self.heads, self.cost, self.use, self.ids))
        layers = None if self.layers is None else self.layers[kept]
        return replace(self, tails=tails, heads=heads, cost=cost, use=use, ids=ids, layers=layers)

    def in_layers(self) -> list[slice]:
        """The arcs of each layer."""
        assert self.layers is not None
        begins = np.flatnonzero(np.diff(self.layers, prepend=-1)).tolist()
        return [slice(*pair) for pair in pairwise([*begins, len(self.layers)])]

    def farthest(self, weights: Integers) -> int:
        """No way without circles weighs more, or less than minus so much."""
        if self.layers is None:
            return (self.n + 2) * _most(weights)
        return sum(_most(weights[arcs]) for arcs in self.in_layers())

    def wide(self, weights: Integers, times: int = 1) -> Integers:
        """Weights of arcs so wide that `times` of the farthest ways can be added, and four of those."""
        narrow = weights.dtype == object or self.farthest(weights) * times < _SAFE
        return weights if narrow else weights.astype(object)

    def keeps(self, used: Sequence[int], behind: Sequence[int]) -> bool:
        """Whether the tests are passed by what is used and what must be used behind."""
        return all(
            keeps(used[one.mean] + behind[one.mean], used[one.variance] + behind[one.variance], one.budget, one.square)
            for one in self.chances
        )

    def used(self, arcs: Sequence[int]) -> list[int]:
        """What a path uses of each resource."""
        return [sum(column) for column in zip(*self.use[list(arcs)].tolist(), strict=True)] or [0] * len(self.upper)

    def within(self, arcs: Sequence[int]) -> bool:
        """Whether a path keeps all limits and passes the tests."""
        used = self.used(arcs)
        rows = zip(used, self.lower.tolist(), self.upper.tolist(), self.limited.tolist(), strict=True)
        kept = all(low <= amount and not (limited and amount > high) for amount, low, high, limited in rows)
        return kept and self.keeps(used, (0,) * len(used))


class Distances(NamedTuple):
    """Least sums of weights from a node to all.

    Attributes:
        least: (n,); of nodes that are not `reached` it means nothing.
        reached: (n,) bool.
        last: (n,) The last arc on such a way, -1 where it is empty.
        circle: The arcs of a negative circle in order of travel; then nothing else means anything.
    """

    least: Integers
    reached: npt.NDArray[np.bool_]
    last: Integers
    circle: tuple[int, ...] = ()


def _most(values: Integers) -> int:
    """The greatest absolute value, 1 at least."""
    return max(-int(values.min()), int(values.max()), 1) if len(values) else 1


def distances(
    net: Net, weights: Integers, starts: Sequence[int], deadline: Deadline, *, back: bool = False
) -> Distances:
    """Shortest ways from any of some nodes.

    Where there are no circles, one look at each layer. Else rounds over the arcs that leave what the last round
    improved, after Bellman, Ford and Moore. A round that improves after n rounds is the sign of a negative circle, and
    the last arcs then lead back into one: an arc is a last arc only while the tail of it is no farther than when it was
    set.

    Args:
        net: Whose arcs.
        weights: (m,) May be negative.
        starts: Nodes at distance 0.
        deadline: When to give up.
        back: Against the arcs: ways to the starts.

    Raises:
        LateError: If the deadline passes.
    """
    weights = net.wide(weights)
    tails, heads = (net.heads, net.tails) if back else (net.tails, net.heads)
    far = 1 + net.farthest(weights)
    least = np.full(net.n, far, dtype=weights.dtype)
    last = np.full(net.n, -1, dtype=np.int64)
    active = np.unique(np.asarray(starts, dtype=np.int64))
    least[active] = 0

    def extend(arcs: Integers) -> Integers:
        """Takes arcs whose tails are reached; the nodes that they improve."""
        offered, to = least[tails[arcs]] + weights[arcs], heads[arcs]
        before = least[to]
        np.minimum.at(least, to, offered)
        took = np.flatnonzero((offered < before) & (offered == least[to]))
        last[to[took]] = arcs[took]
        return to[took]

    if net.layers is not None:
        every = np.arange(len(tails))
        for layer in net.in_layers()[:: -1 if back else 1]:
            deadline.check()
            arcs = every[layer]
            extend(arcs[np.asarray(least[tails[arcs]] < far, dtype=np.bool_)])
        return Distances(least, np.asarray(least < far, dtype=np.bool_), last)
    order = np.argsort(tails, kind="stable")
    first = np.searchsorted(tails[order], np.arange(net.n + 1))
    for _ in range(net.n):
        deadline.check()
        counts = first[active + 1] - first[active]
        begins = np.repeat(first[active] - np.cumsum(counts) + counts, counts)
        active = np.unique(extend(order[begins + np.arange(len(begins))]))
        if not len(active):
            return Distances(least, np.asarray(least < far, dtype=np.bool_), last)
    return Distances(least, np.asarray(least < far, dtype=np.bool_), last, _circle(tails, last, int(active[0])))


def _circle(tails: Integers, last: Integers, node: int) -> tuple[int, ...]:
    """The circle that the last arcs lead back into from a node."""
    seen: set[int] = set()
    while node not in seen:
        seen.add(node)
        node = int(tails[last[node]])
    arcs, at = [int(last[node])], int(tails[last[node]])
    while at != node:
        arcs.append(int(last[at]))
        at = int(tails[last[at]])
    return tuple(reversed(arcs))
