"""The wrapper around the compiled search, `solvers/native/solve.hpp`: what it takes, and what it found."""

from __future__ import annotations

import numpy as np

from solvers import memory as limits
from solvers.compiled import AVAILABLE
from solvers.deadline import Deadline
from solvers.ending import Ending
from solvers.rcsp.folded import NO_LIMIT, Folded
from solvers.rcsp.found import Found

if AVAILABLE:
    from solvers._native import shortest_path as _shortest_path

_TOO_WIDE = 6
"""The ending of the compiled search that is none for others: numbers grow too large for its integers."""

_MOST_RESOURCES = 60
_LARGEST_COST = 2**55
_LARGEST_USE = 2**58


def _fits(folded: Folded) -> bool:
    """Whether the integers of the compiled search are wide enough, as far as that can be told beforehand."""
    if len(folded.upper) > _MOST_RESOURCES:
        return False
    cost = max(abs(int(folded.cost.max())), abs(int(folded.cost.min()))) if len(folded.cost) else 0
    limited = folded.upper[folded.upper < NO_LIMIT]
    use = max((int(limited.max()) if len(limited) else 0), int(folded.lower.max()) if len(folded.lower) else 0)
    return cost * folded.n < _LARGEST_COST and use < _LARGEST_USE


def search(folded: Folded, wanted: int, elementary: bool, threads: int, deadline: Deadline) -> Found:
    """Finds the `wanted` cheapest paths from the source to the target that keep all limits.

    Numbers that are too large for it are left to `solvers.rcsp.plain`.

    Args:
        folded: The problem.
        wanted: How many.
        elementary: Whether no path may visit a node twice.
        threads: How many may be used; the answer does not depend on it.
        deadline: When to come back with what there is.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    found = _searched(folded, wanted, elementary, threads, deadline) if _fits(folded) else None
    if found is not None:
        return found
    from solvers.rcsp import plain

    return plain.search(folded, wanted, elementary, threads, deadline)


def _searched(folded: Folded, wanted: int, elementary: bool, threads: int, deadline: Deadline) -> Found | None:
    """What the compiled search finds; None where its integers prove too narrow."""
    left = deadline.left()
    ending, paths, bound, _, labels, seconds, _, needed = _shortest_path(
        folded.n,
        len(folded.tails),
        len(folded.upper),
        np.ascontiguousarray(folded.tails, dtype=np.int32),
        np.ascontiguousarray(folded.heads, dtype=np.int32),
        np.ascontiguousarray(folded.cost),
        folded.use,
        folded.lower,
        folded.upper,
        folded.source,
        folded.target,
        wanted,
        elementary,
        threads,
        -1.0 if left is None else left,
        float(limits.MEMORY_CAP),
    )
    if ending == _TOO_WIDE:
        return None
    return Found(Ending(ending), paths, bound, labels, seconds, needed)
