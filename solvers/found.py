"""What a search hands back, compiled or not, and how it ended."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Ending(IntEnum):
    """How a search ended. The compiled search answers with the same numbers."""

    PROVED = 0
    """The paths handed out are the best ones, and if fewer than asked for, there are no more."""
    OUT_OF_TIME = 1
    """The deadline passed; the paths handed out are feasible, but better ones may exist."""
    UNREACHABLE = 2
    """No path leads from the source to the target, whatever the limits."""
    INFEASIBLE = 3
    """Paths lead to the target, but none keeps all limits."""
    UNBOUNDED = 4
    """A circle of negative cost lies on a path to the target and uses nothing that is limited."""
    TOO_LARGE = 5
    """The search would take more memory than it may; the paths handed out are feasible."""


class Found(NamedTuple):
    """The result of one search.

    Attributes:
        ending: How it ended.
        paths: The paths found as edges in order of travel, best first. With UNBOUNDED the one entry is the circle.
        bound: No path that was not handed out is better than this: cheaper, an int in the units of the folded costs, or
            of a greater objective. None if unknown.
        ordered: Whether ties are broken by the smallest edges, if that was asked for; False only where the time ran out
            over that.
        labels: Labels made, for reports.
        seconds: Wall-clock time of the search.
        bytes: The most memory that labels took, if measured; with TOO_LARGE what would have been needed, at least.
        arcs: Of the graph that was left to search, if counted.
        steps: Of the time-expanded graph, if there is one.
        doubt: By so much a path may be better than one that is proved the best, for rounding.
    """

    ending: Ending
    paths: list[tuple[int, ...]]
    bound: float | None = None
    ordered: bool = True
    labels: int = 0
    seconds: float = 0.0
    bytes: float = 0.0
    arcs: int = 0
    steps: int = 0
    doubt: float = 0.0
