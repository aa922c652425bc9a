"""`frontier`: all paths of which no other is at least as good in every criterion and better in one.

One criterion is the objective of the exact solver, the others are caps (the epsilon-constraint method; Haimes, Lasdon
and Wismer 1971). A *box* is what some caps admit. The best path of all boxes comes next; whatever takes no less of
every capped criterion is no better and is left out, so that each box that has some of that is split into one with a
lower cap for each of these criteria; and boxes within others are dropped (Kloimuellner, Klamroth, Lacour and
Vanderpooten 2015, "On the representation of the search region in multi-objective optimization"). With two criteria that
is one solve a path and one more; with three about two a path.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from solvers.answer import with_path
from solvers.api import checked_count, checked_time_limit
from solvers.base import Solver
from solvers.check import check, consumption_of
from solvers.criteria import UnderCaps, by_cost, cheapest_first, exact_objective
from solvers.deadline import SolveDeadline
from solvers.errors import BackendError, LateError, ProblemError
from solvers.k_best import KBest
from solvers.moves import enough_moves
from solvers.problem import PathProblem
from solvers.reach import distances, least_uses
from solvers.relaxations import OpenError
from solvers.solution import PathSolution, Status

OBJECTIVE = "objective"
"""The criterion that is the problem's own objective."""


@dataclass(frozen=True)
class Frontier(KBest):
    """The non-dominated paths of a problem, the best in the first criterion first; a sequence of its `solutions`.

    Attributes:
        status: OPTIMAL: these are all, one for each combination of amounts (with an epsilon: enough of them).
            FEASIBLE: the search was cut short, and `bound` says what is proven. The rest is as for `KBest`.
        criteria: Names of resources, less of which is better, and `"objective"`, more of which is better.
        bound: Where it was cut short: no path is missing or dominated that is better than this in the leading
            criterion, which is the objective, or else the first one. None where nothing was cut short.
        solves: How often the solver was asked.

    Examples:
        >>> from solvers import PathProblem, frontier
        >>> edges, costs = [(0, 1), (1, 2), (0, 2)], [[4], [2], [1]]
        >>> problem = PathProblem(
        ...     3, edges, rewards=[0, 2, 1], costs=costs, budgets=[9], start=0, terminals=[2], horizon=2
        ... )
        >>> found = frontier(problem, ("r0", "objective"))
        >>> found.status.value, len(found), found.criteria
        ('OPTIMAL', 2, ('r0', 'objective'))
    """

    criteria: tuple[str, ...] = ()
    bound: float | None = None
    solves: int = 0


def frontier(
    problem: PathProblem,
    criteria: Sequence[str],
    epsilon: float = 0.0,
    solver: str | Solver = "labelling",
    time_limit: float | None = None,
    most: int | None = None,
) -> Frontier:
    """Finds all paths that keep every budget and of which none is at least as good in all criteria and better in one.

    Of paths with the same amounts of all criteria one is given. The budget of a criterion holds as any other does;
    raise it to see what more of it would buy. Exact as far as the solver is: objectives are compared as sums of the
    decimals that the rewards are written as; with a discount, in 12 digits.

    Args:
        problem: The problem, without a risk. One without a horizon has that of `enough_moves` here.
        criteria: At least two different ones of `"objective"` and the names of resources.
        epsilon: With more than 0 paths may be left out, which keeps many criteria apart from countless paths: for each
            path that keeps the budgets there is one here that is at least as good in the leading criterion (the
            objective, or else the first) and takes at most (1 + epsilon) times as much of each other.
        solver: As for `solve`.
        time_limit: Positive seconds of wall time for all paths together, or None for no limit.
        most: Stop after so many paths; None for no limit.

    Raises:
        ProblemError: If an argument is malformed, a resource is called "objective", or there is a risk.
        EndlessError: If the problem has no horizon, and none is enough; it names the circle that has no end.
        UnknownSolverError, SolverUnavailableError: As `solve` does.

    Examples:
        >>> from solvers import PathProblem, frontier
        >>> edges, costs = [(0, 1), (1, 2), (0, 2)], [[4], [2], [1]]
        >>> problem = PathProblem(
        ...     3, edges, rewards=[0, 2, 1], costs=costs, budgets=[9], start=0, terminals=[2], horizon=2
        ... )
        >>> [(path.consumption, path.objective) for path in frontier(problem, ("r0", "objective"))]
        [((1,), 2.0), ((6,), 3.0)]
    """
    deadline, began = SolveDeadline(checked_time_limit(time_limit)), time.perf_counter()
    names = _checked(problem, criteria)
    stretch = 1 + _epsilon(epsilon)
    most = None if most is None else checked_count("most", most)
    search = None
    try:
        search = _Search(problem, names, stretch, solver, deadline)
        result = search.run(most)
    except LateError as error:
        result = Frontier(Status.TIMEOUT, message=str(error))
    except BackendError as error:
        result = Frontier(Status.ERROR, message=str(error))
    solves = 0 if search is None else search.solves
    return replace(result, criteria=names, seconds=time.perf_counter() - began, solves=solves)


def _checked(problem: PathProblem, criteria: Sequence[str]) -> tuple[str, ...]:
    if isinstance(criteria, str) or not all(isinstance(name, str) for name in criteria):
        raise ProblemError("criteria", None, criteria, 'expected names, for instance ("usd", "objective")')
    names, known = tuple(criteria), [*problem.resources, OBJECTIVE]
    if OBJECTIVE in problem.resources:
        raise ProblemError("resources", None, OBJECTIVE, "a resource cannot have the name of a criterion; rename it")
    if len(names) < 2:
        raise ProblemError("criteria", None, names, "one criterion has no frontier; give two, or use `solve`")
    for name in names:
        if name not in known:
            raise ProblemError("criteria", None, name, f"no such criterion; there is {', '.join(known)}")
        if names.count(name) > 1:
            raise ProblemError("criteria", None, name, "is given twice; give each criterion once")
    if problem.is_risky:
        raise ProblemError("risk", None, problem.risk, "a frontier is of sure costs; leave the risk out")
    return names


