"""Prices on the resources that make the completion bound tight: the Lagrangian dual, one coordinate at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from solvers.bounds import Bound, best_path, priced_bound
from solvers.deadline import Deadline
from solvers.errors import LateError
from solvers.network import REACHABLE, Network

_ROUNDS = 3
_LARGEST_PAYMENT = 2**57
_KEPT = 3


@dataclass(frozen=True)
class _Evaluation:
    """One pass: its bound, the dual value, the budgets' slopes `budget - used` at its path, and that path."""

    bound: Bound
    value: int
    slopes: tuple[int, ...]
    path: tuple[int, ...]


@dataclass(frozen=True)
class Priced:
    """What the search for prices found.

    Attributes:
        bounds: The tightest bounds, best first.
        value: The least upper bound on the score of any path.
        paths: Paths (as slots) that keep the budgets, seen on the way.
    """

    bounds: list[Bound]
    value: int
    paths: list[tuple[int, ...]]


def search_prices(network: Network, free: Bound, deadline: Deadline) -> Priced:
    """Lowers the dual value by cutting lines along one price at a time.

    Along a single price the dual value is convex and piecewise linear, and a pass at a point yields the line through
    it. Where the lines of the two ends of an interval cross, the function is either on the crossing, which is then its
    minimum, or above it on a new line. For one resource this is the exact dual; for more it may stop above it, which
    weakens the bound but never falsifies it. Prices are integers, so that the bounds are exact.

    Args:
        network: A network whose start can reach a terminal.
        free: The unbudgeted bound.
        deadline: Looked at before each pass.
    """
    best = _evaluate(network, free)
    tightest = [best]
    paths = [best.path] if min(best.slopes) >= 0 else []
    count = len(network.budgets)
    caps = (
        [0] * count
        if network.budgets.dtype == object
        else [_LARGEST_PAYMENT // count // (int(budget) + 1) for budget in network.budgets]
    )
    try:
        for _ in range(_ROUNDS if count > 1 else 1):
            before = best.value
            for k in range(count):
                for found in _along(network, best, k, caps[k], deadline):
                    tightest = sorted([*tightest, found], key=lambda evaluation: evaluation.value)[:_KEPT]
                    best = tightest[0]
                    if min(found.slopes) >= 0:
                        paths.append(found.path)
            if best.value >= before or deadline.passed():
                break
    except LateError:
        pass  # with the prices so far
    return Priced(bounds=[evaluation.bound for evaluation in tightest], value=best.value, paths=paths)


def _along(network: Network, base: _Evaluation, k: int, cap: int, deadline: Deadline) -> Iterator[_Evaluation]:
    """The evaluations on the way to the minimum along price `k`, from the prices of `base`."""

    def at(price: int) -> _Evaluation:
        prices = base.bound.prices.copy()
        prices[k] = price
        return _evaluate(network, priced_bound(network, prices, deadline))

    here = int(base.bound.prices[k])
    if base.slopes[k] == 0 or deadline.passed():
        return
    far = 0 if base.slopes[k] > 0 else cap
    if far == here:
        return
    other = at(far)
    yield other
    (low, left), (high, right) = sorted([(here, base), (far, other)], key=lambda end: end[0])
    while left.slopes[k] < 0 < right.slopes[k] and high - low > 1 and not deadline.passed():
        rise = (left.value - left.slopes[k] * low) - (right.value - right.slopes[k] * high)
        crossing = min(max(rise // (right.slopes[k] - left.slopes[k]), low + 1), high - 1)
        found = at(crossing)
        yield found
        lines = left.value + left.slopes[k] * (crossing - low), right.value - right.slopes[k] * (high - crossing)
        if found.value <= max(lines):
            return
        if found.slopes[k] < 0:
            low, left = crossing, found
        else:
            high, right = crossing, found


def _evaluate(network: Network, bound: Bound) -> _Evaluation:
    best = int(bound.values[0, network.start])
    value = best + sum(int(p) * int(b) for p, b in zip(bound.prices, network.budgets, strict=True))
    if best <= REACHABLE:  # no path is worth its price: there is none to read slopes from
        return _Evaluation(bound, value, (-1,) * len(network.budgets), ())
    path = tuple(best_path(network, bound))
    used = network.costs[list(path)].sum(axis=0) if path else np.zeros_like(network.budgets)
    return _Evaluation(bound, value, tuple(int(slope) for slope in network.budgets - used), path)
