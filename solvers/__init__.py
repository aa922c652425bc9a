"""Exact selection of the best walk through a plan graph under hard budgets.

    problem = PathProblem(n_nodes=3, edges=[(0, 1), (1, 2)], rewards=[0, 0, 1], costs=[[2], [3]], budgets=[5],
                          start=0, terminals=[2], horizon=4)
    solution = solve(problem)              # exact; compiled, or in NumPy where that was not built
    solution = solve(problem, "cp-sat")    # the same problem, another backend
    walks = k_best(problem, 3)             # the three best, in order
    session = Session()                    # a sequence of related problems: bounds are kept
    print(explain(problem))                # which limit is short where there is no walk, and what would do

Rewards are earned at every step up to the horizon (`objective="stay"`) or once a visit (`"visit"`).

Importing this package imports no backend.
"""

from solvers.api import solve
from solvers.base import Solver
from solvers.check import check, consumption_of, objective_of, variance_of
from solvers.errors import (
    BackendError,
    EndlessError,
    ProblemError,
    RiskUnsupportedError,
    SolverError,
    SolverUnavailableError,
    UnknownSolverError,
    UnsupportedProblemError,
)
from solvers.explain import explain
from solvers.explanation import Cause, Explanation, Joint, Need
from solvers.k_best import KBest, k_best
from solvers.moves import enough_moves
from solvers.problem import PathProblem
from solvers.registry import SolverInfo, available, get
from solvers.risk import Assumption, Risk
from solvers.session import Session
from solvers.solution import PathSolution, Status

__all__ = [
    "Assumption",
    "BackendError",
    "Cause",
    "EndlessError",
    "Explanation",
    "Joint",
    "KBest",
    "Need",
    "PathProblem",
    "PathSolution",
    "ProblemError",
    "Risk",
    "RiskUnsupportedError",
    "Session",
    "Solver",
    "SolverError",
    "SolverInfo",
    "SolverUnavailableError",
    "Status",
    "UnknownSolverError",
    "UnsupportedProblemError",
    "available",
    "check",
    "consumption_of",
    "enough_moves",
    "explain",
    "get",
    "k_best",
    "objective_of",
    "solve",
    "variance_of",
]
