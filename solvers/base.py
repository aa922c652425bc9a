"""The base class of all solvers, and how to add one.

A backend is one file with one class, for example `scip.py`:

    class ScipSolver(Solver):
        name = "my:scip"
        summary = "SCIP through its own Python interface"

        @classmethod
        def unavailable_reason(cls) -> str | None:
            return missing_package("pyscipopt", "pip install pyscipopt")

        def _solve(self, problem: PathProblem, time_limit: float | None) -> PathSolution:
            import pyscipopt                              # heavy imports only here
            ...
            return with_walk(problem, edges, Status.OPTIMAL)    # or without_walk(Status.INFEASIBLE)

and one entry point in the distribution that carries it:

    [project.entry-points."tape.solvers"]
    "my:scip" = "my_package.scip:ScipSolver"

`solvers.solve(problem, "my:scip")` then finds it. `solvers.answer` derives nodes, objective and consumption from the
edges; `solvers.time_expanded` offers the arcs of the integer programme, already pruned. `solvers.solve` does the rest
for every backend alike: it times, turns the backend's exceptions into ERROR, and re-verifies the answer.

The conformance suite is inherited by a test class of two lines:

    class TestScip(SolverConformance):                    # from tests/solvers/conformance.py
        name = "my:scip"
"""

from __future__ import annotations

import importlib.util
from abc import ABC, abstractmethod
from typing import ClassVar

from solvers.problem import PathProblem
from solvers.solution import PathSolution


class Solver(ABC):
    """A backend. Solvers hold no state between solves and may be used from several threads.

    Attributes:
        name: The name under which it is registered.
        summary: One line on what it is.
        handles_risk: Whether it keeps `PathProblem.risk`; `solvers.solve` refuses a risky problem where it does not.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    handles_risk: ClassVar[bool] = False

    @classmethod
    def unavailable_reason(cls) -> str | None:
        """Why the solver cannot run here, naming what to install, or None. Must be cheap: no heavy import."""
        return None

    @abstractmethod
    def _solve(self, problem: PathProblem, time_limit: float | None) -> PathSolution:
        """Answers the problem; called by `solvers.solve` only, which fills in `seconds` and `solver`.

        Args:
            problem: A well-formed problem.
            time_limit: Positive seconds of wall time, or None for no limit.

        Returns:
            An answer that `solvers.check` accepts. One that the time limit cut short is FEASIBLE or TIMEOUT, never
            OPTIMAL and never INFEASIBLE.
        """


def missing_package(module: str, remedy: str) -> str | None:
    """The reason for `unavailable_reason` if `module` cannot be found, else None.

    Args:
        module: A top-level module; it is looked up, not imported.
        remedy: What to do, e.g. `pip install ortools`.
    """
    if importlib.util.find_spec(module) is None:
        return f"the package {module!r} is not installed; {remedy}"
    return None
