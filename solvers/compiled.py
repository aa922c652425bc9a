"""The wrapper around the compiled labelling algorithm, `solvers/native/`: what it takes, and what it found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

from solvers import memory as limits
from solvers.chances import LinearParts
from solvers.deadline import NEVER, Deadline
from solvers.ending import Ending
from solvers.grid import most_objective, score_grid
from solvers.problem import PathProblem

_FORM = 4
"""That of `solvers/native/module.cpp`."""

try:
    from solvers._native import FORM
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


@dataclass(frozen=True)
class Found:
    """What the compiled search found.

    Attributes:
        ending: How it ended.
        paths: Edges of the best paths, best first.
        bound: No path has a greater objective.
        ordered: Whether ties are broken by the smallest edges; False only if the time ran out over that.
        labels: That were made.
        seconds: Of the search.
        arcs: Of the graph that was left to search.
        bytes: With TOO_LARGE, the memory that would have been needed, at least.
        steps: Of the time-expanded graph.
        prices: What a unit of each resource is worth, in the objective, as far as the bounds tell; for the next problem
            of a sequence.
    """

    ending: Ending
    paths: list[tuple[int, ...]]
    bound: float
    ordered: bool
    labels: int
    seconds: float
    arcs: int
    bytes: float
    steps: int
    prices: tuple[float, ...]


def can_solve(parts: LinearParts) -> bool:
    """Whether the compiled path was built and its integers are wide enough; else NumPy's path must do it."""
    if not AVAILABLE or len(parts.budgets) > _MOST_RESOURCES or max(parts.budgets, default=0) > _LARGEST_BUDGET:
        return False
    return all(chance.budget <= _LARGEST_RISKY_BUDGET and chance.square <= _LARGEST_SQUARE for chance in parts.chances)


def search(
    problem: PathProblem,
    parts: LinearParts,
    wanted: int,
    deadline: Deadline = NEVER,
    known: Sequence[int] = (),
    prices: tuple[float, ...] = (),
) -> Found:
    """Finds the `wanted` best paths.

    Args:
        problem: A problem whose budgets are not negative.
        parts: Its `linear_parts`, for which `can_solve` holds.
        wanted: How many.
        deadline: When to come back with what there is.
        known: Nodes of a path of which what follows upon the start may be a good path here.
        prices: Of a `Found` for a similar problem.

    Raises:
        LateError: If the deadline passes before the search begins.
        TooLargeError: If the horizon is too long to begin.
    """
    grid = score_grid(problem, wanted, deadline)
    limits.require_memory(4 * grid.moves, f"a time-expanded graph of {grid.moves:,} steps")
    left = deadline.left()
    (ending, paths, bound, ordered, labels, seconds, arcs, needed), priced = _solve(
        problem.edges, problem.rewards, parts.costs, parts.budgets, problem.start, problem.terminals,  # type: ignore[arg-type]
        grid.moves, grid.weights, grid.rests, grid.scale, tuple(astuple(chance) for chance in parts.chances), wanted,
        -1.0 if left is None else left, float(limits.MEMORY_CAP), tuple(known),
        prices if len(prices) == len(parts.budgets) else (),
    )  # fmt: skip
    most = most_objective(problem)
    known_bound = most if bound is None else min(most, grid.bound(bound))
    return Found(Ending(ending), paths, known_bound, ordered, labels, seconds, arcs, needed, grid.moves, priced)
