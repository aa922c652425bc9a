"""What the plain search knows before it makes a label: least uses, prices, circles, and the arcs that none needs.

Everything is in exact integers: 64 bits wide where sums fit, Python's own where they do not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from solvers.deadline import Deadline
from solvers.rcsp.folded import NO_LIMIT

Integers = npt.NDArray[Any]
"""int64, or object with Python integers."""

SCALE = 2**10
"""Prices are whole multiples of 1 / SCALE; priced costs are in that unit."""

_ROUNDS = 25
_SAFE = 2**61


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
        upper: (K,); NO_LIMIT for none.
        source: Where paths begin.
        target: Where they end.
        ids: (m,) What the arcs are called outside.
        behind: (n, K) At least this much is used from a node to the target; meaningless for nodes that no arc touches.
    """

    n: int
    tails: Integers
    heads: Integers
    cost: Integers
    use: Integers
    lower: Integers
    upper: Integers
    source: int
    target: int
    ids: Integers
    behind: Integers

    def only(self, kept: npt.NDArray[np.bool_]) -> Net:
        """With those arcs alone; (m,) bool."""
        if kept.all():
            return self
        tails, heads, cost, use, ids = (one[kept] for one in (self.tails, self.heads, self.cost, self.use, self.ids))
        return replace(self, tails=tails, heads=heads, cost=cost, use=use, ids=ids)

    @property
    def limited(self) -> npt.NDArray[np.bool_]:
        """(K,) Which resources have an upper limit."""
        return np.asarray(self.upper < NO_LIMIT, dtype=np.bool_)


