"""`pulp:cbc` and `pulp:highs`: CBC and HiGHS behind PuLP, with their model and their status map."""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import Any, ClassVar

from solvers.answer import with_path, without_path
from solvers.base import missing_package
from solvers.check import OPTIMALITY_TOLERANCE
from solvers.deadline import SolveDeadline
from solvers.errors import BackendError
from solvers.problem import PathProblem
from solvers.solution import PathSolution, Status
from solvers.time_expanded import Programme, programme
from solvers.worker import WorkerSolver

# By PuLP's `status` and `sol_status`. Neither alone will do: the first calls a run that the time limit ended "Optimal",
# the second cannot tell "Integer infeasible" from a run that found nothing in time.
_STATUS = {
    ("Optimal", "Optimal Solution Found"): Status.OPTIMAL,
    ("Optimal", "Solution Found"): Status.FEASIBLE,
    ("Infeasible", "No Solution Exists"): Status.INFEASIBLE,
    ("Infeasible", "No Solution Found"): Status.INFEASIBLE,
    ("Not Solved", "No Solution Found"): Status.TIMEOUT,
}

# What a limited run may be called: some report Infeasible or Optimal for a search that the clock cut short.
_CUT_SHORT = {Status.OPTIMAL: Status.FEASIBLE, Status.INFEASIBLE: Status.TIMEOUT}

# A search that has used this much of its limit may have been cut short: clocks differ, and start at different times.
_NEARLY_ALL = 0.95

_LARGEST_GAIN = 1e3
"""The largest gain is scaled to this, so that absolute tolerances mean the same whatever the rewards' unit is."""

_LOST = 2e-12
"""The share of the largest gain that each move may lose: HiGHS drops what is below 1e-9 once that is 1e3."""

# CBC's defaults stop short of the optimum: 1e-6 of slack on integers, and no interest in gains below 1e-5.
_TIGHT_CBC = ["ratio 0", "allow 1e-10", "increment 1e-9", "integerT 1e-9", "primalT 1e-9"]

_TIGHT_HIGHS = {
    "mip_feasibility_tolerance": 1e-9,
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
    "random_seed": 0,
}


class PulpSolver(WorkerSolver):
    """The integer programme of TAPE eq. 6-11, modelled with PuLP.

    The solvers calculate in floating point: OPTIMAL means within `OPTIMALITY_TOLERANCE`, and where one gain is so large
    that others may be lost beside it, the answer is FEASIBLE. Ties are broken in no particular way.

    Attributes:
        largest_amount: The largest budget of which the solver tells one unit apart. The default is what was measured
            for CBC: on problems whose budgets are missed or met by one unit it called feasible ones infeasible from
            1e8 on (5 of 1,200 below 1e10), and none of 650 up to a few times 1e7.
    """

    library: ClassVar[str] = "pulp"
    largest_amount: ClassVar[int] = 10**7

    @abstractmethod
    def _configured(self, time_limit: float | None) -> Any:
        """PuLP's solver object.

        Raises:
            BackendError: If it cannot be used.
        """

    def _search(self, problem: PathProblem, time_limit: float | None) -> PathSolution:
        deadline = SolveDeadline(time_limit)
        asked = programme(problem, deadline)
        if asked is None:
            return without_path(Status.INFEASIBLE, message="no terminal can be reached within horizon and budgets")
        if max((most or 0 for most in asked.net.upper), default=0) > self.largest_amount:
            raise BackendError(
                f"this solver calculates in floating point and is exact for budgets up to {self.largest_amount} only; "
                "use a coarser resolution, or one of the solvers labelling and cp-sat"
            )
        model, arcs = _model(asked)
        left = deadline.left()
        if left == 0.0:  # which some would take for no limit
            return without_path(Status.TIMEOUT, asked.most)
        solver = self._configured(left)
        began = time.perf_counter()
        model.solve(solver)
        elapsed = time.perf_counter() - began
        status = _status(model, limited=left is not None)
        limit = solver.timeLimit if left is not None else None
        if limit is not None and elapsed >= _NEARLY_ALL * limit:
            status = _CUT_SHORT.get(status, status)
        if status in (Status.INFEASIBLE, Status.TIMEOUT):
            path = without_path(status, asked.most if status is Status.TIMEOUT else None)
        else:
            edges = asked.edges_of([index for index, arc in enumerate(arcs) if (arc.varValue or 0.0) > 0.5])
            path = with_path(problem, edges, status)
            largest = max(map(abs, asked.gains)) / asked.grid.scale
            if _LOST * (asked.grid.moves + 1) * largest > OPTIMALITY_TOLERANCE * max(1.0, abs(path.objective or 0.0)):
                status = Status.FEASIBLE
            if status is not Status.OPTIMAL:
                path = with_path(problem, edges, status, asked.most)
        return path


