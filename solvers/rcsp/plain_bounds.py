"""What the plain search knows before it makes a label: least uses, prices, circles, and the arcs that none needs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from solvers.deadline import Deadline
from solvers.rcsp.plain_net import Distances, Integers, Net, distances

_ROUNDS = 3
"""How often each price in turn is set to its best, at most."""

_STEPS = 20
"""Prices that are looked at for one resource in one round, at most."""


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


def dive(net: Net, one: Priced, deadline: Deadline) -> tuple[int, ...] | None:
    """A path within the limits: at each node the cheapest arc, at the prices, that each limit by itself allows.

    Raises:
        LateError: If the deadline passes.
    """
    order = np.argsort(net.tails, kind="stable")
    first = np.searchsorted(net.tails[order], np.arange(net.n + 1))
    least = one.weights + one.behind.least[net.heads]
    room = (net.upper - net.behind)[:, net.limited]
    at, arcs, used = net.source, list[int](), np.zeros_like(net.upper)
    while at != net.target and len(arcs) < net.n:
        if len(arcs) % 64 == 63:
            deadline.check()
        ways = order[first[at] : first[at + 1]]
        totals = used + net.use[ways]
        fits = np.flatnonzero((totals[:, net.limited] <= room[net.heads[ways]]).all(axis=1))
        if net.chances:
            behind = net.behind[net.heads[ways]].tolist()
            fits = np.array([i for i in fits if net.keeps(totals[i].tolist(), behind[i])], dtype=np.int64)
        if not len(fits):
            return None
        i = fits[np.argmin(least[ways[fits]])]
        arcs.append(int(ways[i]))
        at, used = int(net.heads[ways[i]]), totals[i]
    return tuple(arcs) if at == net.target and net.within(arcs) else None


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
