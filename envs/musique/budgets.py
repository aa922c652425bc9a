"""Budgets for questions of so many hops."""

from __future__ import annotations

from envs.musique.errors import MusiqueError
from tape.budget import Budget

TIGHTNESSES = ("tight", "loose")

_PER_HOP = {"tight": {"seconds": 1_400, "usd": 130_000}, "loose": {"seconds": 4_800, "usd": 1_300_000}}
"""Milliseconds and micro-dollars. ``tight`` pays a look-up by the middle retriever in each hop and, about every other
hop, a second one by the next better; ``loose`` the best one in each hop and a second try by the one below."""


def budget(hops: int, tightness: str) -> Budget:
    """Seconds and dollars in proportion to the hops, and steps for four tries at each hop and the answer.

    Raises:
        MusiqueError: Fewer than one hop, or an unknown tightness.
    """
    if hops < 1:
        raise MusiqueError(f"a budget is for at least one hop, got {hops}")
    if tightness not in _PER_HOP:
        raise MusiqueError(f"there is no budget {tightness!r}; there is: {', '.join(TIGHTNESSES)}")
    return Budget({"steps": 4 * hops + 3, **{kind: count * hops for kind, count in _PER_HOP[tightness].items()}})
