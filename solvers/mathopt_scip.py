"""`mathopt:scip`: SCIP, as bundled with OR-Tools."""

from __future__ import annotations

from typing import Any, ClassVar

from solvers.mathopt import MathOptSolver


class MathOptScipSolver(MathOptSolver):
    """SCIP behind MathOpt."""

    name: ClassVar[str] = "mathopt:scip"
    summary: ClassVar[str] = "SCIP through OR-Tools MathOpt on the time-expanded graph"
    solver_type: ClassVar[str] = "GSCIP"

    def _tighten(self, parameters: Any) -> None:
        parameters.threads = 1  # MathOpt's HiGHS, in contrast, does not take it
        parameters.gscip.real_params["numerics/feastol"] = 1e-9
        parameters.gscip.real_params["numerics/dualfeastol"] = 1e-9
