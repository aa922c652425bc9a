"""The exact grid on which objectives are compared: rewards, times their discount, rounded once to a decimal."""

from __future__ import annotations

import math

from solvers.problem import PathProblem

_LARGEST_UNITS = 2.0**49
_LARGEST_SCORE = 2.0**58


def decimal_scale(largest: float, room: float) -> float:
    """The greatest power of ten with `largest * scale <= room` , within 1e-300..1e300."""
    if largest == 0:
        return 1e300
    exponent = math.floor(math.log10(room) - math.log10(largest))
    return 10.0 ** max(-300, min(300, exponent))


def score_grid(problem: PathProblem) -> tuple[list[float], float]:
    """The weight of each step (L floats), and how many units of the exact objective make one."""
    horizon = problem.horizon
    weights = [problem.discount**step for step in range(horizon)]
    largest = max(map(abs, problem.rewards)) * math.fsum(weights)
    return weights, decimal_scale(largest, min(_LARGEST_UNITS, _LARGEST_SCORE / (horizon + 1)))


def units_bound(units: int, horizon: int, scale: float) -> float:
    """The greatest objective that a walk of at most so many units can have, rounding included."""
    return (units + (horizon + 1) / 2) / scale
