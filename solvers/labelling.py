"""`labelling`: our own exact, anytime solver; dynamic programming, then label setting where a budget binds."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from solvers.answer import with_walk, without_walk
from solvers.base import Solver
from solvers.bounds import best_walk, least_costs, priced_bound
from solvers.deadline import Deadline
from solvers.network import REACHABLE, Network, build_network
from solvers.prices import search_prices
from solvers.problem import PathProblem
from solvers.solution import PathSolution, Status
from solvers.sweep import Completions, Incumbent, better, sweep

_FIRST_WIDTH = 64
_GROWTH = 8


class LabellingSolver(Solver):
    """Exact walk selection without an external solver (TAPE eq. 6-11 and 15-16).

    1. The unbudgeted dynamic programme. If its best walk keeps the budgets, it is the answer.
    2. Bounds on completions: the least each resource must cost, and prices from the Lagrangian dual.
    3. Label setting with dominance, pruned by those bounds, in sweeps whose beam widens eightfold until a sweep drops
       nothing that could win; that sweep is the proof. Each sweep improves the incumbent and the bound.

    The tie-break is honoured: equal objectives, then fewer moves, then the lexicographically smallest `edges`. Which
    objectives are equal is exact; `build_network` says how. The answer does not depend on the time limit, unless the
    limit ends it: then it is FEASIBLE or TIMEOUT, with the best bound so far.
    """

    name: ClassVar[str] = "labelling"
    summary: ClassVar[str] = "exact and anytime; dynamic programming and label setting (default)"

    def _solve(self, problem: PathProblem, time_limit: float | None) -> PathSolution:
        deadline = Deadline(time_limit)
        if any(budget < 0 for budget in problem.budgets):
            return without_walk(Status.INFEASIBLE, message="a budget is negative")
        network = build_network(problem)
        free = priced_bound(network, np.zeros(len(network.budgets), dtype=np.int64))
        if free.values[0, network.start] <= REACHABLE:
            return without_walk(Status.INFEASIBLE, message="no terminal can be reached within the horizon")
        slots = best_walk(network, free)
        if (network.costs[slots].sum(axis=0) <= network.budgets).all():
            return with_walk(problem, network.edges_of(slots), Status.OPTIMAL)
        least = least_costs(network)
        if (least[0, network.start] > network.budgets).any():
            return without_walk(Status.INFEASIBLE, message="every walk exceeds a budget")
        priced = search_prices(network, free, deadline)
        incumbent = None
        for walk in priced.walks:
            incumbent = better(network, incumbent, Incumbent(_score(network, walk), walk))
        return _widen(problem, network, Completions([free, *priced.bounds], least, priced.value), incumbent, deadline)


def _widen(
    problem: PathProblem,
    network: Network,
    known: Completions,
    incumbent: Incumbent | None,
    deadline: Deadline,
) -> PathSolution:
    """Sweeps with a beam that widens until the incumbent is proved best, or the time is up."""
    width, limit = _FIRST_WIDTH, known.limit
    while True:
        result = sweep(network, known, width, incumbent, deadline)
        incumbent = result.incumbent
        if not result.finished:
            break
        reached = REACHABLE if incumbent is None else incumbent.score
        if result.dropped < reached:
            if incumbent is None:
                return without_walk(Status.INFEASIBLE, message="no walk keeps all budgets at once")
            return with_walk(problem, network.edges_of(incumbent.slots), Status.OPTIMAL)
        limit = min(limit, max(reached, result.dropped))
        width *= _GROWTH
    bound = network.objective_bound(limit)
    if incumbent is None:
        return without_walk(Status.TIMEOUT, bound)
    return with_walk(problem, network.edges_of(incumbent.slots), Status.FEASIBLE, bound)


def _score(network: Network, walk: tuple[int, ...]) -> int:
    """The score of a walk that ends at a terminal."""
    moves = sum(int(network.move[step, network.heads[slot]]) for step, slot in enumerate(walk))
    last = int(network.heads[walk[-1]]) if walk else network.start
    return moves + int(network.stay[len(walk), last])
