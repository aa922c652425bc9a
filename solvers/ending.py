"""How a search ends, compiled or not."""

from __future__ import annotations

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
