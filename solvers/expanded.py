"""Path selection where the compiled search cannot run: the problem expanded in time, for the search in Python."""

from __future__ import annotations

import time

from solvers.deadline import SolveDeadline
from solvers.errors import LateError
from solvers.found import Ending, Found
from solvers.grid import doubt, most_objective
from solvers.problem import PathProblem
from solvers.rcsp.plain import searched
from solvers.reach import distances
from solvers.time_expanded import END, states_of

_ARC_BYTES = 1_000
"""What an arc takes, in arrays and in lists."""


def search(problem: PathProblem, deadline: SolveDeadline) -> Found:
    """Finds the best path, of equal ones that of the smallest edges, of a problem whose budgets are not negative."""
    began = time.perf_counter()
    result, bound, steps, lost = Found(Ending.OUT_OF_TIME, []), most_objective(problem), 0, 0.0
    try:
        states = states_of(problem, _ARC_BYTES, deadline)
        steps, lost = states.grid.moves, doubt(problem, states.grid)
        if states.net is None:
            moves = distances(problem, deadline)
            reached = any(moves.get(terminal, problem.steps + 1) <= problem.steps for terminal in problem.terminals)
            result = Found(Ending.INFEASIBLE if reached else Ending.UNREACHABLE, [])
        else:
            result = searched(states.net, 1, deadline, ties=True)
            bound = bound if result.bound is None else states.objective_bound(-int(result.bound))
    except LateError:
        pass
    paths = [tuple(edge for edge in path if edge != END) for path in result.paths]
    return result._replace(paths=paths, bound=bound, seconds=time.perf_counter() - began, steps=steps, doubt=lost)
