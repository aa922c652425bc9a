"""`explain`: why no path is feasible, and the minimal relaxations of the limits that would make one feasible.

What is feasible is monotone in the horizon and in each budget (`solvers.relaxations`). And a path without its cycles
goes to the same terminal, with fewer moves and no more of any resource (nor of variance), so that no horizon beyond
n - 1 needs looking at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from solvers.answer import with_path
from solvers.api import checked_time_limit, solve
from solvers.base import Solver
from solvers.check import check, consumption_of, variance_of
from solvers.deadline import SolveDeadline
from solvers.errors import BackendError, LateError
from solvers.explanation import Explanation
from solvers.needs import Cause, Joint, Need
from solvers.problem import PathProblem
from solvers.reach import barred_edges, distances, leading_nodes, least_uses
from solvers.relaxations import Least, OpenError, least, together
from solvers.risk import least_budget
from solvers.solution import PathSolution, Status


def explain(problem: PathProblem, time_limit: float | None = None, solver: str | Solver = "labelling") -> Explanation:
    """Why no path is feasible, and what would have to change, as data; `str()` puts it into sentences.

    It says, as far as they apply: that no terminal is declared, or none can be reached; the moves of the shortest path
    to a terminal, if the horizon is shorter; for the horizon and for each budget, the least value that would do with
    everything else unchanged; and one way to relax all the budgets together. Each comes with a path that `check`
    accepts under the changed limits, and that one less would not do is proven: by the solver, or by a pass that
    finds the least any path needs of that one limit. The rewards play no part, nor which of the two objectives they are
    for.

    Takes at most about log2 of its range in feasibility problems for each limit; each is solved with all rewards zero.

    Args:
        problem: The problem; its risk, if it has one, is kept in every part. Of one without a horizon nothing is said
            about a horizon.
        time_limit: Positive seconds of wall time for all of it, or None for no limit. What it cuts short is marked as
            not proven.
        solver: As for `solve`; it must handle the problem's risk.

    Raises:
        ProblemError: If the time limit is not a positive number.
        BackendError: If a path of the solver does not survive its check with the true rewards.
        UnknownSolverError, SolverUnavailableError, RiskUnsupportedError: As `solve` does.

    Examples:
        >>> from solvers import PathProblem, explain
        >>> problem = PathProblem(
        ...     n_nodes=3, edges=[(0, 1), (1, 2)], rewards=[0, 0, 1], costs=[[2], [2]], budgets=[3], start=0,
        ...     terminals=[2], objective="visit", resources=["usd"],
        ... )
        >>> print(explain(problem))
        usd is short: 3 given, 4 would do (1 more), everything else unchanged.
    """
    deadline = SolveDeadline(checked_time_limit(time_limit))
    limited = problem.horizon is not None
    if not limited:  # a path without circles has no more moves than this
        problem = problem.with_valid(horizon=max(1, problem.n_nodes - 1))
    if not problem.terminals:
        return Explanation(problem, Status.INFEASIBLE, (Cause.NO_TERMINAL,))
    try:
        moves, leading = distances(problem, deadline), leading_nodes(problem, deadline)
        barred = barred_edges(problem, deadline)
    except LateError:
        return Explanation(problem, Status.TIMEOUT)
    explanation = Explanation(problem, Status.INFEASIBLE, reached=tuple(sorted(moves)), leading=leading)
    nearest = min((moves[v] for v in problem.terminals if v in moves), default=None)
    if nearest is None:
        return replace(explanation, causes=(Cause.UNREACHABLE,))
    explanation, search = replace(explanation, nearest=nearest, barred=barred), _Search(problem, solver, deadline)
    if not explanation.too_short:
        status, path = search.first()
        if status is not Status.INFEASIBLE:
            return replace(explanation, status=status, path=path, faults=tuple(search.faults))
    return _relaxed(explanation, nearest, search, limited=limited)


def _relaxed(explanation: Explanation, nearest: int, search: _Search, *, limited: bool) -> Explanation:
    """The explanation of a problem proven infeasible, although a terminal can be reached in `nearest` moves."""
    problem = explanation.problem
    budgets = tuple(
        Need(name, budget, None, budget + 1, None, True) if explanation.too_short else search.budget(k)
        for k, (name, budget) in enumerate(zip(problem.resources, problem.budgets, strict=True))
    )
    horizon = search.horizon(nearest) if limited else None
    longer_does = horizon is not None and horizon.least is not None
    causes = [Cause.HORIZON] if explanation.too_short or longer_does else []
    if not explanation.too_short or (horizon is not None and horizon.least is None and horizon.proven):
        causes.append(Cause.BUDGET)
    explanation = replace(explanation, causes=tuple(causes), horizon=horizon, budgets=budgets)
    joint = search.joint(max(nearest, problem.steps)) if explanation.joint_applies else None
    return replace(explanation, joint=joint, faults=tuple(search.faults))


class _Search:
    """Asks a solver whether a problem has a path under other limits; `faults` is what it reported in ERROR."""

    def __init__(self, problem: PathProblem, solver: str | Solver, deadline: SolveDeadline) -> None:
        self._problem, self._solver, self._deadline = problem, solver, deadline
        self._plain = problem.with_valid(
            rewards=(0.0,) * problem.n_nodes, discount=1.0, objective="stay", edge_rewards=()
        )
        self._square = problem.risk.square if problem.risk is not None else 0
        # A path without cycles has no more moves than this.
        self._longest = max(1, problem.n_nodes - 1)
        self.faults: list[str] = []

    def first(self) -> tuple[Status, PathSolution | None]:
        """Whether the problem itself has a path: FEASIBLE with it, INFEASIBLE if proven that there is none."""
        answer = self._solved(self._problem.steps, self._problem.budgets)
        if answer is None or not answer.has_path:
            return Status.TIMEOUT if answer is None else answer.status, None
        return Status.FEASIBLE, self._path(self._problem.steps, self._problem.budgets, answer.edges)

    def budget(self, k: int) -> Need:
        """What resource k alone would have to be."""
        problem = self._problem

        def changed(budget: int) -> list[int]:
            return [*problem.budgets[:k], budget, *problem.budgets[k + 1 :]]

        low = max(problem.budgets[k] + 1, self._floor(k))
        high = max(low, self._ample(k, problem.steps))
        result = least(
            low, high, lambda value: self._ask(problem.steps, changed(value)), lambda numbers: self._needs(numbers)[k]
        )
        path = self._path(problem.steps, changed(result.value or 0), result.answer)
        return _need(problem.resources[k], problem.budgets[k], result, path)

    def horizon(self, nearest: int) -> Need:
        """What the horizon alone would have to be; the nearest terminal is so many moves away."""
        problem = self._problem
        low = max(problem.steps + 1, nearest)
        result = least(low, problem.n_nodes - 1, lambda steps: self._ask(steps, problem.budgets), len)
        return _need("horizon", problem.steps, result, self._path(result.value or 0, problem.budgets, result.answer))

    def joint(self, steps: int) -> Joint | None:
        """All budgets raised together."""
        kinds = range(len(self._problem.budgets))
        result = together(
            self._problem.budgets,
            [self._floor(k) for k in kinds],
            [self._ample(k, steps) for k in kinds],
            lambda budgets: self._ask(steps, budgets),
            self._needs,
        )
        path = None if result is None else self._path(steps, result.limits, result.answer)
        return (
            None if result is None or path is None else Joint(steps, result.limits, path, result.percent, result.proven)
        )

    def _solved(self, steps: int, budgets: Sequence[int]) -> PathSolution | None:
        """Any path within these limits; None if the time is up."""
        left = self._deadline.left()
        if left == 0.0:
            return None
        relaxed = self._plain.with_valid(horizon=min(steps, self._longest), budgets=tuple(budgets))
        answer = solve(relaxed, self._solver, left)
        if answer.status is Status.ERROR and answer.message not in self.faults:
            self.faults.append(answer.message)
        return answer

    def _ask(self, steps: int, budgets: Sequence[int]) -> tuple[int, ...] | None:
        """The edges of any path within these limits; None if proven that there is none."""
        answer = self._solved(steps, budgets)
        if answer is None or not (answer.has_path or answer.status is Status.INFEASIBLE):
            raise OpenError("whether there is a path is open")
        return answer.edges if answer.has_path else None

    def _path(self, steps: int, budgets: Sequence[int], edges: tuple[int, ...] | None) -> PathSolution | None:
        """A path as an answer to the problem with these limits and its true rewards.

        Raises:
            BackendError: If it does not survive its check.
        """
        if edges is None:
            return None
        relaxed = self._problem.with_valid(horizon=steps, budgets=tuple(budgets))
        path = with_path(relaxed, edges, Status.FEASIBLE)
        if faults := check(relaxed, path):
            raise BackendError(f"a path found for the explanation fails its check: {'; '.join(faults)}")
        return path

    def _needs(self, edges: Sequence[int]) -> tuple[int, ...]:
        """The K least budgets that a path keeps, at the problem's risk."""
        used = zip(consumption_of(self._problem, edges), variance_of(self._problem, edges), strict=True)
        return tuple(least_budget(mean, variance, self._square) for mean, variance in used)

    def _floor(self, k: int) -> int:
        """What every path uses of resource k; 0, which is true as well, where the time is up before more is known."""
        try:
            return least_uses(self._problem, k, self._deadline)
        except LateError:
            return 0

    def _ample(self, k: int, steps: int) -> int:
        """A budget of resource k that every path without cycles keeps."""
        dearest = max((row[k] for row in self._problem.costs), default=0)
        widest = max((row[k] for row in self._problem.spreads), default=0)
        moves = min(steps, self._longest)
        return least_budget(moves * dearest, moves * widest**2, self._square)


def _need(limit: str, given: int, result: Least[tuple[int, ...]], path: PathSolution | None) -> Need:
    return Need(limit, given, result.value, result.at_least, path, result.proven)
