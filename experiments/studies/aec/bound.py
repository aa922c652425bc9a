"""The bound on infeasible commitments (AEC theorem 3.4), and its test on what was committed."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tape.aec.noisy_environment import Rates, rate_of
from tape.protocols.predicates import Predicate
from tape.statistics import wilson


def feasibility_bound(later: Iterable[Predicate], rates: Rates) -> float:
    """The least probability that a committed plan is feasible (AEC theorem 3.4, eq. 8).

    ``1 - sum over Q of eps(p)``, and never below 0. Assumes a sound verifier that reads grounded facts alone, a
    correct w_0 and marginal error rates of at most ``rates``; the errors may depend on each other.

    Args:
        later: Q, see :func:`tape.aec.noisy_environment.grounded_later`.
        rates: An upper bound of each predicate's error rate; a name that is missing in a mapping has rate 0.

    Raises:
        ConfigError: A rate is not within [0, 1].
    """
    return max(0.0, 1.0 - sum(rate_of(predicate, rates) for predicate in sorted(set(later))))


LEVEL, POWER = 0.05, 0.8
"""Of the test of the bound: how often a bound that holds is refuted at most, and the power that ``detects`` is for."""


@dataclass(frozen=True)
class BoundCheck:
    """Simulated commitments against the theorem.

    Attributes:
        n: Commitments.
        infeasible: How many of them could not be executed.
        frequency: Their share; 0 where there were none.
        low: Of its 95 % Wilson interval.
        high: Of its 95 % Wilson interval.
        allowed: What the theorem allows on average: the mean of ``1 - bound``.
        p: How likely at least so many are if no more than that is true: the exact binomial tail, one-sided. Chances
            that differ from commitment to commitment make it smaller still (Hoeffding 1956).
        detects: The least true share that n commitments refute with a power of 0.8; above 1 where none can.
    """

    n: int
    infeasible: int
    frequency: float
    low: float
    high: float
    allowed: float
    p: float
    detects: float

    @property
    def holds(self) -> bool:
        """Whether the data do not refute the theorem, one-sided at 5 %."""
        return self.p > LEVEL


def check_bound(commitments: Sequence[tuple[float, bool]]) -> BoundCheck:
    """Compare how often commitments failed with the bounds that held for them.

    Args:
        commitments: For each its bound (:func:`feasibility_bound`) and whether it was feasible. Let there be one of
            each episode: the interval takes them as independent.
    """
    n = len(commitments)
    infeasible = sum(not feasible for _, feasible in commitments)
    allowed = sum(1.0 - bound for bound, _ in commitments) / n if n else 0.0
    share = infeasible / n if n else 0.0
    p, detects = tail(infeasible, n, allowed), detected(n, allowed)
    return BoundCheck(n, infeasible, share, *wilson(infeasible, n), allowed, p, detects)


def tail(least: int, n: int, chance: float) -> float:
    """The probability of at least so many among n independent ones of this chance, exactly."""
    if least <= 0 or chance >= 1.0:
        return 1.0
    if chance <= 0.0:
        return 0.0
    log, other = math.log(chance), math.log1p(-chance)
    ways = math.lgamma(n + 1)
    terms = (
        ways - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * log + (n - k) * other for k in range(least, n + 1)
    )
    return min(1.0, math.fsum(map(math.exp, terms)))


def detected(n: int, allowed: float) -> float:
    """The least true share that n commitments refute with :data:`POWER`, to 1/1000; above 1 where no share can be."""
    needed = _first(n + 1, lambda k: tail(k, n, allowed) <= LEVEL)
    return math.inf if needed > n else _first(1000, lambda share: tail(needed, n, share / 1000) >= POWER) / 1000


def _first(end: int, holds: Callable[[int], bool]) -> int:
    """The first number from 0 on of which something holds, that holds of all after it too; ``end`` where of none."""
    return bisect_left(range(end), True, key=holds)
