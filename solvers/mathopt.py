"""`mathopt:scip` and `mathopt:highs`: the solvers behind OR-Tools' MathOpt, with their model and status map."""

from __future__ import annotations

import datetime
import math
from abc import abstractmethod
from typing import Any, ClassVar

from solvers.answer import without_path
from solvers.deadline import Deadline
from solvers.errors import BackendError
from solvers.float_model import answer, scaled_gains
from solvers.problem import PathProblem
from solvers.solution import PathSolution, Status
from solvers.time_expanded import TimeExpanded, expand
from solvers.worker import WorkerSolver

# By MathOpt's `TerminationReason`.
_STATUS = {
    "OPTIMAL": Status.OPTIMAL,
    "FEASIBLE": Status.FEASIBLE,
    "INFEASIBLE": Status.INFEASIBLE,
    "INFEASIBLE_OR_UNBOUNDED": Status.INFEASIBLE,  # binary variables alone cannot make it unbounded
    "NO_SOLUTION_FOUND": Status.TIMEOUT,  # if the limit was one of time
    "UNBOUNDED": Status.ERROR,
    "IMPRECISE": Status.ERROR,
    "NUMERICAL_ERROR": Status.ERROR,
    "OTHER_ERROR": Status.ERROR,
}

# Up to a few times this, SCIP and HiGHS agreed with enumeration on problems whose budgets are missed or met by one unit
# (255 for each power of ten). From 1e10 on they returned paths over budget, or missed the best one.
_LARGEST_AMOUNT = 10**9


class MathOptSolver(WorkerSolver):
    """The integer programme of TAPE eq. 6-11, solved to a gap of 0 with a fixed seed.

    These solvers calculate in floating point: OPTIMAL means within about 1e-6 of the largest gain. Ties are broken in
    no particular way.

    Attributes:
        solver_type: The solver's name in MathOpt's `SolverType`.
    """

    library: ClassVar[str] = "ortools.math_opt.python.mathopt"
    solver_type: ClassVar[str]

    @abstractmethod
    def _tighten(self, parameters: Any) -> None:
        """Narrows the solver's own tolerances on MathOpt's `SolveParameters`."""

    def _search(self, problem: PathProblem, time_limit: float | None) -> PathSolution:
        deadline = Deadline(time_limit)
        graph = expand(problem, deadline)
        if not graph.arcs:
            return without_path(Status.INFEASIBLE, message="no terminal can be reached within horizon and budgets")
        from ortools.math_opt.python import mathopt

        deadline.check()
        gains, factor = scaled_gains(graph, _LARGEST_AMOUNT)
        model, arcs = _model(problem, graph, gains)
        parameters = mathopt.SolveParameters(random_seed=0, absolute_gap_tolerance=0.0, relative_gap_tolerance=0.0)
        self._tighten(parameters)
        deadline.check()
        left = deadline.left()
        if left is not None:
            parameters.time_limit = datetime.timedelta(seconds=left)
        result = mathopt.solve(model, mathopt.SolverType[self.solver_type], params=parameters)
        status = _status(result.termination, limited=left is not None)
        values = result.variable_values(arcs) if status in (Status.OPTIMAL, Status.FEASIBLE) else []
        bound = result.termination.objective_bounds.dual_bound / factor + graph.beyond
        seconds = result.solve_stats.solve_time.total_seconds()
        return answer(problem, graph, status, values, math.inf if math.isnan(bound) else bound, seconds)


class MathOptHighsSolver(MathOptSolver):
    """HiGHS behind MathOpt."""

    name: ClassVar[str] = "mathopt:highs"
    summary: ClassVar[str] = "HiGHS through OR-Tools MathOpt on the time-expanded graph"
    solver_type: ClassVar[str] = "HIGHS"

    def _tighten(self, parameters: Any) -> None:
        for tolerance in ("mip_feasibility_tolerance", "primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            parameters.highs.double_options[tolerance] = 1e-9


class MathOptScipSolver(MathOptSolver):
    """SCIP behind MathOpt."""

    name: ClassVar[str] = "mathopt:scip"
    summary: ClassVar[str] = "SCIP through OR-Tools MathOpt on the time-expanded graph"
    solver_type: ClassVar[str] = "GSCIP"

    def _tighten(self, parameters: Any) -> None:
        parameters.threads = 1  # MathOpt's HiGHS, in contrast, does not take it
        parameters.gscip.real_params["numerics/feastol"] = 1e-9
        parameters.gscip.real_params["numerics/dualfeastol"] = 1e-9


def _model(problem: PathProblem, graph: TimeExpanded, gains: list[float]) -> tuple[Any, list[Any]]:
    """MathOpt's model and its variables, one for each arc."""
    from ortools.math_opt.python import mathopt

    model = mathopt.Model(name="walk")
    arcs = [model.add_binary_variable() for _ in gains]
    for arc, gain in zip(arcs, gains, strict=True):
        model.objective.set_linear_coefficient(arc, gain)
    model.objective.is_maximize = True
    for (step, node), (entering, leaving) in graph.flow().items():
        born = float((step, node) == (0, problem.start))
        row = model.add_linear_constraint(lb=born, ub=born)
        for index in leaving:
            row.set_coefficient(arcs[index], 1.0)
        for index in entering:
            row.set_coefficient(arcs[index], -1.0)
    for k, budget in enumerate(graph.budgets):
        row = model.add_linear_constraint(ub=float(budget))
        for arc, variable in zip(graph.arcs, arcs, strict=True):
            if arc.costs[k]:
                row.set_coefficient(variable, float(arc.costs[k]))
    return model, arcs


def _status(termination: Any, limited: bool) -> Status:
    """What a run of MathOpt amounts to.

    Args:
        termination: MathOpt's `Termination`.
        limited: Whether it had a time limit.

    Raises:
        BackendError: If it is no answer.
    """
    reason = termination.reason.name
    limit = termination.limit.name if termination.limit is not None else ""
    status = _STATUS.get(reason, Status.ERROR)
    out_of_time = limited and limit in ("TIME", "UNDETERMINED")
    if status is Status.ERROR or (status is Status.TIMEOUT and not out_of_time):
        raise BackendError(
            f"the search ended in a way that is no answer: {' '.join((reason, limit, termination.detail))}"
        )
    return status
