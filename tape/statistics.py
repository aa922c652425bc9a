"""The intervals of every table: 95 %, and honest about repeats of one level."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

Z95 = 1.959963984540054
Method = Literal["wilson", "clustered", "wilson-levels"]
ALPHA = 0.05
BLOCK = 2_000_000
"""Draws held in memory at once."""


def wilson(successes: float, n: float) -> tuple[float, float]:
    """Wilson's 95 % interval of a proportion; (0, 1) where n is 0. Neither number need be whole."""
    if n == 0:
        return 0.0, 1.0
    share = successes / n
    middle = share + Z95**2 / (2 * n)
    spread = Z95 * math.sqrt(share * (1 - share) / n + Z95**2 / (4 * n * n))
    scale = 1 + Z95**2 / n
    low = 0.0 if successes == 0 else (middle - spread) / scale
    high = 1.0 if successes == n else (middle + spread) / scale
    return low, high


def sign_test(wins: int, losses: int) -> float:
    """The exact two-sided sign test: how likely so lopsided a count is by chance; 1 where there is nothing to count."""
    n = wins + losses
    tail = sum(math.comb(n, k) for k in range(min(wins, losses) + 1))
    return min(1.0, float(2 * tail / 2**n))


def holm(ps: Sequence[float]) -> tuple[float, ...]:
    """Holm's correction: p-values of a family of tests, so that one below 0.05 is wrong in 5 % of families at most.

    Returns:
        The corrected ones, in the same order; none is below what was given, nor above 1.
    """
    count, largest = [0.0] * len(ps), 0.0
    for rank, i in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[i]))
        count[i] = largest
    return tuple(count)


