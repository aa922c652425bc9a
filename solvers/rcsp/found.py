"""What a search for resource-constrained paths hands back."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


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


@dataclass
class Found:
    """The result of one search.

    Attributes:
        ending: How it ended.
        paths: The paths found as edge ids in order of travel, best first. With UNBOUNDED the one entry is the circle.
        bound: No path that was not handed out is cheaper than this, in the units of the folded costs; None if unknown.
        labels: Labels made, for reports.
        seconds: Wall-clock time of the search.
        bytes: The most memory that labels took, if measured.
    """

    ending: Ending
    paths: list[tuple[int, ...]]
    bound: int | None
    labels: int
    seconds: float
    bytes: float = 0.0