def _epsilon(value: object) -> Fraction:
    number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if not 0 <= number < math.inf:
        raise ProblemError("epsilon", None, value, "expected a number of at least 0")
    return Fraction(repr(number))


@dataclass(frozen=True)
class _Box:
    """What some caps on the criteria other than the leading one admit, and the best path in it."""

    caps: tuple[int, ...]
    edges: tuple[int, ...]
    worth: Fraction
    used: tuple[int, ...]


class _Search:
    """The boxes that are left, and what was found in those before."""

    def __init__(
        self,
        problem: PathProblem,
        names: tuple[str, ...],
        stretch: Fraction,
        solver: str | Solver,
        deadline: SolveDeadline,
    ) -> None:
        if problem.horizon is None:
            problem = problem.with_valid(horizon=enough_moves(problem, deadline))
        lead = OBJECTIVE if OBJECTIVE in names else names[0]
        self._problem, self._names, self._stretch, self._lead = problem, names, stretch, lead
        self._axes = [problem.resources.index(name) for name in names if name != lead]
        leading = problem if lead == OBJECTIVE else by_cost(problem, problem.resources.index(lead))
        self._worth = exact_objective(leading)
        self._solver = UnderCaps(cheapest_first(leading, self._axes), solver, deadline)
        ends = not distances(problem, deadline).keys().isdisjoint(problem.terminals)
        self._floors = [least_uses(problem, k, deadline) if ends else 0 for k in self._axes]

    @property
    def solves(self) -> int:
        """How often the solver was asked."""
        return self._solver.solves

    def run(self, most: int | None) -> Frontier:
        """Finds path after path, in descending order of the leading criterion."""
        boxes: list[_Box] = []
        fresh: list[tuple[tuple[int, ...], _Box | None]] = [(tuple(self._problem.budgets[k] for k in self._axes), None)]
        result: list[_Box] = []
        cut = ""
        try:
            while True:
                boxes += [box for caps, parent in fresh if (box := self._box(caps, parent)) is not None]
                if not boxes:
                    break
                if most is not None and len(result) == most:
                    cut = f"the first {most} paths were asked for, and there are more"
                    break
                best = max(boxes, key=lambda box: (box.worth, [-amount for amount in box.used]))
                result.append(best)
                boxes, fresh = self._split(boxes, best)
        except (OpenError, LateError) as error:
            cut = str(error)
        return self._answer(result, cut)

    def _box(self, caps: tuple[int, ...], parent: _Box | None) -> _Box | None:
        """A box with its best path; None if it is proven to have none."""
        if not _within(self._floors, caps):
            return None
        if parent is not None and _within(parent.used, caps):
            return replace(parent, caps=caps)
        budgets = list(self._problem.budgets)
        for k, cap in zip(self._axes, caps, strict=True):
            budgets[k] = cap
        edges = self._solver.best(budgets)
        if edges is None:
            return None
        used = consumption_of(self._problem, edges)
        return _Box(caps, edges, self._worth(edges), tuple(used[k] for k in self._axes))

    def _split(self, boxes: Sequence[_Box], best: _Box) -> tuple[list[_Box], list[tuple[tuple[int, ...], _Box | None]]]:
        """The boxes without what takes as much as the best path of all, and those of them that have to be solved."""
        # Of each criterion the most that is too little to be covered by the best path.
        below = [math.ceil(amount / self._stretch) - 1 for amount in best.used]
        whole = [box for box in boxes if any(cap <= low for cap, low in zip(box.caps, below, strict=True))]
        parts: dict[tuple[int, ...], _Box] = {}
        for box in boxes:
            if all(cap > low for cap, low in zip(box.caps, below, strict=True)):
                for j, low in enumerate(below):
                    parts.setdefault((*box.caps[:j], low, *box.caps[j + 1 :]), box)
        return whole, [
            (caps, box)
            for caps, box in parts.items()
            if not any(_within(caps, other.caps) for other in whole)
            and not any(other != caps and _within(caps, other) for other in parts)
        ]

    def _answer(self, boxes: Sequence[_Box], cut: str) -> Frontier:
        """What was found, without paths that another one of the same worth turned out to dominate."""
        kept: list[_Box] = []
        for box in boxes:
            kept = [item for item in kept if item.worth != box.worth or not _within(box.used, item.used)]
            kept.append(box)
        status = Status.FEASIBLE if cut else Status.OPTIMAL
        solutions = []
        for box in kept:
            solutions.append(with_path(self._problem, box.edges, status))
            if faults := check(self._problem, solutions[-1]):
                raise BackendError(f"a path of the frontier failed its check: {'; '.join(faults)}")
        if not solutions:
            return Frontier(Status.TIMEOUT if cut else Status.INFEASIBLE, message=cut)
        last = self._amount(solutions[-1], self._lead)
        bound = None if not cut else -last if self._lead == OBJECTIVE else last
        ordered = sorted(solutions, key=lambda solution: [self._amount(solution, name) for name in self._names])
        return Frontier(status, tuple(ordered), bound=bound, message=cut)

    def _amount(self, solution: PathSolution, name: str) -> float:
        """How much a path has of a criterion; less is better."""
        return -(solution.objective or 0.0) if name == OBJECTIVE else self._problem.named(solution.consumption)[name]


def _within(amounts: Sequence[int], caps: Sequence[int]) -> bool:
    """Whether no amount is more than its cap."""
    return all(amount <= cap for amount, cap in zip(amounts, caps, strict=True))
