"""The graph that the search in Python works on, and what is known of it before any label is made.

Everything is in Python's own integers: nothing overflows, so nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import compress
from operator import mul
from typing import NamedTuple

from solvers.chances import Chance
from solvers.circles import shortest
from solvers.deadline import SolveDeadline
from solvers.risk import keeps

Amounts = tuple[int, ...]

_FINE = 2**10
"""Prices are so much finer than what makes a whole limit cost 1."""


@dataclass(frozen=True)
class Net:
    """The part of a graph that is still of interest, with m arcs and K resources.

    Attributes:
        n: The number of nodes.
        tails: m nodes.
        heads: m nodes.
        cost: m costs.
        use: m rows of K amounts.
        ids: m numbers, what the arcs are called outside.
        lower: K lower limits; 0 for none.
        upper: K upper limits; None for none.
        source: Where paths begin.
        target: Where they end.
        layered: The arcs come in such an order that no path takes an earlier one after a later one; so there is no
            circle.
        chances: Tests that what a path uses must pass beside its limits.
        behind: n rows: at least this much is used from a node to the target; meaningless for nodes without arcs.
    """

    n: int
    tails: Sequence[int]
    heads: Sequence[int]
    cost: Sequence[int]
    use: Sequence[Amounts]
    ids: Sequence[int]
    lower: Amounts
    upper: tuple[int | None, ...]
    source: int
    target: int
    layered: bool = False
    chances: tuple[Chance, ...] = ()
    behind: Sequence[Amounts] = ()

    @property
    def scale(self) -> int:
        """Prices, and priced costs, are whole multiples of 1 / scale."""
        return _FINE * max(1, *(limit for limit in self.upper if limit is not None), 1)

    def only(self, kept: Iterable[bool]) -> Net:
        """With those arcs alone."""
        kept = list(kept)
        tails, heads, cost, ids = (
            list(compress(numbers, kept)) for numbers in (self.tails, self.heads, self.cost, self.ids)
        )
        return replace(self, tails=tails, heads=heads, cost=cost, use=list(compress(self.use, kept)), ids=ids)

    def keeps(self, used: Sequence[int], behind: Sequence[int]) -> bool:
        """Whether the tests are passed by what is used and what must be used behind."""
        return all(
            keeps(
                used[chance.mean] + behind[chance.mean],
                used[chance.variance] + behind[chance.variance],
                chance.budget,
                chance.square,
            )
            for chance in self.chances
        )

    def used(self, arcs: Iterable[int]) -> Amounts:
        """What a path uses of each resource."""
        return tuple(map(sum, zip(*(self.use[arc] for arc in arcs), strict=True))) or (0,) * len(self.upper)

    def over(self, arcs: Iterable[int]) -> Amounts:
        """What a path uses above the upper limits; 0 where there is none."""
        return tuple(0 if most is None else used - most for used, most in zip(self.used(arcs), self.upper, strict=True))

    def within(self, arcs: Sequence[int]) -> bool:
        """Whether a path keeps all limits and passes the tests."""
        used = self.used(arcs)
        enough = all(amount >= low for amount, low in zip(used, self.lower, strict=True))
        return enough and max(self.over(arcs), default=0) <= 0 and self.keeps(used, (0,) * len(used))


class Ways(NamedTuple):
    """Least sums of weights between one node and all others.

    Attributes:
        least: n sums; `far` or more where there is no way.
        far: More than any sum.
        last: By node, the arc by which it is reached.
        circle: The arcs of a negative circle in order of travel; then nothing else means anything.
    """

    least: list[int]
    far: int
    last: Mapping[int, int]
    circle: tuple[int, ...]


def ways(net: Net, weights: Sequence[int], deadline: SolveDeadline, *, back: bool = False) -> Ways:
    """Ways from the source, or `back` from the target against the arcs; weights may be negative."""
    far = 1 + sum(map(abs, weights))
    arcs = list(zip(range(len(weights)), net.tails, net.heads, weights, strict=True))
    if back:
        arcs = [(arc, head, tail, weight) for arc, tail, head, weight in reversed(arcs)]
    least = [far] * net.n
    least[net.target if back else net.source] = 0
    last, circle = shortest(least, arcs, far, deadline, once=net.layered)
    return Ways(least, far, last, circle[::-1] if back else circle)


def pruned(net: Net, deadline: SolveDeadline) -> Net:
    """Drops the arcs that no path within the upper limits takes, as far as one resource at a time shows it.

    The least use on the way to an arc, its own, and the least use behind it must keep the limit. What one resource
    drops may make the least uses of the others greater: on, until a round over all resources drops nothing.
    """
    net, _ = _on_ways(net, [0] * len(net.tails), None, deadline)
    behind: list[Sequence[int]] = [()] * len(net.upper)
    unchanged = k = 0
    while unchanged < len(behind):
        m = len(net.tails)
        net, behind[k] = _on_ways(net, [row[k] for row in net.use], net.upper[k], deadline)
        unchanged = unchanged + 1 if len(net.tails) == m else 1
        k = (k + 1) % len(behind)
    return replace(net, behind=list(zip(*behind, strict=True)) or [()] * net.n)


def _on_ways(net: Net, weights: Sequence[int], most: int | None, deadline: SolveDeadline) -> tuple[Net, Sequence[int]]:
    """The arcs on paths from the source to the target of at most that weight, and the least behind each node."""
    ahead, far, *_ = ways(net, weights, deadline)
    behind = ways(net, weights, deadline, back=True).least
    kept = [
        ahead[tail] < far and behind[head] < far and (most is None or ahead[tail] + weight + behind[head] <= most)
        for tail, head, weight in deadline.each(zip(net.tails, net.heads, weights, strict=True))
    ]
    return (net if all(kept) else net.only(kept)), behind


def free_circle(net: Net, deadline: SolveDeadline) -> tuple[int, ...]:
    """A circle of negative cost that uses nothing limited, as arcs in order of travel; empty if there is none."""
    if net.layered:
        return ()
    limited = [most is not None for most in net.upper]
    rows = zip(range(len(net.tails)), net.tails, net.heads, net.cost, strict=True)
    arcs = [row for row, use in zip(rows, net.use, strict=True) if not any(compress(use, limited))]
    return shortest([0] * net.n, arcs, 1, deadline)[1]


class Priced(NamedTuple):
    """A Lagrangian relaxation: upper limits are not kept, but use has a price.

    Attributes:
        prices: K prices of one unit, in 1 / scale.
        weights: m priced costs, in 1 / scale.
        behind: The least priced cost from each node to the target.
        value: No path that keeps the limits is cheaper than this many 1 / scale.
        path: The arcs of the path of least priced cost.
        over: What that path uses above the upper limits.
    """

    prices: Amounts
    weights: Sequence[int]
    behind: Sequence[int]
    value: int
    path: tuple[int, ...]
    over: Amounts


def priced(net: Net, prices: Sequence[int], deadline: SolveDeadline) -> Priced | tuple[int, ...]:
    """The relaxation at given prices, or a circle that is negative there. The target must be within reach."""
    scale = net.scale
    if any(prices):
        weights = [scale * cost + sum(map(mul, prices, use)) for cost, use in zip(net.cost, net.use, strict=True)]
    else:
        weights = [scale * cost for cost in net.cost]
    result = ways(net, weights, deadline, back=True)
    if result.circle:
        return result.circle
    path = _path(net, result)
    rebate = sum(price * (limit or 0) for price, limit in zip(prices, net.upper, strict=True))
    return Priced(tuple(prices), weights, result.least, result.least[net.source] - rebate, path, net.over(path))


def _path(net: Net, back: Ways) -> tuple[int, ...]:
    path, at = [], net.source
    while at != net.target:
        path.append(back.last[at])
        at = net.heads[path[-1]]
    return tuple(path)


def least_priced(net: Net, deadline: SolveDeadline) -> Priced:
    """The relaxation at the least prices, in proportion to 1 / limit, at which no circle is negative: 0 if none is.

    Each circle that is negative at some prices says how many times dearer they must be for it (Newton's method for the
    greatest ratio). The net is what `pruned` leaves of one without `free_circle`, the target within reach.
    """
    share = Fraction(0)
    while not isinstance(numbers := priced(net, [_price(net, share, limit) for limit in net.upper], deadline), Priced):
        shares = (Fraction(used, limit) for used, limit in zip(net.used(numbers), net.upper, strict=True) if limit)
        share = Fraction(-sum(net.cost[arc] for arc in numbers)) / sum(shares)
    return numbers


def further(net: Net, item: Priced, gain: int, least: Sequence[int]) -> list[int] | None:
    """Prices a step along the subgradient on, which would be worth so much were it straight; None if there is none.

    A price rises where too much is used, and falls where less is, not below the least one (Held and Karp; Polyak).
    """
    rows = list(zip(item.prices, item.over, [limit or 0 for limit in net.upper], least, strict=True))
    shares = [Fraction(over, limit) if limit and (over > 0 or price > low) else 0 for price, over, limit, low in rows]
    slope = sum(share * share for share in shares)
    if not slope:
        return None
    return [
        max(low, price + int(gain * share / slope / limit)) if limit else price
        for share, (price, _, limit, low) in zip(shares, rows, strict=True)
    ]


def at_prices(net: Net, prices: Sequence[int], deadline: SolveDeadline) -> Priced:
    """The relaxation at prices at which no circle is negative."""
    result = priced(net, prices, deadline)
    assert isinstance(result, Priced), "a circle is negative"
    return result


def _price(net: Net, share: Fraction, limit: int | None) -> int:
    """The price at which the whole limit costs the share, rounded up."""
    return -int(-net.scale * share // limit) if limit else 0
