"""What a search for resource-constrained walks hands back."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Ending(IntEnum):
    """How a search ended. The compiled search answers with the same numbers."""

    PROVED = 0
    """The walks handed out are the best ones, and if fewer than asked for, there are no more."""
    OUT_OF_TIME = 1
    """The deadline passed; the walks handed out are feasible, but better ones may exist."""
    UNREACHABLE = 2
    """No walk leads from the source to the target, whatever the limits."""
    INFEASIBLE = 3
    """Walks lead to the target, but none keeps all limits."""
    UNBOUNDED = 4
    """A circle of negative cost lies on a walk to the target and uses nothing that is limited."""
    TOO_LARGE = 5
    """The search would take more memory than it may; the walks handed out are feasible."""


@dataclass
class Found:
    """The result of one search.

    Attributes:
        ending: How it ended.
        walks: The walks found as edge ids in order of travel, best first. With UNBOUNDED the one entry is the circle.
        bound: No walk that was not handed out is cheaper than this, in the units of the folded costs; None if unknown.
        labels: Labels made, for reports.
        seconds: Wall-clock time of the search.
        bytes: The most memory that labels took, if measured.
    """

    ending: Ending
    walks: list[tuple[int, ...]]
    bound: int | None
    labels: int
    seconds: float
    bytes: float = 0.0
