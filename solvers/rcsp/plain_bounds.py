"""What the plain search knows before it makes a label: least uses, prices, circles, and the arcs that none needs.

Everything is in exact integers: 64 bits wide where sums fit, Python's own where they do not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from solvers.chances import Chance
from solvers.deadline import Deadline
from solvers.risk import keeps

Integers = npt.NDArray[Any]
"""int64, or object with Python integers."""

_ROUNDS = 3
_STEPS = 20
"""Prices that are looked at for one resource in one round, at most."""

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


def pruned(net: Net, deadline: Deadline) -> Net:
    """Drops the arcs that no path within the upper limits takes, as far as one resource at a time shows it.

    The least use on the way to an arc, its own, and the least use behind it must keep the limit. What one resource
    drops may make the least uses of the others greater: on, until a round over all resources drops nothing.

    Raises:
        LateError: If the deadline passes.
    """
    net = net.only(_on_the_way(net, np.zeros(len(net.tails), dtype=np.int64), None, deadline)[0])
    n_resources = len(net.upper)
    behind = np.zeros((net.n, n_resources), dtype=object)
    unchanged = k = 0
    while unchanged < n_resources:
        most = int(net.upper[k]) if net.limited[k] else None
        kept, behind[:, k] = _on_the_way(net, net.use[:, k], most, deadline)
        unchanged = unchanged + 1 if kept.all() else 1
        net = net.only(kept)
        k = (k + 1) % n_resources
    return replace(net, behind=behind)


def _on_the_way(
    net: Net, weights: Integers, most: int | None, deadline: Deadline
) -> tuple[npt.NDArray[np.bool_], Integers]:
    """(m,) Which arcs lie on a path from the source to the target of at most that weight, and (n,) the least behind."""
    ahead = distances(net, weights, [net.source], deadline)
    behind = distances(net, weights, [net.target], deadline, back=True)
    kept = ahead.reached[net.tails] & behind.reached[net.heads]
    if most is not None:
        kept &= np.asarray(ahead.least[net.tails] + weights + behind.least[net.heads] <= most, dtype=np.bool_)
    return kept, behind.least


class Priced(NamedTuple):
    """A Lagrangian relaxation: upper limits are not kept, but use has a price.

    Attributes:
        prices: (K,) Of one unit, in 1 / scale.
        weights: (m,) Priced costs of the arcs, in 1 / scale.
        behind: Least priced costs to the target; `last` is the next arc.
        value: No path that keeps the limits is cheaper than this many 1 / scale.
        path: Arcs of the path of least priced cost.
        over: (K,) What that path uses above the upper limits; 0 where there is none.
    """

    prices: tuple[int, ...]
    weights: Integers
    behind: Distances
    value: int
    path: tuple[int, ...]
    over: tuple[int, ...]


def priced(net: Net, prices: Sequence[int], deadline: Deadline) -> Priced | tuple[int, ...]:
    """The relaxation at given prices, or a circle that is negative there. The target must be within reach.

    Raises:
        LateError: If the deadline passes.
    """
    parts = 1 + sum(price > 0 for price in prices)
    weights = net.wide(net.cost, net.scale * parts) * net.scale
    for k, price in enumerate(prices):
        if price:
            weights = weights + net.wide(net.use[:, k], price * parts) * price
    behind = distances(net, weights, [net.target], deadline, back=True)
    if behind.circle:
        return behind.circle[::-1]
    path = _way(net, behind)
    rebate = sum(price * limit for price, limit in zip(prices, net.upper.tolist(), strict=True))
    return Priced(tuple(prices), weights, behind, int(behind.least[net.source]) - rebate, path, _over(net, path))


def _way(net: Net, behind: Distances) -> tuple[int, ...]:
    """The arcs from the source to the target, by the next arc of each node."""
    path, at = [], net.source
    while at != net.target:
        path.append(int(behind.last[at]))
        at = int(net.heads[path[-1]])
    return tuple(path)


def _over(net: Net, path: Sequence[int]) -> tuple[int, ...]:
    rows = zip(net.used(path), net.upper.tolist(), net.limited.tolist(), strict=True)
    return tuple(amount - limit if limited else 0 for amount, limit, limited in rows)


def free_circle(net: Net, deadline: Deadline) -> tuple[int, ...]:
    """A circle of negative cost that uses nothing that is limited, as arcs in order of travel; empty if there is none.

    Raises:
        LateError: If the deadline passes.
    """
    kept = np.asarray(~(net.use[:, net.limited] > 0).any(axis=1), dtype=np.bool_)
    if net.layers is not None or not kept.any() or net.cost[kept].min() >= 0:
        return ()
    names = np.flatnonzero(kept)
    found = distances(net.only(kept), net.cost[kept], range(net.n), deadline)
    return tuple(int(names[arc]) for arc in found.circle)


def relaxations(net: Net, deadline: Deadline) -> Iterator[Priced]:
    """Relaxations at ever other prices, for the greatest of their values and for their paths.

    The first is at the least prices, in proportion to 1 / limit, at which no circle is negative: 0 where none is. Each
    circle that is negative at some prices says how many times dearer they must be for it (Newton's method for the
    greatest ratio). From there on one price at a time is set to its best, as long as that helps: for one limit this is
    the exact dual, for more it may end below it.

    Args:
        net: What `pruned` leaves of a net without `free_circle`, the target within reach.
        deadline: When to give up.

    Raises:
        LateError: If the deadline passes.
    """
    limits = [limit if limited else 0 for limit, limited in zip(net.upper.tolist(), net.limited.tolist(), strict=True)]
    share = Fraction(0)
    while not isinstance(best := priced(net, [_price(net, share, limit) for limit in limits], deadline), Priced):
        circle = list(best)
        used = sum(Fraction(amount, limit) for amount, limit in zip(net.used(circle), limits, strict=True) if limit)
        share = -sum(net.cost[circle].tolist()) / used
    yield best
    base, thriftiest = best.prices, dict[int, tuple[int, ...]]()
    limited = np.flatnonzero(net.limited).tolist()
    for _ in range(_ROUNDS if len(limited) > 1 else 1):
        before = best.value
        for k in limited:
            if best.over[k] > 0 and k not in thriftiest:
                thriftiest[k] = _way(net, distances(net, net.use[:, k], [net.target], deadline, back=True))
            for one in _along(net, best, k, base[k], thriftiest.get(k, ()), deadline):
                yield one
                best = max(best, one, key=lambda priced: priced.value)
        if best.value == before:
            return


def _along(
    net: Net, best: Priced, k: int, least: int, thriftiest: Sequence[int], deadline: Deadline
) -> Iterator[Priced]:
    """Relaxations on the way to the best price of one resource, the other prices as they are.

    Along one price the value is concave and piecewise linear; each path is a line above it. Where those of a path that
    uses too much and of one that does not cross, the value is on both, and then greatest, or on a lower line.

    Args:
        net: The net.
        best: The relaxation to begin with.
        k: The resource.
        least: The price does not go below this.
        thriftiest: The path that uses least of it; it keeps the limit.
        deadline: When to give up.
    """

    def at(price: int) -> Priced:
        found = priced(net, [*best.prices[:k], price, *best.prices[k + 1 :]], deadline)
        assert isinstance(found, Priced), "a circle is negative"
        return found

    def line(one: Priced) -> tuple[int, int]:
        """The value of its path at the price 0 and how it rises."""
        return one.value - one.prices[k] * one.over[k], one.over[k]

    low, high = least, None
    if best.over[k] > 0:
        over, cost = _over(net, thriftiest), net.scale * sum(net.cost[list(thriftiest)].tolist())
        left, low = line(best), best.prices[k]
        right = cost + sum(p * o for j, (p, o) in enumerate(zip(best.prices, over, strict=True)) if j != k), over[k]
    elif best.over[k] < 0 and best.prices[k] > least:
        yield (one := at(least))
        left, right, high = line(one), line(best), best.prices[k]
    else:
        return
    for _ in range(_STEPS):
        if left[1] <= 0 or (high is not None and high - low < 2):
            return
        price = max(low + 1, (right[0] - left[0]) // (left[1] - right[1]))
        price = price if high is None else min(price, high - 1)
        yield (one := at(price))
        if one.over[k] == 0 or one.value >= min(left[0] + left[1] * price, right[0] + right[1] * price):
            return
        if one.over[k] > 0:
            left, low = line(one), price
        else:
            right, high = line(one), price


def _price(net: Net, share: Fraction, limit: int) -> int:
    """The price at which the whole limit costs the share, rounded up."""
    return math.ceil(net.scale * share / limit) if limit else 0
