"""How far predicted probabilities can be trusted, and a correction fitted on held-out pairs (AEC appendix B.2)."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from tape.aec.calibration import IsotonicCalibration
from tape.errors import ConfigError
from tape.statistics import wilson

Pair = tuple[float, bool]
"""A predicted probability and what was true."""


@dataclass(frozen=True)
class Bin:
    """Predictions from ``low`` to below ``high`` (the last bin: to 1).

    Attributes:
        low: Its lower end.
        high: Its upper end.
        n: Predictions in it.
        mean: Their mean; nan where n is 0.
        frequency: The share of them that were true; nan where n is 0.
        frequency_low: Of the share's 95 % Wilson interval.
        frequency_high: Of the share's 95 % Wilson interval.
    """

    low: float
    high: float
    n: int
    mean: float
    frequency: float
    frequency_low: float
    frequency_high: float


@dataclass(frozen=True)
class Reliability:
    """A reliability diagram as data.

    Attributes:
        bins: All bins in order, empty ones too.
        n: Predictions.
        ece: Expected calibration error: ``sum of n_b / n * |frequency_b - mean_b|``; nan where n is 0.
        brier: Mean squared error of the predictions; nan where n is 0.
    """

    bins: tuple[Bin, ...]
    n: int
    ece: float
    brier: float


def reliability(pairs: Sequence[Pair], bins: int = 10) -> Reliability:
    """Sort predictions into bins of equal width and compare them with what was true.

    Args:
        pairs: Predictions and truths.
        bins: How many.

    Raises:
        ConfigError: No bin, or a prediction that is not within [0, 1].
    """
    if bins < 1:
        raise ConfigError(f"bins: expected at least 1, got {bins}")
    _check(pairs)
    edges = [i / bins for i in range(bins + 1)]
    found: list[list[Pair]] = [[] for _ in range(bins)]
    for pair in pairs:
        found[min(bisect_right(edges, pair[0]), bins) - 1].append(pair)
    made = tuple(_bin(edges[i], edges[i + 1], own) for i, own in enumerate(found))
    n = len(pairs)
    if n == 0:
        return Reliability(made, 0, math.nan, math.nan)
    ece = math.fsum(b.n * abs(b.frequency - b.mean) for b in made if b.n) / n
    return Reliability(made, n, ece, math.fsum((mu - truth) ** 2 for mu, truth in pairs) / n)


def _bin(low: float, high: float, pairs: Sequence[Pair]) -> Bin:
    n, true = len(pairs), sum(truth for _, truth in pairs)
    mean, frequency = (math.fsum(mu for mu, _ in pairs) / n, true / n) if n else (math.nan, math.nan)
    return Bin(low, high, n, mean, frequency, *wilson(true, n))


def isotonic(pairs: Sequence[Pair]) -> IsotonicCalibration:
    """Fit by pooling adjacent violators: the monotone function of least squared error.

    Args:
        pairs: Held-out predictions and truths; equal predictions are taken as one point.

    Raises:
        ConfigError: A prediction is not within [0, 1].
    """
    _check(pairs)
    points: dict[float, tuple[int, int]] = {}
    for mu, truth in pairs:
        true, n = points.get(mu, (0, 0))
        points[mu] = (true + truth, n + 1)
    pooled: list[tuple[float, float, int, int]] = []
    for mu, counts in sorted(points.items()):
        low, (true, n) = mu, counts
        # Integers, so that equal shares are seen as equal: a / b >= c / d.
        while pooled and pooled[-1][2] * n >= true * pooled[-1][3]:
            low, _, more, of = pooled.pop()
            true, n = true + more, n + of
        pooled.append((low, mu, true, n))
    return IsotonicCalibration(tuple((low, high, true / n) for low, high, true, n in pooled), len(pairs))


def _check(pairs: Sequence[Pair]) -> None:
    for i, (mu, _) in enumerate(pairs):
        if not 0.0 <= mu <= 1.0:
            raise ConfigError(f"prediction {i}: expected a probability within [0, 1], got {mu!r}")
