"""`next_budget`: one more cent. The least larger budget of one resource with which the best path is a better one."""

from __future__ import annotations

from dataclasses import replace

from solvers.answer import with_path
from solvers.api import checked_time_limit
from solvers.base import Solver
from solvers.check import check, consumption_of
from solvers.criteria import UnderCaps, exact_objective
from solvers.deadline import SolveDeadline
from solvers.errors import BackendError, EndlessError, LateError, ProblemError
from solvers.moves import MOST_MOVES, enough_moves
from solvers.needs import Need
from solvers.problem import PathProblem
from solvers.relaxations import Least, OpenError, least
from solvers.solution import Status


def next_budget(
    problem: PathProblem,
    resource: str,
    solver: str | Solver = "labelling",
    time_limit: float | None = None,
) -> Need:
    """Finds the least larger budget of one resource, all else as it is, with which the best path is a better one.

    Better is a greater objective, compared as in `frontier`: with a budget between the two no path is better than now.
    Where no path keeps the budgets, it is the least with which one does.

    Args:
        problem: The problem, without a risk. Without a horizon each budget has that of `enough_moves`.
        resource: Name of the resource.
        solver: As for `solve`.
        time_limit: Positive seconds of wall time for all of it, or None for no limit.

    Returns:
        `least` and `path`, the best path under it; `least` is None where no amount buys a better one (`proven`), or
        where the time or the moves of a circle that earns were too few to tell.

    Raises:
        ProblemError: If there is no such resource, or there is a risk, or the time limit is malformed.
        BackendError: If the solver fails, or a path does not survive its check.
        EndlessError: If the problem has no horizon, and none is enough for its own budgets.
        UnknownSolverError, SolverUnavailableError: As `solve` does.

    Examples:
        >>> from solvers import PathProblem, next_budget
        >>> edges, costs = [(0, 1), (1, 2), (0, 2)], [[4], [2], [1]]
        >>> problem = PathProblem(
        ...     3, edges, rewards=[0, 2, 1], costs=costs, budgets=[5], start=0, terminals=[2], horizon=2
        ... )
        >>> need = next_budget(problem, "r0")
        >>> need.least, need.path.edges, need.path.objective
        (6, (0, 1), 3.0)
    """
    deadline = SolveDeadline(checked_time_limit(time_limit))
    if resource not in problem.resources:
        raise ProblemError("resource", None, resource, f"no such resource; there is {', '.join(problem.resources)}")
    if problem.is_risky:
        raise ProblemError("risk", None, problem.risk, "the next budget is of sure costs; leave the risk out")
    k = problem.resources.index(resource)
    given = problem.budgets[k]
    try:
        result = _Search(problem, k, solver, deadline).least()
    except (OpenError, LateError):
        result = Least(None, given + 1, None, proven=False)
    path = None
    if result.value is not None and result.answer is not None:
        raised = _raised(problem, k, result.value)
        path = with_path(raised, result.answer, Status.OPTIMAL if result.proven else Status.FEASIBLE)
        if faults := check(raised, path):
            raise BackendError(f"the path of the next budget failed its check: {'; '.join(faults)}")
    return Need(resource, given, result.value, result.at_least, path, result.proven)


def _raised(problem: PathProblem, k: int, budget: int) -> PathProblem:
    return problem.with_valid(budgets=(*problem.budgets[:k], budget, *problem.budgets[k + 1 :]))


class _Search:
    """Asks for the best path under larger budgets of resource k."""

    def __init__(self, problem: PathProblem, k: int, solver: str | Solver, deadline: SolveDeadline) -> None:
        self._problem, self._k, self._solver, self._deadline = problem, k, solver, deadline
        self._worth = exact_objective(problem)
        best = UnderCaps(problem, solver, deadline).best(problem.budgets)
        self._least_worth = None if best is None else self._worth(best)

    def least(self) -> Least[tuple[int, ...]]:
        """The least budget that has a better path, and that path, the best one under it."""
        given, dearest = self._problem.budgets[self._k], max((row[self._k] for row in self._problem.costs), default=0)
        low, high = given + 1, max(given, 0) + dearest
        while True:
            try:
                steps = self._steps(self._without_cap())
                result = self._between(low, max(low, steps * dearest), steps)
                break
            except (
                EndlessError
            ):  # with more of it a circle earns more and more: look at twice as much after twice as much
                try:
                    result = self._between(low, high, self._steps(_raised(self._problem, self._k, high)))
                except EndlessError:
                    return Least(None, low, None, proven=False)
                if result.answer is not None or not result.proven or not dearest:
                    break
                if high > MOST_MOVES * dearest:  # other budgets keep all paths from the circle
                    return Least(None, high + 1, None, proven=False)
                low, high = high + 1, 2 * high
        return result

    def _without_cap(self) -> PathProblem:
        """The problem as if there were enough of the resource."""
        rows = [(*row[: self._k], 0, *row[self._k + 1 :]) for row in self._problem.costs]
        return replace(self._problem, costs=rows)

    def _steps(self, problem: PathProblem) -> int:
        return problem.horizon if problem.horizon is not None else enough_moves(problem, self._deadline)

    def _between(self, low: int, high: int, steps: int) -> Least[tuple[int, ...]]:
        under = UnderCaps(self._problem.with_valid(horizon=steps), self._solver, self._deadline)

        def ask(budget: int) -> tuple[int, ...] | None:
            edges = under.best(_raised(self._problem, self._k, budget).budgets)
            better = edges is not None and (self._least_worth is None or self._worth(edges) > self._least_worth)
            return edges if better else None

        return least(low, high, ask, lambda edges: consumption_of(self._problem, edges)[self._k])
