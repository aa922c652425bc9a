"""The interval used in every table."""

from __future__ import annotations

import math

Z95 = 1.959963984540054


def wilson(successes: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a proportion; (0, 1) where n is 0."""
    if n == 0:
        return 0.0, 1.0
    share = successes / n
    middle = share + Z95**2 / (2 * n)
    spread = Z95 * math.sqrt(share * (1 - share) / n + Z95**2 / (4 * n * n))
    scale = 1 + Z95**2 / n
    low = 0.0 if successes == 0 else (middle - spread) / scale
    high = 1.0 if successes == n else (middle + spread) / scale
    return low, high