class CbcSolver(PulpSolver):
    """CBC behind PuLP, as a command-line program."""

    name: ClassVar[str] = "pulp:cbc"
    summary: ClassVar[str] = "CBC through PuLP on the time-expanded graph (alias: pulp)"

    def _configured(self, time_limit: float | None) -> Any:
        import pulp

        # COIN_CMD with the bundled binary is what PULP_CBC_CMD is, without its deprecation warning.
        path = pulp.PULP_CBC_CMD.pulp_cbc_path
        solver = pulp.COIN_CMD(path=path, msg=False, threads=0, timeLimit=time_limit, options=_TIGHT_CBC)
        # The worker's folder, in which it is, without its name: PuLP splits its command at spaces, CBC trips over `%`.
        solver.tmpDir = ""
        if not solver.available():
            raise BackendError(f"the CBC that PuLP bundles cannot be executed: {path}")
        return solver


class PulpHighsSolver(PulpSolver):
    """HiGHS behind PuLP.

    Up to a few times its largest amount it agreed with enumeration on problems whose budgets are missed or met by one
    unit (255 for each power of ten). From 1e10 on it returned paths over budget, or missed the best one.
    """

    name: ClassVar[str] = "pulp:highs"
    summary: ClassVar[str] = "HiGHS through PuLP on the time-expanded graph"
    largest_amount: ClassVar[int] = 10**9

    @classmethod
    def unavailable_reason(cls) -> str | None:
        """Whether PuLP and highspy are installed."""
        return super().unavailable_reason() or missing_package("highspy")

    def _configured(self, time_limit: float | None) -> Any:
        import pulp

        return pulp.HiGHS(msg=False, threads=1, gapRel=0.0, gapAbs=0.0, timeLimit=time_limit, **_TIGHT_HIGHS)


def _model(asked: Programme) -> tuple[Any, list[Any]]:
    """PuLP's model and its variables, one for each arc."""
    import pulp

    factor = _LARGEST_GAIN / (max(map(abs, asked.gains)) or 1)
    model = pulp.LpProblem("walk", pulp.LpMaximize)
    arcs = [model.add_variable(f"a{index}", cat=pulp.LpBinary) for index in range(len(asked.gains))]
    model += pulp.LpAffineExpression((arcs[i], gain * factor) for i, gain in enumerate(asked.gains))
    for entering, leaving, more in asked.flow():
        terms = [*((arcs[i], 1) for i in leaving), *((arcs[i], -1) for i in entering)]
        model += pulp.LpAffineExpression(terms) == more
    for k, budget in enumerate(asked.net.upper):
        model += pulp.LpAffineExpression((arcs[i], row[k]) for i, row in enumerate(asked.net.use)) <= budget
    return model, arcs


def _status(model: Any, limited: bool) -> Status:
    """What a run of PuLP amounts to; `limited`: it had a time limit.

    Raises:
        BackendError: If it is no answer.
    """
    import pulp

    outcome = pulp.LpStatus[model.status], pulp.LpSolution[model.sol_status]
    status = _STATUS.get(outcome)
    if status is None or (status is Status.TIMEOUT and not limited):
        raise BackendError(f"the search ended in a way that is no answer: {', '.join(outcome)}")
    return status
