"""Uncertain costs: how likely a budget may be exceeded, and the exact test of whether a path keeps it.

Edge costs have means (`PathProblem.costs`) and standard deviations (`PathProblem.spreads`). Along a path the means add,
and so do the variances; an edge taken twice is drawn twice. A path keeps a budget B at a risk p if

    mean + factor * sqrt(variance) <= B,

where the factor follows from p and from what is assumed of the distribution (see `Assumption`).

So that every implementation decides alike, the test is made in integers, with `square`, the factor's square in units of
1 / `SCALE`, rounded up: `mean <= B` and `square * variance <= SCALE * (B - mean)**2`. Rounding up is the safe side.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Any, Literal

from solvers.errors import ProblemError

SCALE = 2**20
"""`Risk.square` counts in units of 1 / SCALE."""


class Assumption(StrEnum):
    """What is taken for granted about the edge costs, and so what the risk guarantees.

    NORMAL: they are independent and normal, or their total is close enough to normal. The factor is the standard normal
        quantile of 1 - p (Charnes and Cooper 1959); exceeding has the probability p where the constraint is tight.
        Costs with heavier tails can exceed more often.
    SUB_GAUSSIAN: they are independent and sub-Gaussian, and a spread is the square root of the variance proxy. A cost
        known only to lie within [a, b] has the spread (b - a) / 2 (Hoeffding 1963, lemma 1). The factor is
        sqrt(2 ln(1 / p)), by Chernoff's bound.
    ANY: they are uncorrelated and have these means and standard deviations, whatever their distribution. The factor is
        sqrt((1 - p) / p), by Cantelli's one-sided form of Chebyshev's inequality, which some distribution attains.

    Examples:
        >>> from solvers import Assumption, Risk
        >>> [round(Risk(0.05, assumption).factor, 2) for assumption in Assumption]
        [1.64, 2.45, 4.36]
    """

    NORMAL = "normal"
    SUB_GAUSSIAN = "sub-gaussian"
    ANY = "any"


@dataclass(frozen=True)
class Risk:
    """How likely each resource's total may exceed its budget.

    Each budget by itself is kept with at least the probability 1 - `probability`. For all K budgets to be kept at once
    with at least 1 - q, ask for q / K (Boole's inequality).

    Attributes:
        probability: p, in (0, 1); below 0.5 for NORMAL, whose factor would not be positive from there on.
        assumption: An `Assumption` or its value; it decides what the guarantee rests on.

    Raises:
        ProblemError: If the probability or the assumption is none.

    Examples:
        >>> from solvers import PathProblem, Risk, solve
        >>> problem = PathProblem(
        ...     n_nodes=2, edges=[(0, 1), (0, 1)], rewards=[0, 1], costs=[[10], [15]], spreads=[[5], [0]], budgets=[16],
        ...     start=0, terminals=[1], horizon=1,
        ... )
        >>> solve(problem).edges, solve(problem, risk=Risk(0.1)).edges  # 10 + 1.28 * 5 is above 16
        ((0,), (1,))
    """

    probability: float
    assumption: Assumption | Literal["normal", "sub-gaussian", "any"] = Assumption.NORMAL

    def __post_init__(self) -> None:
        p = self.probability
        if isinstance(p, bool | str | bytes) or not hasattr(p, "__float__"):
            raise ProblemError("risk.probability", None, p, "expected a number")
        try:
            p = float(p)
        except (OverflowError, TypeError, ValueError) as error:
            raise ProblemError("risk.probability", None, p, f"expected a number ({error})") from error
        if not 0 < p < 1:
            raise ProblemError("risk.probability", None, p, "must be above 0 and below 1")
        try:
            assumption = Assumption(self.assumption)
        except (ValueError, TypeError):
            known = ", ".join(repr(known.value) for known in Assumption)
            raise ProblemError("risk.assumption", None, self.assumption, f"expected one of {known}") from None
        if assumption is Assumption.NORMAL and p >= 0.5:
            raise ProblemError("risk.probability", None, p, "must be below 0.5 under the assumption 'normal'")
        object.__setattr__(self, "probability", p)
        object.__setattr__(self, "assumption", assumption)

    @property
    def factor(self) -> float:
        """How many standard deviations the budget must leave above the mean."""
        return math.sqrt(self._squared())

    @cached_property
    def square(self) -> int:
        """`ceil(factor**2 * SCALE)`, a positive int: what `keeps` and `variance_limit` take."""
        return math.ceil(self._squared() * SCALE)

    def _squared(self) -> Fraction:
        """The factor's square; for ANY exactly that of the probability as it is written in decimals."""
        p = self.probability
        if self.assumption is Assumption.ANY:
            written = Fraction(repr(p))
            return (1 - written) / written
        if self.assumption is Assumption.SUB_GAUSSIAN:
            return Fraction(-2 * math.log(p))
        return Fraction(NormalDist().inv_cdf(p)) ** 2  # symmetric to the quantile of 1 - p, which rounds for tiny p

    def to_dict(self) -> dict[str, Any]:
        """Returns `{"probability": p, "assumption": name}`."""
        return {"probability": self.probability, "assumption": str(self.assumption)}

    @classmethod
    def from_dict(cls, data: object) -> Risk:
        """Reads what `to_dict` wrote.

        Raises:
            ProblemError: If it is anything else, or holds malformed values.
        """
        if not isinstance(data, Mapping) or set(data) != {"probability", "assumption"}:
            raise ProblemError("risk", None, data, "expected an object with 'probability' and 'assumption'")
        return cls(data["probability"], data["assumption"])


def keeps(mean: int, variance: int, budget: int, square: int) -> bool:
    """Whether a total keeps its budget at a risk, in exact integers."""
    return mean <= budget and square * variance <= SCALE * (budget - mean) ** 2


def variance_limit(least_mean: int, budget: int, square: int) -> int:
    """The largest variance for which `keeps(least_mean, variance, budget, square)`; -1 if the mean alone exceeds it.

    No path of at least this mean that keeps the budget has a larger variance.
    """
    if least_mean > budget:
        return -1
    return SCALE * (budget - least_mean) ** 2 // square


def least_budget(mean: int, variance: int, square: int) -> int:
    """The least B for which `keeps(mean, variance, B, square)`."""
    above = -(-square * variance // SCALE)  # rounded up: the least whole number that (B - mean)**2 must reach
    return mean + (math.isqrt(above - 1) + 1 if above > 0 else 0)