def _by_cluster(values: Sequence[float], clusters: Sequence[Hashable]) -> list[list[float]]:
    """The values of every cluster."""
    if len(values) != len(clusters):
        raise ValueError(f"{len(values)} values but {len(clusters)} clusters")
    members: dict[Hashable, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        members.setdefault(cluster, []).append(float(value))
    return list(members.values())


def _totals(values: Sequence[float], clusters: Sequence[Hashable]) -> list[tuple[float, int]]:
    """Sum and size of every cluster, in an order that depends on nothing but these."""
    return sorted((math.fsum(own), len(own)) for own in _by_cluster(values, clusters))


def _degenerate(totals: Sequence[tuple[float, int]]) -> bool:
    """Whether all clusters have one and the same mean, so that resampling them changes nothing."""
    first = totals[0][0] / totals[0][1]
    return all(math.isclose(total / size, first, rel_tol=1e-12, abs_tol=1e-12) for total, size in totals)


def clustered(
    values: Sequence[float], clusters: Sequence[Hashable], *, seed: int = 0, resamples: int = 10_000
) -> tuple[float, float]:
    """Percentile bootstrap of the mean that resamples clusters with all their values.

    The same for every order of the values and whatever the clusters are called.

    Args:
        values: The values; their mean lies within the interval.
        clusters: For each value the cluster it belongs to, for instance its level.
        seed: Of the resampling.
        resamples: How many.

    Returns:
        Low and high, 2.5 and 97.5 %; (nan, nan) where there are no values.
    """
    if not values:
        return math.nan, math.nan
    mean = math.fsum(values) / len(values)
    low, high = _resampled(tuple(_totals(values, clusters)), seed, resamples)
    return min(low, mean), max(high, mean)


@lru_cache(maxsize=10_000)
def _resampled(totals: tuple[tuple[float, int], ...], seed: int, resamples: int) -> tuple[float, float]:
    """The percentiles of resampled means; a report asks for the same ones several times."""
    sums, sizes = np.array([t for t, _ in totals]), np.array([float(s) for _, s in totals])
    rng = np.random.default_rng(seed)
    count, means = len(totals), []
    for first in range(0, resamples, rows := max(1, BLOCK // count)):
        drawn = rng.integers(0, count, size=(min(rows, resamples - first), count))
        drawn_sizes = sizes[drawn].sum(axis=1) if sizes.min() < sizes.max() else sizes.sum()
        means.append(sums[drawn].sum(axis=1) / drawn_sizes)
    low, high = np.quantile(np.concatenate(means), [0.025, 0.975])
    return float(low), float(high)


def success_interval(successes: Sequence[bool], clusters: Sequence[Hashable]) -> tuple[float, float, Method]:
    """The interval of a success rate.

    Wilson's where no level is repeated. Where one is, repeats of a level are not independent: the bootstrap by
    level, joined with Wilson's at the effective number of trials, since the bootstrap alone is too narrow for few
    levels and near 0 or 1. Where all levels have one and the same rate neither can tell how much repeats are worth:
    Wilson's with as many trials as there are levels.

    Returns:
        Low, high and which of the three it is.
    """
    levels = len(set(clusters))
    if levels == len(successes):
        return *wilson(sum(map(bool, successes)), len(successes)), "wilson"
    values = [float(bool(s)) for s in successes]
    if _degenerate(_totals(values, clusters)):
        return *wilson(sum(values) / len(values) * levels, levels), "wilson-levels"
    drawn = clustered(values, clusters)
    trials = effective_trials(values, clusters)
    share = sum(values) / len(values)
    exact = wilson(share * trials, trials)
    return min(drawn[0], exact[0]), max(drawn[1], exact[1]), "clustered"


def effective_trials(values: Sequence[float], clusters: Sequence[Hashable]) -> float:
    """How many independent values clustered ones are worth: their number over the design effect.

    The intraclass correlation is the estimate from the analysis of variance, kept within [0, 1].

    Returns:
        From the number of clusters (if they are of one size) to the number of values.
    """
    members = _by_cluster(values, clusters)
    n, count = len(values), len(members)
    mean = math.fsum(values) / n
    means = [(math.fsum(own) / len(own), own) for own in members]
    between = math.fsum(len(own) * (m - mean) ** 2 for m, own in means) / (count - 1)
    within = math.fsum((value - m) ** 2 for m, own in means for value in own) / (n - count)
    squares = sum(len(own) ** 2 for own in members)
    usual = (n - squares / n) / (count - 1)
    spread = between + (usual - 1) * within
    correlation = min(1.0, max(0.0, (between - within) / spread)) if spread > 0 else 1.0
    return n / (1 + (squares / n - 1) * correlation)


@dataclass(frozen=True)
class Paired:
    """A difference on identical levels.

    Attributes:
        n: Pairs: the (task, repeat) that both have.
        levels: Distinct tasks among them.
        difference: Mean of the first minus the second; nan where n is 0.
        low: Of the 95 % interval; nan where n is 0.
        high: Of the 95 % interval.
        wins: Pairs in which the first is larger.
        losses: Pairs in which the second is larger.
        sign_p: Of the exact sign test over the levels on which the two differ. A percentile interval leaves 0 out as
            soon as four levels differ, all of them in one direction; the test asks for six.
    """

    n: int
    levels: int
    difference: float
    low: float
    high: float
    wins: int
    losses: int
    sign_p: float = 1.0

    @property
    def above(self) -> bool:
        """Whether the first is shown to be better: by the interval and by the sign test."""
        return self.low > 0 and self.sign_p <= ALPHA

    @property
    def below(self) -> bool:
        """Whether the first is shown to be worse."""
        return self.high < 0 and self.sign_p <= ALPHA


def paired(a: Mapping[tuple[str, int], float], b: Mapping[tuple[str, int], float]) -> Paired:
    """Compare two sets of episodes on what they have in common.

    The interval is the bootstrap by level. Where all levels have one and the same difference d, resampling
    them has no width, whatever their number; for values within [0, 1] the interval is then Wilson's of
    ``abs(d)`` with as many trials as there are levels, on the side of d, or on both sides where d is 0.
    """
    keys = sorted(a.keys() & b.keys())
    differences = [float(a[key]) - float(b[key]) for key in keys]
    levels = [digest for digest, _ in keys]
    low, high = clustered(differences, levels)
    mean = math.fsum(differences) / len(keys) if keys else math.nan
    count = len(set(levels))
    shares = all(0 <= side[key] <= 1 for side in (a, b) for key in keys)
    if keys and shares and _degenerate(_totals(differences, levels)):
        nearer, further = wilson(min(abs(mean), 1.0) * count, count)
        low, high = {0: (-further, further), 1: (nearer, further), -1: (-further, -nearer)}[(mean > 0) - (mean < 0)]
    wins, losses = (sum(sign * d > 0 for d in differences) for sign in (1, -1))
    totals = [total for total, _ in _totals(differences, levels)]
    sign_p = sign_test(sum(total > 0 for total in totals), sum(total < 0 for total in totals))
    return Paired(len(keys), count, mean, low, high, wins, losses, sign_p)
