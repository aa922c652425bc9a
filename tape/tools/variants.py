"""Variants of a tool: the same thing done at another price and quality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb, prod

from tape.budget import Resources

MOST_AFFORDED = 9
"""The largest number of affordable calls that a model is shown."""


@dataclass(frozen=True)
class ToolVariant:
    """One way to do what a kind of tool does.

    Attributes:
        name: Unique within its kind, for instance ``exact``.
        worst: The most that one call uses, ``steps`` included.
        quality: Probability in (0, 1] that the result is what was asked for; None where it is unknown.
    """

    name: str
    worst: Resources
    quality: float | None = None


def affordable(variants: Sequence[ToolVariant], remaining: Mapping[str, int]) -> list[int]:
    """How many calls of each variant alone the remaining budget pays, at most :data:`MOST_AFFORDED`.

    Args:
        variants: The variants; none of their capped costs may be unknown.
        remaining: Counts left of each capped resource.
    """
    return [
        min([MOST_AFFORDED, *(left // cost for kind, left in remaining.items() if (cost := variant.worst[kind]))])
        for variant in variants
    ]


def best_assignment(variants: Sequence[ToolVariant], remaining: Mapping[str, int], calls: int) -> list[int] | None:
    """The variants of some calls whose qualities have the largest product within the budget, best first.

    Unknown qualities count as 1. Of equal products the cheapest in the order of ``variants`` wins. For training
    text and for tests: agents ask a solver.

    Args:
        variants: The variants, cheapest first.
        remaining: Counts left of each capped resource.
        calls: How many calls.

    Returns:
        Indices into ``variants``, or None where not even the cheapest calls fit.
    """
    assert comb(calls + len(variants) - 1, calls) <= 20_000, "meant for a few calls"
    best: tuple[float, tuple[int, ...]] | None = None
    for chosen in combinations_with_replacement(range(len(variants)), calls):
        used = sum((variants[i].worst for i in chosen), Resources())
        if all((used[kind] or 0) <= left for kind, left in remaining.items()):
            quality = prod(variants[i].quality or 1.0 for i in chosen)
            if best is None or quality > best[0]:
                best = (quality, chosen)
    return None if best is None else sorted(best[1], reverse=True)
