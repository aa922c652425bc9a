"""What a search for resource-constrained paths hands back."""

from __future__ import annotations

from dataclasses import dataclass

from solvers.ending import Ending


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
