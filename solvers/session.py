"""`Session`: a sequence of related problems, each solved with what is known from those before."""

from __future__ import annotations

import time
from typing import ClassVar

from solvers.api import answered, checked_time_limit, solve
from solvers.chances import linear_parts
from solvers.compiled import can_solve, search
from solvers.deadline import Deadline
from solvers.labelling import answer_of
from solvers.problem import PathProblem
from solvers.solution import PathSolution


class Session:
    """Solves with `labelling`, as `solve` does, and keeps a path and prices for the next problem.

    After a replan most of a plan graph is as it was: some edges were added, removed or re-priced, the start has moved
    along the path, horizon and budgets are what is left. What follows upon the start of the last path is then a path to
    beat, and the last prices of resources bound well. The answers are those of `solve`.

    Nodes should keep their numbers from problem to problem; edges may be renumbered at will. With a discount, a risk or
    the objective "visit" nothing is kept, and every solve is a fresh one.

        session = Session()
        first = session.solve(problem)
        second = session.solve(problem_after_two_moves)

    Attributes:
        solver: The name of the solver that sessions use.
    """

    solver: ClassVar[str] = "labelling"

    def __init__(self) -> None:
        self._nodes: tuple[int, ...] = ()
        self._prices: tuple[float, ...] = ()

    def solve(self, problem: PathProblem, time_limit: float | None = None) -> PathSolution:
        """Finds the best path that keeps every budget.

        Args:
            problem: The next problem.
            time_limit: Positive seconds of wall time, or None for no limit.

        Raises:
            ProblemError: If the time limit is not a positive number.
        """
        time_limit = checked_time_limit(time_limit)
        kept = problem.objective == "stay" and all(budget >= 0 for budget in problem.budgets)
        kept = kept and problem.discount == 1.0 and not problem.is_risky
        parts = linear_parts(problem) if kept else None
        if parts is None or not can_solve(parts):
            return solve(problem, self.solver, time_limit)
        began = time.perf_counter()

        def find() -> PathSolution:
            found = search(problem, parts, 1, Deadline(time_limit), self._nodes, self._prices)
            answer = answer_of(problem, found).but(solve_seconds=found.seconds)
            self._nodes, self._prices = answer.nodes or (), found.prices
            return answer

        return answered(problem, find).but(solver=self.solver, seconds=time.perf_counter() - began)
