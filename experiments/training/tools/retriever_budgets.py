"""Budgets and the best retrievers under them, fast enough for training text."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from itertools import combinations_with_replacement
from math import prod

from envs.musique.retrieval import RETRIEVERS
from tape.tools.variants import MOST_AFFORDED

Left = tuple[int, int]
"""Milliseconds and micro-dollars that are left."""

COSTS: tuple[Left, ...] = tuple((v.worst["seconds"] or 0, v.worst["usd"] or 0) for v in RETRIEVERS)


def draw_left(rng: random.Random, calls: int) -> Left:
    """Draw a budget for some calls as :func:`experiments.training.tools.budgets.draw_variants` does."""

    def draw(kind: int) -> int:
        costs = sorted(cost[kind] for cost in COSTS)
        least, most = costs[0] * calls, costs[-1] * calls
        return int(least * (max(most, 1) / max(least, 1)) ** rng.uniform(-0.1, 1.15))

    return draw(0), draw(1)


def afford(left: Left) -> list[int]:
    """How many calls of each retriever alone the rest pays, as :func:`tape.tools.variants.affordable` counts them."""
    return [min(MOST_AFFORDED, left[0] // seconds, left[1] // usd) for seconds, usd in COSTS]


@cache
def _assignments(calls: int) -> tuple[tuple[tuple[int, ...], int, int], ...]:
    """All choices for some calls with what they cost, the most promising first and of equal ones the cheapest."""
    choices = combinations_with_replacement(range(len(RETRIEVERS)), calls)
    ranked = sorted(choices, key=lambda chosen: -prod(RETRIEVERS[i].quality or 1.0 for i in chosen))
    return tuple((c, sum(COSTS[i][0] for i in c), sum(COSTS[i][1] for i in c)) for c in ranked)


def choose(left: Left, calls: int, failed: Sequence[int] = ()) -> list[int]:
    """The retrievers that give some calls the best chance within the budget, the best of them first.

    Args:
        left: What is left.
        calls: How many calls, at least one.
        failed: Retrievers that have failed for the next call. It takes a better one where that fits, else another
            that has not failed, else any.

    Returns:
        Indices into :data:`envs.musique.retrieval.RETRIEVERS`. A budget that does not even pay the cheapest calls is
        met with these.
    """
    everyone = range(len(RETRIEVERS))
    best = max(failed, default=-1)
    for allowed in ([i for i in everyone if i > best], [i for i in everyone if i not in failed], list(everyone)):
        for chosen, seconds, usd in _assignments(calls):
            if seconds <= left[0] and usd <= left[1] and not set(chosen).isdisjoint(allowed):
                first = max(set(chosen).intersection(allowed))
                rest = sorted(chosen, reverse=True)
                rest.remove(first)
                return [first, *rest]
    return [0] * calls