class Distances(NamedTuple):
    """Least sums of weights from some nodes to all.

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


def wide(values: Integers, times: int) -> Integers:
    """The values, so wide that `times` of them can be added."""
    return values if values.dtype == object or _most(values) * times < _SAFE else values.astype(object)


def _most(values: Integers) -> int:
    """The greatest absolute value, 1 at least."""
    return max(-int(values.min()), int(values.max()), 1) if len(values) else 1


def distances(
    n: int, tails: Integers, heads: Integers, weights: Integers, starts: Sequence[int], deadline: Deadline
) -> Distances:
    """Shortest ways from any of some nodes, by rounds over the arcs that leave what the last round improved.

    After Bellman, Ford and Moore. A round that improves after n rounds is the sign of a negative circle, and the last
    arcs then lead back into one: an arc is a last arc only while the tail of it is no farther than when it was set.

    Args:
        n: The number of nodes.
        tails: (m,) Where the arcs begin; swap them with `heads` for ways to a node.
        heads: (m,)
        weights: (m,) May be negative.
        starts: Nodes at distance 0.
        deadline: When to give up.

    Raises:
        LateError: If the deadline passes.
    """
    weights = wide(weights, n + 2)
    far = 1 + n * _most(weights)
    order = np.argsort(tails, kind="stable")
    first = np.searchsorted(tails[order], np.arange(n + 1))
    least = np.full(n, far, dtype=weights.dtype)
    last = np.full(n, -1, dtype=np.int64)
    active = np.unique(np.asarray(starts, dtype=np.int64))
    least[active] = 0
    for _ in range(n):
        deadline.check()
        counts = first[active + 1] - first[active]
        begins = np.repeat(first[active] - np.cumsum(counts) + counts, counts)
        arcs = order[begins + np.arange(len(begins))]
        offered, to = least[tails[arcs]] + weights[arcs], heads[arcs]
        before = least[to]
        np.minimum.at(least, to, offered)
        took = np.flatnonzero((offered < before) & (offered == least[to]))
        last[to[took]] = arcs[took]
        active = np.unique(to[took])
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


def way(tails: Integers, last: Integers, node: int) -> tuple[int, ...]:
    """The arcs that lead from a start to a node."""
    arcs = []
    while last[node] >= 0:
        arcs.append(int(last[node]))
        node = int(tails[last[node]])
    return tuple(reversed(arcs))


def pruned(net: Net, deadline: Deadline) -> Net:
    """Drops the arcs that no path within the upper limits takes, as far as one resource at a time shows it.

    The least use on the way to an arc, its own, and the least use behind it must keep the limit. What one resource
    drops may make the least uses of the others greater: on, until a round over all resources drops nothing.

    Raises:
        LateError: If the deadline passes.
    """
    nothing = np.zeros(len(net.tails), dtype=np.int64)
    net = net.only(_on_the_way(net, nothing, NO_LIMIT, deadline)[0])
    n_resources = len(net.upper)
    behind = np.zeros((net.n, n_resources), dtype=object)
    unchanged = k = 0
    while unchanged < n_resources:
        kept, behind[:, k] = _on_the_way(net, net.use[:, k], int(net.upper[k]), deadline)
        unchanged = unchanged + 1 if kept.all() else 1
        net = net.only(kept)
        k = (k + 1) % n_resources
    return replace(net, behind=behind)


def _on_the_way(net: Net, weights: Integers, most: int, deadline: Deadline) -> tuple[npt.NDArray[np.bool_], Integers]:
    """(m,) Which arcs lie on a path from the source to the target of at most that weight, and (n,) the least behind."""
    ahead = distances(net.n, net.tails, net.heads, weights, [net.source], deadline)
    behind = distances(net.n, net.heads, net.tails, weights, [net.target], deadline)
    kept = ahead.reached[net.tails] & behind.reached[net.heads]
    if most < NO_LIMIT:
        weight = wide(ahead.least, 4)[net.tails] + wide(weights, 4) + wide(behind.least, 4)[net.heads]
        kept &= np.asarray(weight <= most, dtype=np.bool_)
    return kept, behind.least


class Priced(NamedTuple):
    """A Lagrangian relaxation: upper limits are not kept, but use has a price.

    Attributes:
        prices: (K,) Of one unit, in 1 / SCALE.
        weights: (m,) Priced costs of the arcs, in 1 / SCALE.
        behind: Least priced costs to the target; `last` is the next arc.
        value: No path that keeps the limits is cheaper than this many 1 / SCALE.
        path: Arcs of the path of least priced cost.
    """

    prices: tuple[int, ...]
    weights: Integers
    behind: Distances
    value: int
    path: tuple[int, ...]


def priced(net: Net, prices: Sequence[int], deadline: Deadline) -> Priced | tuple[int, ...]:
    """The relaxation at given prices, or a circle that is negative there. The target must be within reach.

    Raises:
        LateError: If the deadline passes.
    """
    weights = wide(net.cost, SCALE * (net.n + 2) * (len(prices) + 1)) * SCALE
    for k, price in enumerate(prices):
        if price:
            weights = weights + wide(net.use[:, k], price * (net.n + 2) * (len(prices) + 1)) * price
    behind = distances(net.n, net.heads, net.tails, weights, [net.target], deadline)
    if behind.circle:
        return behind.circle[::-1]
    rebate = sum(price * int(limit) for price, limit in zip(prices, net.upper, strict=True))
    path, at = [], net.source
    while at != net.target:
        path.append(int(behind.last[at]))
        at = int(net.heads[path[-1]])
    return Priced(tuple(prices), weights, behind, int(behind.least[net.source]) - rebate, tuple(path))


def free_circle(net: Net, deadline: Deadline) -> tuple[int, ...]:
    """A circle of negative cost that uses nothing that is limited, as arcs in order of travel; empty if there is none.

    Raises:
        LateError: If the deadline passes.
    """
    free = np.flatnonzero(~(net.use[:, net.limited] > 0).any(axis=1))
    if not len(free) or net.cost[free].min() >= 0:
        return ()
    found = distances(net.n, net.tails[free], net.heads[free], net.cost[free], range(net.n), deadline)
    return tuple(int(free[arc]) for arc in found.circle)


def relaxations(net: Net, deadline: Deadline) -> Iterator[Priced]:
    """Relaxations at ever other prices, for the greatest of their values and for their paths.

    The first is at the least prices, in proportion to 1 / limit, at which no circle is negative: 0 where none is. Each
    circle that is negative at some prices says how many times dearer they must be for it (Newton's method for the
    greatest ratio). The others go along subgradients, in steps that are halved when the value does not grow.

    Args:
        net: What `pruned` leaves of a net without `free_circle`, the target within reach.
        deadline: When to give up.

    Raises:
        LateError: If the deadline passes.
    """
    limits = [int(limit) if 0 < limit < NO_LIMIT else 0 for limit in net.upper]
    share = Fraction(0)
    while not isinstance(best := priced(net, [_price(share, limit) for limit in limits], deadline), Priced):
        circle = list(best)
        used = sum(Fraction(sum(net.use[circle, k].tolist()), limit) for k, limit in enumerate(limits) if limit)
        share = -sum(net.cost[circle].tolist()) / used
    yield best
    step = 1.0
    for _ in range(_ROUNDS if any(limits) else 0):
        path = list(best.path)
        over = [sum(net.use[path, k].tolist()) / limit - 1 if limit else 0.0 for k, limit in enumerate(limits)]
        over = [0.0 if one < 0 and not price else one for one, price in zip(over, best.prices, strict=True)]
        if (square := sum(one**2 for one in over)) == 0:
            return
        length = step * (abs(best.value) / SCALE + 1) / square
        shares = [
            max(Fraction(0), Fraction(price * limit, SCALE) + Fraction(length * one))
            for price, limit, one in zip(best.prices, limits, over, strict=True)
        ]
        tried = priced(net, [_price(one, limit) for one, limit in zip(shares, limits, strict=True)], deadline)
        if isinstance(tried, Priced):
            yield tried
            if tried.value > best.value:
                best = tried
                continue
        step /= 2


def _price(share: Fraction, limit: int) -> int:
    """The price at which the whole limit costs the share, rounded up."""
    return math.ceil(SCALE * share / limit) if limit else 0
