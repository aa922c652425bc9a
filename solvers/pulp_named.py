"""`pulp:NAME`: any other solver that PuLP knows, by PuLP's own name in lower case, where PuLP finds it installed."""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from solvers.errors import BackendError
from solvers.problem import PathProblem
from solvers.pulp_model import PulpSolver, Stopwatch
from solvers.pulp_survey import PREFIX, survey
from solvers.solution import PathSolution, Status
from solvers.worker import Option

# They search to a gap of 0 without being asked to.
_GAPLESS = {"GLPK_CMD", "PYGLPK", "CHOCO_CMD"}

# CBC's parallel mode with one thread waits 10 seconds for nothing now and then (3 of 300 small problems); without the
# option it has one thread and does not.
_ONE_THREAD_ANYWAY = {"COIN_CMD"}


class PulpNamedSolver(PulpSolver):
    """A solver that PuLP knows by name.

    It is taken at PuLP's word, as far as that goes: where PuLP offers no way to ask it for a gap of 0, an answer that
    it calls optimal is FEASIBLE here.

    Args:
        pulp_name: PuLP's own name.
    """

    def __init__(self, pulp_name: str) -> None:
        super().__init__(pulp_name=pulp_name)
        self._pulp_name = pulp_name

    def _recipe(self) -> tuple[str, Mapping[str, Option]]:
        return f"{__name__}:{PulpNamedSolver.__qualname__}", self._options  # `named` makes classes as it goes

    def _configured(self, time_limit: float | None, watch: Stopwatch) -> Any:  # noqa: ARG002 - it could be any solver
        import pulp

        whole = None if time_limit is None else max(1, math.floor(time_limit))  # some take whole seconds only
        wanted = {"msg": False, "threads": 1, "gapRel": 0.0, "gapAbs": 0.0, "timeLimit": whole}
        accepted = set(self._accepted()) - ({"threads"} if self._pulp_name in _ONE_THREAD_ANYWAY else set())
        solver = pulp.getSolver(self._pulp_name, **{key: wanted[key] for key in wanted if key in accepted})
        if not solver.available():
            raise BackendError(f"PuLP does not find {self._pulp_name} installed")
        return solver

    def _search(self, problem: PathProblem, time_limit: float | None) -> PathSolution:
        found = super()._search(problem, time_limit)
        if found.status is Status.OPTIMAL and "gapRel" not in self._accepted() and self._pulp_name not in _GAPLESS:
            return replace(found, status=Status.FEASIBLE, bound=None)
        return found

    def _accepted(self) -> Collection[str]:
        """The arguments that PuLP's class takes by name."""
        import pulp

        return inspect.signature(type(pulp.getSolver(self._pulp_name))).parameters


def named(name: str) -> type[PulpSolver]:
    """The class of a solver that PuLP knows.

    Args:
        name: `pulp:` and the lower-case name.

    Raises:
        BackendError: If PuLP knows none of this name, or cannot be asked.
    """
    asked, short = survey(), name.removeprefix(PREFIX)
    if short not in asked.known:
        raise BackendError(asked.fault or f"PuLP knows no solver called {short!r}")
    pulp_name = asked.known[short]

    class Named(PulpNamedSolver):
        def __init__(self) -> None:
            super().__init__(pulp_name)

        @classmethod
        def unavailable_reason(cls) -> str | None:
            return None if short in asked.installed else f"PuLP does not find {pulp_name} installed"

    Named.name, Named.summary = name, f"{pulp_name} through PuLP on the time-expanded graph"
    return Named
