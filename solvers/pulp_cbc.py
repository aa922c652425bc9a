"""`pulp:cbc`: the CBC solver that comes with PuLP."""

from __future__ import annotations

from typing import Any, ClassVar

from solvers.errors import BackendError
from solvers.pulp_model import PulpSolver, Stopwatch

# CBC's defaults stop short of the optimum: 1e-6 of slack on integers, and no interest in gains below 1e-5.
_TIGHT = ["ratio 0", "allow 1e-10", "increment 1e-9", "integerT 1e-9", "primalT 1e-9"]


class CbcSolver(PulpSolver):
    """CBC behind PuLP, as a command-line program."""

    name: ClassVar[str] = "pulp:cbc"
    summary: ClassVar[str] = "CBC through PuLP on the time-expanded graph (alias: pulp)"

    def _configured(self, time_limit: float | None, watch: Stopwatch) -> Any:
        import pulp

        # COIN_CMD with the bundled binary is what PULP_CBC_CMD is, without its deprecation warning.
        path = pulp.PULP_CBC_CMD.pulp_cbc_path
        solver = pulp.COIN_CMD(path=path, msg=False, threads=0, timeLimit=time_limit, options=_TIGHT)
        if not solver.available():
            raise BackendError(f"the CBC that PuLP bundles cannot be executed: {path}")
        solver.get_pipe = watch.starting(solver.get_pipe)  # the last that PuLP does before it runs the program
        solver.readsol_MPS = watch.stopping(solver.readsol_MPS)
        return solver
