"""Exact selection of the best path through a plan graph under hard budgets.

    problem = PathProblem(n_nodes=3, edges=[(0, 1), (1, 2)], rewards=[0, 0, 1], costs=[[2], [3]], budgets=[5],
                          start=0, terminals=[2], horizon=4)
    solution = solve(problem)              # exact; compiled, or in Python where that was not built
    solution = solve(problem, "cp-sat")    # the same problem, another backend
    paths = k_best(problem, 3)             # the three best, in order
    curve = frontier(problem, ("r0", "objective"))  # all paths of which none is both cheaper and better
    need = next_budget(problem, "r0")      # the least larger budget that has a better best path
    print(explain(problem))                # which limit is short where there is no path, and what would do

    path = shortest_path(graph, "a", "z", {"time": 10})     # any networkx graph: the cheapest path within limits
    plan = schedule(ScheduleProblem(steps, after, ...))     # which variant of each step, and when

Rewards are earned at every step up to the horizon (`objective="stay"`) or once a visit (`"visit"`).

Importing this package imports no backend, and no NumPy; some names are resolved when they are first used.
"""

from typing import TYPE_CHECKING, Any

from solvers.api import solve
from solvers.base import Solver
from solvers.check import check, consumption_of, objective_of
from solvers.errors import (
    BackendError,
    EndlessError,
    FileFormatError,
    ProblemError,
    RiskUnsupportedError,
    SolverError,
    SolverUnavailableError,
    UnknownSolverError,
)
from solvers.explain import explain
from solvers.explanation import Explanation
from solvers.frontier import Frontier, frontier
from solvers.k_best import KBest, k_best
from solvers.moves import enough_moves
from solvers.needs import Cause, Joint, Need
from solvers.next_budget import next_budget
from solvers.problem import PathProblem
from solvers.registry import SolverInfo, available, get
from solvers.risk import Assumption, Risk
from solvers.solution import PathSolution, Status

if TYPE_CHECKING:
    from solvers.rcsp.problem import RcspProblem
    from solvers.rcsp.reading import read_rcsp
    from solvers.rcsp.shortest import ShortestPath, ShortestPaths, shortest_path, shortest_paths
    from solvers.scheduling.api import schedule
    from solvers.scheduling.check import check_schedule
    from solvers.scheduling.placing import critical_steps
    from solvers.scheduling.problem import Schedule, ScheduleProblem, Variant

_WHERE = {
    "RcspProblem": "solvers.rcsp.problem",
    "Schedule": "solvers.scheduling.problem",
    "ScheduleProblem": "solvers.scheduling.problem",
    "ShortestPath": "solvers.rcsp.shortest",
    "ShortestPaths": "solvers.rcsp.shortest",
    "Variant": "solvers.scheduling.problem",
    "check_schedule": "solvers.scheduling.check",
    "critical_steps": "solvers.scheduling.placing",
    "read_rcsp": "solvers.rcsp.reading",
    "schedule": "solvers.scheduling.api",
    "shortest_path": "solvers.rcsp.shortest",
    "shortest_paths": "solvers.rcsp.shortest",
}

__all__ = [
    "Assumption",
    "BackendError",
    "Cause",
    "EndlessError",
    "Explanation",
    "FileFormatError",
    "Frontier",
    "Joint",
    "KBest",
    "Need",
    "PathProblem",
    "PathSolution",
    "ProblemError",
    "RcspProblem",
    "Risk",
    "RiskUnsupportedError",
    "Schedule",
    "ScheduleProblem",
    "ShortestPath",
    "ShortestPaths",
    "Solver",
    "SolverError",
    "SolverInfo",
    "SolverUnavailableError",
    "Status",
    "UnknownSolverError",
    "Variant",
    "available",
    "check",
    "check_schedule",
    "consumption_of",
    "critical_steps",
    "enough_moves",
    "explain",
    "frontier",
    "get",
    "k_best",
    "next_budget",
    "objective_of",
    "read_rcsp",
    "schedule",
    "shortest_path",
    "shortest_paths",
    "solve",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = globals()[name] = getattr(importlib.import_module(_WHERE[name]), name)
    return value
