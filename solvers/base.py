"""The base class of all solvers. See `docs/reference/solvers.md` for how to add one, and the suite it inherits."""

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

    Examples:
        >>> from solvers import PathProblem, Solver, Status, solve
        >>> from solvers.answer import with_path
        >>> class StandStill(Solver):
        ...     name, summary = "stand-still", "answers with the empty path"
        ...     def _solve(self, problem, time_limit):
        ...         return with_path(problem, (), Status.FEASIBLE)
        >>> problem = PathProblem(1, [], rewards=[0], costs=[], budgets=[5], start=0, terminals=[0], horizon=1)
        >>> answer = solve(problem, StandStill())
        >>> answer.status.value, answer.nodes, answer.solver
        ('FEASIBLE', (0,), 'stand-still')
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


def missing_package(module: str, remedy: str = "pip install 'tape-planner[solvers]'") -> str | None:
    """The reason for `unavailable_reason` if `module` cannot be found, else None.

    Args:
        module: A top-level module; it is looked up, not imported.
        remedy: What to do, e.g. `pip install ortools`; unless given, to install this distribution's own solvers.
    """
    if importlib.util.find_spec(module) is None:
        return f"it needs the package {module!r}, which is not installed: {remedy}"
    return None
