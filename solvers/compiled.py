"""The wrapper around the compiled search, `solvers/native/`: what it takes, and what it found.

Numbers that are too large for its integers are left to the search in Python (`solvers.rcsp.plain`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvers import memory as limits
from solvers.chances import LinearParts
from solvers.deadline import NEVER, SolveDeadline
from solvers.found import Ending, Found
from solvers.grid import doubt, most_objective, score_grid
from solvers.problem import PathProblem

if TYPE_CHECKING:  # this needs NumPy, which `import solvers` does not load
    from solvers.check_proof import PathGraph
    from solvers.rcsp.folded import Folded

_FORM = 7
"""That of `solvers/native/module.cpp`."""

try:
    from solvers._native import FORM
    from solvers._native import prove as _prove
    from solvers._native import shortest_path as _shortest_path
    from solvers._native import solve as _solve
except ImportError:  # installed where there was no compiler, or a build of old: the search in Python takes over
    FORM = 0

AVAILABLE = FORM == _FORM
"""Whether the compiled path was built, and from sources that fit these; an older build is not used."""

_MOST_RESOURCES = 16
_LARGEST_BUDGET = 2**58
_LARGEST_VALUE = 2**100
"""Of all values of a proof together."""
# With a risk, squares of budgets times `Risk.square` must stay within 128 bits.
_LARGEST_RISKY_BUDGET = 2**50
_LARGEST_SQUARE = 2**50

_WHY_NOT = (
    "",
    "there is a better path than the one that is claimed",
    "it would be more than 10 times as long as the problem",
    "the time was up",
)
"""Why there is no proof, by what `prove` says."""
_TOO_WIDE = 6
"""The ending that is none for others: numbers are too large, or grow so on the way."""


def can_solve(parts: LinearParts) -> bool:
    """Whether the compiled path was built and its integers are wide enough; else the search in Python must do it."""
    if not AVAILABLE or len(parts.budgets) > _MOST_RESOURCES or max(parts.budgets, default=0) > _LARGEST_BUDGET:
        return False
    return all(chance.budget <= _LARGEST_RISKY_BUDGET and chance.square <= _LARGEST_SQUARE for chance in parts.chances)


def search(
    problem: PathProblem,
    parts: LinearParts,
    wanted: int,
    deadline: SolveDeadline = NEVER,
) -> Found:
    """Finds the `wanted` best paths of a problem without negative budgets, whose `parts` `can_solve` accepts."""
    grid = score_grid(problem, wanted, deadline)
    limits.require_memory(4 * grid.moves, f"a time-expanded graph of {grid.moves:,} steps")
    left = deadline.left()
    ending, paths, bound, ordered, labels, seconds, arcs, needed = _solve(
        problem.edges, problem.rewards, parts.costs, parts.budgets, problem.start, problem.terminals,  # type: ignore[arg-type]
        grid.moves, grid.weights, grid.rests, grid.scale, parts.chances, wanted,
        -1.0 if left is None else left, float(limits.MEMORY_CAP),
    )  # fmt: skip
    most = most_objective(problem)
    known_bound = most if bound is None else min(most, grid.bound(bound))
    lost = doubt(problem, grid)
    return Found(Ending(ending), paths, known_bound, ordered, labels, seconds, needed, arcs, grid.moves, lost)


def prove(
    graph: PathGraph, best: int | None, most: int, deadline: SolveDeadline
) -> tuple[str, list[list[int]], list[int]]:
    """Rows and a tree for `solvers.proof`; first why there are none, or an empty text."""
    if not AVAILABLE:
        return "the compiled search was not built", [], []
    ends = tuple(graph.ends.items())
    amounts = [*graph.lower, *graph.upper, *(amount for row in graph.uses for amount in row)]
    values = [best or 0, *graph.gains, *(more for _, more in ends)]
    if max(map(abs, amounts), default=0) > _LARGEST_BUDGET or sum(map(abs, values)) > _LARGEST_VALUE:
        return "its numbers are too large", [], []
    left = deadline.left()
    how, rows, tree = _prove(
        graph.n, tuple(graph.edges), tuple(graph.gains), tuple(graph.uses), tuple(graph.lower), tuple(graph.upper),
        graph.start, ends, best, most, -1.0 if left is None else left,
    )  # fmt: skip
    return _WHY_NOT[how], rows, tree


def shortest(folded: Folded, wanted: int, elementary: bool, threads: int, deadline: SolveDeadline) -> Found | None:
    """Finds the `wanted` cheapest paths from the source to the target that keep all limits.

    Returns:
        None where it was not built, or its integers are or prove too narrow.
    """
    if not AVAILABLE:
        return None
    problem, left = folded.problem, deadline.left()
    ending, paths, bound, ordered, labels, seconds, arcs, needed = _shortest_path(
        problem.n_nodes, problem.tails, problem.heads, folded.cost, folded.node_cost, folded.use, folded.node_use,
        folded.lower, folded.upper, problem.source, problem.target, wanted, elementary, threads,
        -1.0 if left is None else left, float(limits.MEMORY_CAP),
    )  # fmt: skip
    if ending == _TOO_WIDE:
        return None
    return Found(Ending(ending), paths, bound, ordered, labels, seconds, needed, arcs)
