"""Exact selection of the best walk through a plan graph under hard budgets.

    problem = PathProblem(n_nodes=3, edges=[(0, 1), (1, 2)], rewards=[0, 0, 1], costs=[[2], [3]], budgets=[5],
                          start=0, terminals=[2], horizon=4)
    solution = solve(problem)              # exact, pure Python and NumPy
    solution = solve(problem, "cp-sat")    # the same problem, another backend

Importing this package imports no backend.
"""

from solvers.api import solve
from solvers.base import Solver
from solvers.check import check, consumption_of, objective_of
from solvers.errors import BackendError, ProblemError, SolverError, SolverUnavailableError, UnknownSolverError
from solvers.problem import PathProblem
from solvers.registry import SolverInfo, available, get
from solvers.solution import PathSolution, Status

__all__ = [
    "BackendError",
    "PathProblem",
    "PathSolution",
    "ProblemError",
    "Solver",
    "SolverError",
    "SolverInfo",
    "SolverUnavailableError",
    "Status",
    "UnknownSolverError",
    "available",
    "check",
    "consumption_of",
    "get",
    "objective_of",
    "solve",
]
