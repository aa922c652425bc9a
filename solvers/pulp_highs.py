"""`pulp:highs`: the HiGHS solver through its own Python package."""

from __future__ import annotations

from typing import Any, ClassVar

from solvers.base import missing_package
from solvers.pulp_model import PulpSolver, Stopwatch

_TIGHT = {
    "mip_feasibility_tolerance": 1e-9,
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
    "random_seed": 0,
}


class PulpHighsSolver(PulpSolver):
    """HiGHS behind PuLP."""

    name: ClassVar[str] = "pulp:highs"
    summary: ClassVar[str] = "HiGHS through PuLP on the time-expanded graph"
    largest_amount: ClassVar[int] = 10**9  # as HiGHS behind MathOpt

    @classmethod
    def unavailable_reason(cls) -> str | None:
        """Whether PuLP and highspy are installed."""
        return super().unavailable_reason() or missing_package("highspy")

    def _configured(self, time_limit: float | None, watch: Stopwatch) -> Any:
        import pulp

        solver = pulp.HiGHS(msg=False, threads=1, gapRel=0.0, gapAbs=0.0, timeLimit=time_limit, **_TIGHT)
        solver.callSolver = watch.starting(solver.callSolver)
        solver.findSolutionValues = watch.stopping(solver.findSolutionValues)
        return solver
