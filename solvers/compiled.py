"""The wrapper around the compiled labelling algorithm, `solvers/native/`: what it takes, and what it found."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from enum import IntEnum

from solvers import memory as limits
from solvers.chances import LinearParts
from solvers.deadline import NEVER, Deadline
from solvers.grid import most_objective, score_grid
from solvers.problem import PathProblem

_FORM = 3
"""That of `solvers/native/module.cpp`."""

try:
    from solvers._native import FORM
    from solvers._native import memory as _memory
    from solvers._native import solve as _solve
except ImportError:  # installed where there was no compiler, or a build of old: NumPy takes over
    FORM = 0

AVAILABLE = FORM == _FORM
"""Whether the compiled path was built, and from sources that fit these; an older build is not used."""

_MOST_RESOURCES = 16
_LARGEST_BUDGET = 2**58
# With a risk, squares of budgets times `Risk.square` must stay within 128 bits.
_LARGEST_RISKY_BUDGET = 2**50
_LARGEST_SQUARE = 2**50


class Ending(IntEnum):
    """How the search ended; the numbers are those of `Ending` in `solvers/native/engine.hpp`."""

    PROVED = 0
    OUT_OF_TIME = 1
    NO_TERMINAL = 2
    BUDGET_ALONE = 3
    BUDGETS_TOGETHER = 4
    TOO_LARGE = 5


@dataclass(frozen=True)
class Found:
    """What the compiled search found.

    Attributes:
        ending: How it ended.
        paths: Edges of the best paths, best first.
        bound: No path has a greater objective.
        ordered: Whether ties are broken by the smallest edges; False only if the time ran out over that.
        seconds: Of the search.
        arcs: Of the time-expanded graph.
        labels: That were extended.
        rounds: Of label setting.
        steps: Of the time-expanded graph.
        bytes: With TOO_LARGE, the memory that would have been needed, at least.
    """

    ending: Ending
    paths: list[tuple[int, ...]]
    bound: float
    ordered: bool
    seconds: float
    arcs: int
    labels: int
    rounds: int
    steps: int
    bytes: float


def can_solve(parts: LinearParts) -> bool:
    """Whether the compiled path was built and its integers are wide enough; else NumPy's path must do it."""
    if not AVAILABLE or len(parts.budgets) > _MOST_RESOURCES or max(parts.budgets, default=0) > _LARGEST_BUDGET:
        return False
    return all(chance.budget <= _LARGEST_RISKY_BUDGET and chance.square <= _LARGEST_SQUARE for chance in parts.chances)


def new_memory() -> object:
    """What a sequence of related problems shares, for `search`; not for several threads at once."""
    return _memory()


def search(
    problem: PathProblem, parts: LinearParts, wanted: int, deadline: Deadline = NEVER, memory: object = None
) -> Found:
    """Finds the `wanted` best paths.

    Args:
        problem: A problem whose budgets are not negative.
        parts: Its `linear_parts`, for which `can_solve` holds.
        wanted: How many.
        deadline: When to come back with what there is.
        memory: From `new_memory`, for a problem without discount and risk: bounds are taken from it and left in it,
            but where the horizon is longer than any path of interest.

    Raises:
        LateError: If the deadline passes before the search begins.
        TooLargeError: If the horizon is too long to begin.
    """
    grid = score_grid(problem, wanted, deadline)
    limits.require_memory(4 * grid.moves, f"a time-expanded graph of {grid.moves:,} steps")
    left = deadline.left()
    ending, paths, bound, ordered, seconds, arcs, labels, rounds, needed = _solve(
        problem.edges, problem.rewards, parts.costs, parts.budgets, problem.start, problem.terminals,  # type: ignore[arg-type]
        grid.moves, grid.weights, grid.rests, grid.scale, tuple(astuple(chance) for chance in parts.chances), wanted,
        -1.0 if left is None else left, float(limits.MEMORY_CAP), memory if grid.moves == problem.horizon else None,
    )  # fmt: skip
    most = most_objective(problem)
    known = most if bound is None else min(most, grid.bound(bound))
    return Found(Ending(ending), paths, known, ordered, seconds, arcs, labels, rounds, grid.moves, needed)
