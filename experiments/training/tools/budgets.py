"""Random budgets for training text: how many calls they pay, and the best variants under them."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tape.tools.variants import Variant, affordable, best_assignment


def draw_variants(rng: random.Random, variants: Sequence[Variant], calls: int) -> tuple[list[list[int]], list[int]]:
    """Draw a budget for some calls, from hardly enough to more than enough in each resource.

    Args:
        rng: Source of randomness.
        variants: The variants, cheapest first.
        calls: How many calls are to be made.

    Returns:
        For 0, 1, ... ``calls`` calls made so far how many more of each variant the rest pays; and the best variant
        of each call (indices). A budget that does not even pay the cheapest calls is met with these.
    """
    kinds = sorted({kind for variant in variants for kind in variant.worst} - {"steps"})
    left = {}
    for kind in kinds:
        costs = sorted(variant.worst[kind] or 0 for variant in variants)
        least, most = costs[0] * calls, costs[-1] * calls
        # Between the extremes on a scale of ratios: cheap variants may cost a thousandth of dear ones.
        share = rng.uniform(-0.1, 1.15)
        left[kind] = int(least * (max(most, 1) / max(least, 1)) ** share)
    chosen = best_assignment(variants, left, calls) or [0] * calls
    paid = []
    for number in range(calls + 1):
        paid.append(affordable(variants, left))
        if number < calls:
            worst = variants[chosen[number]].worst
            left = {kind: max(0, count - (worst[kind] or 0)) for kind, count in left.items()}
    return paid, chosen
