"""`cp-sat`: the constraint solver of OR-Tools on the time-expanded graph."""

from __future__ import annotations

import time
from typing import ClassVar

from solvers.answer import with_path, without_path
from solvers.check import OPTIMALITY_TOLERANCE
from solvers.deadline import SolveDeadline
from solvers.errors import BackendError, ProblemError
from solvers.problem import PathProblem
from solvers.solution import PathSolution, Status
from solvers.time_expanded import Programme, programme
from solvers.worker import WorkerSolver

# CP-SAT refuses objectives whose sum over all variables could overflow, and reports bounds as doubles.
_LARGEST_SUM = 2**52

_STATUS = {
    "OPTIMAL": Status.OPTIMAL,
    "FEASIBLE": Status.FEASIBLE,
    "INFEASIBLE": Status.INFEASIBLE,
    "UNKNOWN": Status.TIMEOUT,
    "MODEL_INVALID": Status.ERROR,
}


class CpSatSolver(WorkerSolver):
    """The integer programme of TAPE eq. 6-11 with exact integer budgets and a fixed seed.

    CP-SAT has integer objectives only. The gains are rounded to units as fine as its range allows, and its integer
    optimum is then exact in these. The bound includes the rounding error, so it is valid for the real gains; where
    rounding leaves a gap above `OPTIMALITY_TOLERANCE`, the answer is FEASIBLE, not OPTIMAL. Ties are broken in no
    particular way, and with several workers not always in the same one.

    Args:
        workers: How many threads CP-SAT searches with.

    Raises:
        ProblemError: If that is less than one.
    """

    name: ClassVar[str] = "cp-sat"
    summary: ClassVar[str] = "OR-Tools CP-SAT on the time-expanded graph"
    library: ClassVar[str] = "ortools.sat.python.cp_model"

    def __init__(self, workers: int = 1) -> None:
        if workers < 1:
            raise ProblemError("workers", None, workers, "must be at least 1")
        super().__init__(workers=workers)
        self._workers = workers

    def _search(self, problem: PathProblem, time_limit: float | None) -> PathSolution:
        deadline = SolveDeadline(time_limit)
        asked = programme(problem, deadline)
        if asked is None:
            return without_path(Status.INFEASIBLE, message="no terminal can be reached within horizon and budgets")
        from ortools.sat.python import cp_model

        coarse = max(1, -(-sum(map(abs, asked.gains)) // _LARGEST_SUM))
        model = cp_model.CpModel()
        arcs = [model.new_bool_var(f"a{index}") for index in range(len(asked.gains))]
        for entering, leaving, more in asked.flow():
            model.add(sum(arcs[i] for i in leaving) == sum(arcs[i] for i in entering) + more)
        for k, budget in enumerate(asked.net.upper):
            model.add(cp_model.LinearExpr.weighted_sum(arcs, [row[k] for row in asked.net.use]) <= budget)
        gains = [(2 * gain + coarse) // (2 * coarse) for gain in asked.gains]
        model.maximize(cp_model.LinearExpr.weighted_sum(arcs, gains))

        solver = cp_model.CpSolver()
        solver.parameters.num_workers = self._workers
        solver.parameters.random_seed = 0
        solver.parameters.catch_sigint_signal = False  # else Ctrl-C would read as "time is up"
        left = deadline.left()
        if left is not None:
            solver.parameters.max_time_in_seconds = left
        began = time.perf_counter()
        status = _STATUS[solver.status_name(solver.solve(model))]
        seconds = time.perf_counter() - began
        if status in (Status.INFEASIBLE, Status.TIMEOUT):
            return without_path(status, asked.most if status is Status.TIMEOUT else None).but(solve_seconds=seconds)
        if status is Status.ERROR:
            raise BackendError(f"CP-SAT finds the model invalid: {model.validate()[:200]}")
        chosen = [i for i, arc in enumerate(arcs) if solver.boolean_value(arc)]
        bound = coarse * (round(solver.best_objective_bound) + (asked.grid.moves + 1) * (coarse > 1))
        return _answer(problem, asked, chosen, status, bound).but(solve_seconds=seconds)


def _answer(problem: PathProblem, asked: Programme, chosen: list[int], status: Status, bound: int) -> PathSolution:
    """The path, called OPTIMAL only if the bound in units proves that it is, in the real gains."""
    edges, grid = asked.edges_of(chosen), asked.grid
    gain = sum(asked.gains[arc] for arc in chosen) / grid.scale
    most = grid._replace(beyond=0.0).bound(bound)
    if min(most, asked.most - grid.beyond) - gain > OPTIMALITY_TOLERANCE * max(1.0, abs(gain)):
        status = Status.FEASIBLE
    if status is Status.OPTIMAL and grid.beyond:  # the gains of other ends than the richest may be cut short
        return with_path(problem, edges, status)
    return with_path(problem, edges, status, min(most + grid.beyond, asked.most))
