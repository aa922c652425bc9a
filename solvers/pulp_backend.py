"""`pulp:cbc`: the CBC solver that comes with PuLP, on the time-expanded graph."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from solvers.answer import with_walk, without_walk
from solvers.base import Solver, missing_package
from solvers.deadline import Deadline
from solvers.errors import BackendError
from solvers.problem import PathProblem
from solvers.solution import PathSolution, Status
from solvers.time_expanded import TimeExpanded, expand

# By PuLP's `status` and `sol_status`. Neither alone will do: the first calls a run that the time limit ended "Optimal",
# the second cannot tell "Integer infeasible" from a run that found nothing in time.
_STATUS = {
    ("Optimal", "Optimal Solution Found"): Status.OPTIMAL,
    ("Optimal", "Solution Found"): Status.FEASIBLE,
    ("Infeasible", "No Solution Exists"): Status.INFEASIBLE,
    ("Infeasible", "No Solution Found"): Status.INFEASIBLE,
    ("Not Solved", "No Solution Found"): Status.TIMEOUT,
}

# What a limited run may be called: CBC can report Infeasible or Optimal for a search that its clock cut short.
_CUT_SHORT = {Status.OPTIMAL: Status.FEASIBLE, Status.INFEASIBLE: Status.TIMEOUT}

# CBC's defaults stop short of the optimum: 1e-6 of slack on integers, and no interest in gains below 1e-5.
_TIGHT = ["-ratio", "0", "-allow", "1e-10", "-increment", "1e-9", "-integerT", "1e-9", "-primalT", "1e-9"]

# The largest gain is scaled to this, so that CBC's absolute tolerances mean the same whatever the rewards' unit is.
_LARGEST_GAIN = 1e3

# PuLP writes 13 significant digits: larger numbers would not be the problem's.
_LARGEST_AMOUNT = 10**12

_GRACE_SECONDS = 2.0


class CbcSolver(Solver):
    """The integer programme of TAPE eq. 6-11, modelled with PuLP and solved by CBC in a child process.

    PuLP writes the model and reads the answer; the child is run here, because PuLP would wait for it without limit: it
    is killed if it overruns the time limit or if this process is interrupted, and its files are removed. CBC
    calculates in floating point: OPTIMAL means within about 1e-6 of the largest gain. Ties are broken in no particular
    way.
    """

    name: ClassVar[str] = "pulp:cbc"
    summary: ClassVar[str] = "CBC through PuLP on the time-expanded graph (alias: pulp)"

    @classmethod
    def unavailable_reason(cls) -> str | None:
        """Whether PuLP is installed."""
        return missing_package("pulp", "pip install 'pulp<4'")

    def _solve(self, problem: PathProblem, time_limit: float | None) -> PathSolution:
        deadline = Deadline(time_limit)
        graph = expand(problem)
        if not graph.arcs:
            return without_walk(Status.INFEASIBLE, message="no terminal can be reached within horizon and budgets")
        if max(graph.budgets, default=0) > _LARGEST_AMOUNT:
            raise BackendError(f"CBC is exact for budgets up to {_LARGEST_AMOUNT} only; use a coarser resolution")
        status, chosen = _run(*_model(problem, graph), time_limit)
        if deadline.passed():
            status = _CUT_SHORT.get(status, status)
        if status is Status.INFEASIBLE:
            return without_walk(status)
        if status is Status.TIMEOUT:
            return without_walk(status, graph.bound)
        return with_walk(problem, graph.edges_of(chosen), status, graph.bound if status is Status.FEASIBLE else None)


def _model(problem: PathProblem, graph: TimeExpanded) -> tuple[Any, list[Any]]:
    """PuLP's model and its variables, one for each arc."""
    import pulp

    model = pulp.LpProblem("walk", pulp.LpMaximize)
    arcs = [model.add_variable(f"a{index}", cat=pulp.LpBinary) for index in range(len(graph.arcs))]
    largest = max(abs(arc.gain) for arc in graph.arcs) or 1.0
    gains = [arc.gain / largest * _LARGEST_GAIN for arc in graph.arcs]
    model += pulp.LpAffineExpression(zip(arcs, gains, strict=True))
    for (step, node), (entering, leaving) in graph.flow().items():
        terms = [*((arcs[i], 1) for i in leaving), *((arcs[i], -1) for i in entering)]
        model += pulp.LpAffineExpression(terms) == int((step, node) == (0, problem.start))
    for k, budget in enumerate(graph.budgets):
        model += pulp.LpAffineExpression((arcs[i], arc.costs[k]) for i, arc in enumerate(graph.arcs)) <= budget
    return model, arcs


def _run(model: Any, arcs: list[Any], time_limit: float | None) -> tuple[Status, list[int]]:
    """Runs CBC on the model; the status, and the indices of the arcs that are in the walk."""
    import pulp

    # COIN_CMD with the bundled binary is what PULP_CBC_CMD is, without its deprecation warning.
    reader = pulp.COIN_CMD(path=pulp.PULP_CBC_CMD.pulp_cbc_path, msg=False)
    if not reader.available():
        raise BackendError(f"the CBC that PuLP bundles cannot be executed: {reader.path}")
    with tempfile.TemporaryDirectory(prefix="tape-cbc-") as folder:
        model_file, solution_file = Path(folder) / "model.mps", Path(folder) / "model.sol"
        variables, variable_names, row_names, _ = model.writeMPS(str(model_file), rename=1)
        limit = [] if time_limit is None else ["-sec", str(time_limit), "-timeMode", "elapsed"]
        # "-max": an MPS file has no direction of its own, and CBC minimises unless told.
        command = [reader.path, str(model_file), "-max", *limit, *_TIGHT, "-threads", "0", "-solve"]
        command += ["-printingOptions", "all", "-solution", str(solution_file)]
        try:
            ended = subprocess.run(  # noqa: S603 - no shell; the binary is PuLP's own, the files are ours
                command,
                check=False,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=None if time_limit is None else time_limit + _GRACE_SECONDS,
            )
        except subprocess.TimeoutExpired:
            return Status.TIMEOUT, []
        if ended.returncode != 0 or not solution_file.exists():
            raise BackendError(f"CBC ended with code {ended.returncode}: {ended.stdout[-300:]!r}")
        outcome, values, _, _, _, sol_status = reader.readsol_MPS(
            str(solution_file), model, variables, variable_names, row_names
        )
    named = pulp.LpStatus[outcome], pulp.LpSolution[sol_status]
    status = _STATUS.get(named)
    if status is None or (status is Status.TIMEOUT and time_limit is None):
        raise BackendError(f"CBC ended in a way that is no answer: {', '.join(named)}")
    return status, [index for index, arc in enumerate(arcs) if values[arc.name] > 0.5]
