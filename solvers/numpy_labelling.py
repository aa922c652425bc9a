"""Labelling in plain NumPy: dynamic programming, then label setting where a budget binds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from solvers.answer import with_path, without_path
from solvers.bounds import best_path, least_costs, priced_bound
from solvers.deadline import Deadline
from solvers.errors import LateError, TooLargeError
from solvers.grid import most_objective
from solvers.network import REACHABLE, Network, build_network
from solvers.numpy_prices import search_prices
from solvers.numpy_sweep import Completions, Incumbent, better, sweep
from solvers.problem import PathProblem
from solvers.solution import PathSolution, Status

_FIRST_WIDTH = 64
_GROWTH = 8


def solve_numpy(problem: PathProblem, time_limit: float | None) -> PathSolution:
    """Exact path selection in NumPy: what the compiled path must agree with, and what runs where that is missing.

    1. The unbudgeted dynamic programme. If its best path keeps the budgets, it is the answer.
    2. Bounds on completions: the least each resource must cost, and prices from the Lagrangian dual.
    3. Label setting with dominance, pruned by those bounds, in sweeps whose beam widens eightfold until a sweep drops
       nothing that could win; that sweep is the proof. Each sweep improves the incumbent and the bound.

    Args:
        problem: A well-formed problem.
        time_limit: Positive seconds, or None.
    """
    if any(budget < 0 for budget in problem.budgets):
        return without_path(Status.INFEASIBLE, message="a budget is negative")
    deadline = Deadline(time_limit)
    try:
        network = build_network(problem, deadline)
        free = priced_bound(network, np.zeros(len(network.budgets), dtype=np.int64), deadline)
    except LateError:
        return without_path(Status.TIMEOUT, most_objective(problem))
    if free.values[0, network.start] <= REACHABLE:
        return without_path(Status.INFEASIBLE, message="no terminal can be reached within the horizon")
    slots = best_path(network, free)
    if _keeps(network, slots):
        return with_path(problem, network.edges_of(slots), Status.OPTIMAL)
    try:
        least = least_costs(network, deadline)
    except LateError:
        return without_path(Status.TIMEOUT, network.objective_bound(int(free.values[0, network.start])))
    if (least[0, network.start] > network.budgets).any():
        return without_path(Status.INFEASIBLE, message="every path exceeds a budget")
    priced = search_prices(network, free, deadline)
    incumbent = None
    for path in filter(lambda path: _keeps(network, path), priced.paths):
        incumbent = better(network, incumbent, Incumbent(_score(network, path), path))
    return _widen(problem, network, Completions([free, *priced.bounds], least, priced.value), incumbent, deadline)


def _widen(
    problem: PathProblem, network: Network, known: Completions, incumbent: Incumbent | None, deadline: Deadline
) -> PathSolution:
    """Sweeps with a beam that widens until the incumbent is proved best, or the time is up."""
    width, limit, refusal = _FIRST_WIDTH, known.limit, ""
    while True:
        try:
            result = sweep(network, known, width, incumbent, deadline)
        except TooLargeError as error:
            if incumbent is None:
                raise
            refusal = str(error)
            break
        incumbent = result.incumbent
        if not result.finished:
            break
        reached = REACHABLE if incumbent is None else incumbent.score
        if result.dropped < reached:
            if incumbent is None:
                return without_path(Status.INFEASIBLE, message="no path keeps all budgets at once")
            return with_path(problem, network.edges_of(incumbent.slots), Status.OPTIMAL)
        limit = min(limit, max(reached, result.dropped))
        width *= _GROWTH
    bound = network.objective_bound(limit)
    if incumbent is None:
        return without_path(Status.TIMEOUT, bound)
    return replace(with_path(problem, network.edges_of(incumbent.slots), Status.FEASIBLE, bound), message=refusal)


def _keeps(network: Network, path: Sequence[int]) -> bool:
    used = network.costs[list(path)].sum(axis=0)
    return bool((used <= network.budgets).all() and network.passes(used[None, :])[0])


def _score(network: Network, path: tuple[int, ...]) -> int:
    """The score of a path that ends at a terminal."""
    moves = sum(int(network.move(step)[network.heads[slot]]) for step, slot in enumerate(path))
    last = int(network.heads[path[-1]]) if path else network.start
    return moves + int(network.stay(len(path))[last])
