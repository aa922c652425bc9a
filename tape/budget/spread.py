"""How much an amount that is not known in advance may be: for one call, and for the rest of a path.

Everything is counted in units of a resource's resolution, as in :class:`tape.budget.Resources`. What is assumed, and
has to hold for the probabilities to be right:

- Amounts of different calls are independent, given the average of their kind.
- The total of a path is close to a beta distribution between the least and the most that it may take, with the mean and
  the variance that follow. A single amount that is uniform has exactly that; a long sum is close to normal; an amount
  far below its worst case is skewed to the right, as costs are.
- What is learned from n calls is a normal sample with a weak prior (Gelman et al., Bayesian Data Analysis, section 3.3,
  normal data with a conjugate prior): one call's weight on the mean, three on the variance, centred between the least
  and the most, so that before the first call the amount is uniform there. The next call then has a Student t
  distribution; its mean and variance are used, so that few calls give wide intervals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import NormalDist

from tape.errors import ConfigError

_NARROW = 1e5
"""From this sum of its two parameters on, a beta distribution is taken for the normal one."""

_TINY = 1e-300
_ENOUGH = 1e-12
_MOST_TERMS = 10_000
_HALVINGS = 60


@dataclass(frozen=True)
class Spread:
    """What is known of an amount: its ends, and how it is distributed between them.

    Attributes:
        least: The declared least that a call takes, a count.
        most: The declared most, the worst case.
        mean: The mean: declared, or of the calls that were seen.
        deviation: The standard deviation, likewise (of calls that were seen the root of their mean square).
        seen: How many calls mean and deviation are of; None where they are declared.

    Raises:
        ConfigError: The ends are no counts in this order, or mean and deviation are out of bounds.
    """

    least: int
    most: int
    mean: float
    deviation: float
    seen: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.least <= self.most:
            raise ConfigError(f"an amount is between two counts >= 0, got {self.least} and {self.most}")
        if not self.least <= self.mean <= self.most:
            raise ConfigError(f"a mean of {self.mean:g} is not between the least, {self.least}, and {self.most}")
        if not 0 <= self.deviation <= self.most - self.least:
            raise ConfigError(f"{self.deviation:g} is no standard deviation between {self.least} and {self.most}")

    @classmethod
    def unknown(cls, most: int, least: int = 0) -> Spread:
        """An amount of which only the ends are declared, and no call was seen."""
        return cls(least, most, (least + most) / 2, 0.0, 0)

    def after(self, amount: int) -> Spread:
        """With one more call that was seen; what is declared stays. What is above the worst case counts as that."""
        if self.seen is None:
            return self
        count, taken = self.seen + 1, min(max(amount, self.least), self.most)
        mean = taken if self.seen == 0 else self.mean + (taken - self.mean) / count
        squares = self.seen * self.deviation**2 + (taken - mean) * (taken - (self.mean if self.seen else taken))
        return replace(self, mean=float(mean), deviation=math.sqrt(max(0.0, squares) / count), seen=count)

    def total(self, calls: int) -> tuple[float, float]:
        """Mean and variance of what so many calls take together."""
        if self.seen is None:
            return calls * self.mean, calls * self.deviation**2
        middle, width = (self.least + self.most) / 2, self.most - self.least
        weight = 1 + self.seen
        mean = (middle + self.seen * self.mean) / weight
        # Half the variance of the uniform amount: with no call seen, one call then has just that variance.
        squares = width**2 / 24 + self.seen * self.deviation**2 + self.seen / weight * (self.mean - middle) ** 2
        return calls * mean, squares / weight * (calls + calls**2 / weight)


@dataclass(frozen=True)
class Total:
    """The distribution of what several calls take together.

    Attributes:
        mean: Its mean.
        deviation: Its standard deviation.
        least: The least that they can take.
        most: The most.
    """

    mean: float
    deviation: float
    least: int
    most: int

    def below(self, limit: float) -> float:
        """Probability that it is no more than a limit."""
        if limit >= self.most:
            return 1.0
        if limit < self.least:
            return 0.0
        shape = self._shape()
        if shape is None:
            if self.deviation < _ENOUGH:
                return float(limit >= self.mean)
            return NormalDist(self.mean, self.deviation).cdf(limit)
        return beta_below((limit - self.least) / (self.most - self.least), *shape)

    def quantile(self, share: float) -> float:
        """The amount that it stays below with a probability."""
        low, high = float(self.least), float(self.most)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.below(middle) < share else (low, middle)
        return high

    def interval(self, level: float) -> tuple[float, float]:
        """The middle interval that holds it with a probability, for instance 0.8."""
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    def _shape(self) -> tuple[float, float] | None:
        """The two parameters of the beta distribution; None where it is too narrow to need one."""
        width = self.most - self.least
        share = min(max((self.mean - self.least) / width, _ENOUGH), 1 - _ENOUGH)
        # No variance is larger than that of an amount at either end, so a learned one may have to be cut.
        variance = min((self.deviation / width) ** 2, 0.95 * share * (1 - share))
        if variance <= 0 or (both := share * (1 - share) / variance - 1) > _NARROW:
            return None
        return share * both, (1 - share) * both


def total(spreads: Iterable[tuple[Spread, int]], fixed: tuple[int, int] = (0, 0)) -> Total:
    """What the calls of a path take.

    Args:
        spreads: Of each kind of call its spread, and how many there are.
        fixed: What else there is: the least and the most, which is also its mean.
    """
    parts = [(spread, calls, *spread.total(calls)) for spread, calls in spreads]
    return Total(
        fixed[1] + sum(mean for _, _, mean, _ in parts),
        math.sqrt(sum(variance for *_, variance in parts)),
        fixed[0] + sum(calls * spread.least for spread, calls, *_ in parts),
        fixed[1] + sum(calls * spread.most for spread, calls, *_ in parts),
    )


def beta_below(x: float, a: float, b: float) -> float:
    """The regularized incomplete beta function I_x(a, b), by its continued fraction (DLMF 8.17.22, Lentz's method)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_below(1 - x, b, a)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    c, d = 1.0, 1 / _away(1 - (a + b) * x / (a + 1))
    share = d
    for m in range(1, _MOST_TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1 / _away(1 + term * d), _away(1 + term / c)
            share *= d * c
        if abs(d * c - 1) < _ENOUGH:
            break
    return min(1.0, math.exp(front) * share / a)


def _away(value: float) -> float:
    """A divisor that is not 0."""
    return value if abs(value) > _TINY else _TINY
