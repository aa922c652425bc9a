"""When an answer counts as right."""

from __future__ import annotations

import math

TOLERANCE = 0.05
"""Relative to the target."""
AT_ZERO = 1e-9
"""Absolute, where the target is zero."""


def is_right(answer: float, target: float) -> bool:
    """Whether an answer is within 5 % of the target; what is not finite is wrong.

    Args:
        answer: What the agent answered.
        target: What is right, a finite number.
    """
    if not math.isfinite(answer):
        return False
    return abs(answer - target) <= (TOLERANCE * abs(target) if target else AT_ZERO)
