"""`k_best`: not only the best path but the k best, in order."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, overload

from solvers.answer import with_path
from solvers.api import checked_count, checked_time_limit, posed
from solvers.base import Solver
from solvers.check import check
from solvers.deadline import SolveDeadline
from solvers.errors import BackendError, EndlessError, LateError
from solvers.problem import PathProblem
from solvers.risk import Risk
from solvers.solution import PathSolution, Status
from solvers.visit import compiled

if TYPE_CHECKING:  # these need NumPy, which `import solvers` does not load
    from solvers.chances import LinearParts

_MOST = 2**31
"""More paths than this are the same as all: they would not fit into memory."""


_MANY, _SEARCH = 100, 0.5
"""With a limit, the share of it that the search for more paths than this gets: the rest is for checking them."""


@dataclass(frozen=True)
class KBest(Sequence[PathSolution]):
    """The best paths of a problem, best first; a sequence of its `solutions`.

    Attributes:
        status: OPTIMAL: these are the k best, or all there are. FEASIBLE: paths, but the search was cut short.
            INFEASIBLE: proved that there is no path. TIMEOUT: no path and no proof. ERROR: `message` says what failed;
            paths that were found before that are still there.
        solutions: At most k paths, all distinct (no two have the same `edges`), each verified by `check`. Status
            OPTIMAL means that it is proved to be the best but for those before it; else it is FEASIBLE, and no path but
            those before it is better than its `bound`.
        seconds: Wall time of the whole call; that of each solution, too.
        message: Details, above all for ERROR.

    Examples:
        >>> from solvers import PathProblem, k_best
        >>> edges, costs = [(0, 1), (1, 2), (0, 2)], [[2], [3], [4]]
        >>> problem = PathProblem(
        ...     3, edges, rewards=[0, 2, 1], costs=costs, budgets=[5], start=0, terminals=[2], horizon=2
        ... )
        >>> paths = k_best(problem, 5)
        >>> paths.status.value, len(paths), paths[0].edges  # there are only two
        ('OPTIMAL', 2, (0, 1))
    """

    status: Status
    solutions: tuple[PathSolution, ...] = ()
    seconds: float = 0.0
    message: str = ""

    def __len__(self) -> int:
        return len(self.solutions)

    @overload
    def __getitem__(self, rank: int) -> PathSolution: ...
    @overload
    def __getitem__(self, rank: slice) -> tuple[PathSolution, ...]: ...
    def __getitem__(self, rank: int | slice) -> PathSolution | tuple[PathSolution, ...]:
        return self.solutions[rank]


def k_best(
    problem: PathProblem,
    k: int,
    solver: str | Solver = "labelling",
    time_limit: float | None = None,
    risk: Risk | float | None = None,
    *,
    skip: Callable[[tuple[int, ...]], bool] | None = None,
) -> KBest:
    """Finds the k best paths, in order: greater objective, then fewer moves, then lexicographically smallest `edges`.

    The compiled path of `labelling` finds all of them in one search. Everything else goes by Lawler's partition
    (`solvers.partition`), which asks the solver once for the first path and then up to `horizon` + 1 times for each
    path that it hands out. With `labelling` the order is exact in both. Other solvers find the same objectives as far
    as they are exact, but paths of equal objective may come in another order.

    As in `solve`, a backend that raises and a path that `check` refuses end in status ERROR.

    Args:
        problem: The problem. One without a horizon has that of `enough_moves` here.
        k: How many paths, at least 1.
        solver: As for `solve`.
        time_limit: Positive seconds of wall time for all paths together, or None for no limit.
        risk: As for `solve`.
        skip: Says of the first edges of a path, in order, whether paths that begin with them are left out; what is true
            of a beginning has to be true of all that begin so. Such a search goes by Lawler's partition, whatever the
            solver.

    Raises:
        ProblemError: If k is not a positive integer, the time limit not a positive number, or the risk malformed.
        RiskUnsupportedError: If the solver cannot keep the risk; nothing is solved then.
        EndlessError: If the problem has no horizon, and none is enough; it names the circle that has no end.
        UnknownSolverError: If no solver goes by the name.
        SolverUnavailableError: If the solver cannot run here.

    Examples:
        >>> from solvers import PathProblem, k_best
        >>> edges, costs = [(0, 1), (1, 2), (0, 2)], [[2], [3], [4]]
        >>> problem = PathProblem(
        ...     3, edges, rewards=[0, 2, 1], costs=costs, budgets=[5], start=0, terminals=[2], horizon=2
        ... )
        >>> [(path.edges, path.objective) for path in k_best(problem, 5)]
        [((0, 1), 3.0), ((2,), 2.0)]
    """
    k = min(checked_count("k", k), _MOST)
    deadline = SolveDeadline(checked_time_limit(time_limit))
    began = time.perf_counter()
    problem, backend = posed(problem, solver, risk)
    try:
        best_paths = _found(problem, k, backend, deadline, skip)
    except LateError as error:
        best_paths = KBest(Status.TIMEOUT, message=str(error))
    except EndlessError:
        raise
    except Exception as error:  # KeyboardInterrupt and SystemExit pass through
        best_paths = KBest(Status.ERROR, message=f"{type(error).__name__}: {error}")
    seconds = time.perf_counter() - began
    solutions = tuple(replace(solution, seconds=seconds, solver=backend.name) for solution in best_paths)
    return replace(best_paths, solutions=solutions, seconds=seconds)


def _found(
    problem: PathProblem,
    k: int,
    backend: Solver,
    deadline: SolveDeadline,
    skip: Callable[[tuple[int, ...]], bool] | None,
) -> KBest:
    from solvers.chances import linear_parts
    from solvers.compiled import can_solve
    from solvers.labelling import LabellingSolver

    if problem.objective != "stay":
        asked = compiled(problem, deadline)
        stated = None if skip is None else lambda edges: skip(asked.edges(edges))
        best_paths = _found(asked.problem, k, backend, deadline, stated)
        return _verified(problem, replace(best_paths, solutions=tuple(map(asked.answer, best_paths))))
    if any(budget < 0 for budget in problem.budgets):
        return KBest(Status.INFEASIBLE, message="a budget is negative")
    if skip is None and type(backend) is LabellingSolver and can_solve(parts := linear_parts(problem, deadline)):
        return _searched(problem, parts, k, deadline)
    return _partitioned(problem, k, backend, deadline, skip or (lambda _: False))


def _searched(problem: PathProblem, parts: LinearParts, k: int, deadline: SolveDeadline) -> KBest:
    """All paths by one search of the compiled path."""
    from solvers.compiled import search
    from solvers.labelling import answer_of

    left = deadline.left()
    result = search(problem, parts, k, SolveDeadline(left * _SEARCH) if left is not None and k > _MANY else deadline)
    first = answer_of(problem, result)
    if not first.has_path:
        return KBest(first.status, message=first.message)
    bound = None if first.status is Status.OPTIMAL else first.bound  # above all paths, so above those of each rank
    solutions: list[PathSolution] = []
    status = first.status
    try:
        for rank, edges in enumerate(result.paths):
            if rank % _MANY == _MANY - 1:
                deadline.check()
            solutions.append(with_path(problem, edges, first.status, bound))
            if faults := check(problem, solutions[-1]):
                return _refused(solutions[:-1], rank, faults)
    except LateError:
        status = Status.FEASIBLE  # the best ones are there, and there are more
    return KBest(status, tuple(solutions), message=first.message)


def _partitioned(
    problem: PathProblem, k: int, backend: Solver, deadline: SolveDeadline, skip: Callable[[tuple[int, ...]], bool]
) -> KBest:
    from solvers.partition import Partition

    partition = Partition(problem, backend, deadline, skip)
    solutions: list[PathSolution] = []
    try:
        for ranked in islice(partition, k):
            bound = None if ranked.proved or math.isinf(ranked.bound) else ranked.bound
            status = Status.OPTIMAL if ranked.proved else Status.FEASIBLE
            solutions.append(with_path(problem, ranked.edges, status, bound))
    except BackendError as error:
        return _verified(problem, KBest(Status.ERROR, tuple(solutions), message=str(error)))
    complete = len(solutions) == k or partition.lost == -math.inf
    if not solutions:
        return KBest(Status.INFEASIBLE if complete else Status.TIMEOUT)
    proved = complete and all(solution.status is Status.OPTIMAL for solution in solutions)
    return _verified(problem, KBest(Status.OPTIMAL if proved else Status.FEASIBLE, tuple(solutions)))


def _verified(problem: PathProblem, best_paths: KBest) -> KBest:
    """As found, up to the first path that `check` refuses."""
    for rank, solution in enumerate(best_paths):
        if faults := check(problem, solution):
            return _refused(best_paths[:rank], rank, faults)
    return best_paths


def _refused(before: Sequence[PathSolution], rank: int, faults: Sequence[str]) -> KBest:
    return KBest(Status.ERROR, tuple(before), message=f"path {rank} failed its check: {'; '.join(faults)}")
