"""`mathopt:highs`: HiGHS, as bundled with OR-Tools."""

from __future__ import annotations

from typing import Any, ClassVar

from solvers.mathopt import MathOptSolver


class MathOptHighsSolver(MathOptSolver):
    """HiGHS behind MathOpt."""

    name: ClassVar[str] = "mathopt:highs"
    summary: ClassVar[str] = "HiGHS through OR-Tools MathOpt on the time-expanded graph"
    solver_type: ClassVar[str] = "HIGHS"

    def _tighten(self, parameters: Any) -> None:
        for tolerance in ("mip_feasibility_tolerance", "primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            parameters.highs.double_options[tolerance] = 1e-9
