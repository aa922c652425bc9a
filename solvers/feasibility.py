"""The least limit with which a walk exists: bisection over feasibility problems, each proven by a solver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from solvers.answer import with_walk, without_walk
from solvers.api import solve
from solvers.base import Solver
from solvers.check import check, consumption_of, variance_of
from solvers.deadline import Deadline
from solvers.errors import BackendError
from solvers.problem import PathProblem
from solvers.risk import least_budget
from solvers.solution import PathSolution, Status


class Feasibility:
    """Asks a solver whether a problem has a walk under other limits; rewards play no part.

    Args:
        problem: The problem.
        solver: As for `solvers.solve`.
        deadline: For all questions together. When it has passed, the answer is TIMEOUT.

    Attributes:
        deadline: That of all questions.
        faults: What the solver reported where it ended in ERROR, each once.
    """

    def __init__(self, problem: PathProblem, solver: str | Solver, deadline: Deadline) -> None:
        self._problem = problem
        self._plain = problem.with_valid(
            rewards=(0.0,) * problem.n_nodes, discount=1.0, objective="stay", edge_rewards=()
        )
        self._solver = solver
        self.deadline = deadline
        self._square = problem.risk.square if problem.risk is not None else 0
        self.faults: list[str] = []

    def ask(self, horizon: int, budgets: Sequence[int]) -> PathSolution:
        """Any walk within these limits, INFEASIBLE if proven that there is none, else TIMEOUT or ERROR."""
        left = self.deadline.left()
        if left == 0.0:
            return without_walk(Status.TIMEOUT)
        answer = solve(self._plain.with_valid(horizon=horizon, budgets=tuple(budgets)), self._solver, left)
        if answer.status is Status.ERROR and answer.message not in self.faults:
            self.faults.append(answer.message)
        return answer

    def needs(self, edges: Sequence[int]) -> tuple[int, ...]:
        """The K least budgets that a walk keeps, at the problem's risk."""
        used = zip(consumption_of(self._problem, edges), variance_of(self._problem, edges), strict=True)
        return tuple(least_budget(mean, variance, self._square) for mean, variance in used)

    def ample(self, resource: int, horizon: int) -> int:
        """A budget of one resource that every walk of up to `horizon` moves keeps."""
        dearest = max((row[resource] for row in self._problem.costs), default=0)
        widest = max((row[resource] for row in self._problem.spreads), default=0)
        return least_budget(horizon * dearest, horizon * widest**2, self._square)

    def witness(self, horizon: int, budgets: Sequence[int], edges: Sequence[int]) -> PathSolution:
        """A walk as an answer to the problem with these limits and its true rewards.

        Raises:
            BackendError: If it does not survive its check.
        """
        relaxed = self._problem.with_valid(horizon=horizon, budgets=tuple(budgets))
        walk = with_walk(relaxed, edges, Status.FEASIBLE)
        faults = check(relaxed, walk)
        if faults:
            raise BackendError(f"a walk found for the explanation fails its check: {'; '.join(faults)}")
        return walk


@dataclass(frozen=True)
class End:
    """How a search ended.

    Attributes:
        value: A value that does, with the walk `edges`; None if none does (`proven`) or none was found.
        at_least: Every smaller value is proven not to do.
        edges: The walk's edge indices.
        proven: Whether `value` is the least one, or, if it is None, whether no value does.
    """

    value: int | None
    at_least: int
    edges: tuple[int, ...]
    proven: bool


def least(low: int, high: int, probe: Callable[[int], PathSolution], needs: Callable[[tuple[int, ...]], int]) -> End:
    """The least value in low..high that does. The low end is tried first: where one limit alone is short, it is it.

    Args:
        low: Every smaller value is known not to do.
        high: If this does not do, none does; at least `low`.
        probe: Asks the solver about a value; what does for a value does for every larger one.
        needs: The least value that does for a given walk.
    """
    first = probe(low)
    if first.has_walk:
        return End(low, low, first.edges, True)
    refused = first.status is Status.INFEASIBLE
    if low == high:
        return End(None, low, (), refused)
    low += refused
    last = probe(high)
    if not last.has_walk:
        return End(None, low, (), last.status is Status.INFEASIBLE)
    value, low, edges = bisect(low, max(low, needs(last.edges)), last.edges, probe, needs)
    return End(value, low, edges, value == low)


def bisect(
    low: int,
    high: int,
    edges: tuple[int, ...],
    probe: Callable[[int], PathSolution],
    needs: Callable[[tuple[int, ...]], int],
) -> tuple[int, int, tuple[int, ...]]:
    """The least value in low..high that does.

    Args:
        low: No smaller value is asked for.
        high: Does, with the walk `edges`.
        edges: The walk's edge indices.
        probe: As for `least`.
        needs: As for `least`; a walk that needs less than the value asked about shortens the search.

    Returns:
        A value that does; one below which none does, equal to it unless the solver left it open; and the walk's edges.
    """
    while low < high:
        middle = (low + high) // 2
        answer = probe(middle)
        if answer.has_walk:
            edges, high = answer.edges, max(low, needs(answer.edges))
        elif answer.status is Status.INFEASIBLE:
            low = middle + 1
        else:
            break
    return high, low, edges
