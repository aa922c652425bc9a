"""Budgets that bind by a stated share, and the size of a walk problem: what the solver instances are described by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers import PathProblem, consumption_of, solve

SLACK = 0.02
"""How much above the least feasible share a budget is set that had to be raised."""

_WEIGHTINGS = 12


@dataclass(frozen=True)
class Budgeted:
    """A problem with budgets and how tight they are.

    Attributes:
        problem: The problem.
        share: Each budget is this share of what the unbudgeted optimum uses, rounded down; the same for all resources.
        asked: The share that was asked for.
        use: K ints, what the unbudgeted optimum uses.
    """

    problem: PathProblem
    share: float
    asked: float
    use: tuple[int, ...]


def with_budgets(problem: PathProblem, fraction: float) -> Budgeted:
    """Sets each budget to a share of what the unbudgeted optimum consumes.

    The optimum is the one that `labelling` picks, so the budgets are the same on every machine. Where the share leaves
    no walk that we know of, it is raised for all resources alike, to `SLACK` above the least share that a known walk
    keeps: the walk is the best of `_WEIGHTINGS` cheapest walks for different weightings of the resources. So the
    problem is always feasible; the share may stay above 1 only if it was asked to.

    Args:
        problem: A problem with costs; its budgets are ignored. A terminal must be within reach.
        fraction: The share asked for, above 0; 1 or more makes budgets that do not bind.

    Raises:
        ValueError: If no terminal can be reached in time.
    """
    count = len(problem.budgets)
    free = solve(replace(problem, costs=(), budgets=(), resources=()))
    if not free.has_path:
        raise ValueError(f"no unbudgeted walk: {free.status} {free.message}")
    use = consumption_of(problem, free.edges)
    share = fraction
    if count and fraction < 1:
        share = max(fraction, min(1.0, _least_share(problem, use) + SLACK))
    budgets = [math.floor(share * amount) for amount in use]
    return Budgeted(replace(problem, budgets=budgets), share, fraction, use)


def _least_share(problem: PathProblem, use: Sequence[int]) -> float:
    """The least share of `use` that one of the cheapest walks keeps in every resource; at most 1."""
    scale = np.array([max(1, amount) for amount in use], dtype=float)
    costs = np.array(problem.costs, dtype=float).reshape(len(problem.edges), len(use)) / scale
    weights, best = np.full(len(use), 1 / len(use)), 1.0
    for _ in range(_WEIGHTINGS):
        spent = costs[_cheapest(problem, costs @ weights)].sum(axis=0)
        best = min(best, float(spent.max()))
        weights = weights * np.exp(2 * (spent - spent.max()))  # what the walk spends most of becomes dearer
        weights /= weights.sum()
    return best


def _cheapest(problem: PathProblem, prices: NDArray[Any]) -> list[int]:
    """The edges of the cheapest walk to a terminal within the horizon."""
    tails, heads = _ends(problem)
    left = np.full(problem.n_nodes, math.inf)
    left[list(problem.terminals)] = 0
    rows = [left]
    for _ in range(problem.horizon):
        row = rows[-1].copy()  # a walk may end early, so more steps never cost more
        np.minimum.at(row, tails, prices + rows[-1][heads])
        rows.append(row)
    rows.reverse()
    out: dict[int, list[int]] = {}
    for edge, tail in enumerate(tails.tolist()):
        out.setdefault(tail, []).append(edge)
    walk: list[int] = []
    node = problem.start
    for step in range(problem.horizon):
        options = out.get(node, [])
        if node in problem.terminals and rows[step][node] == 0:
            break
        choice = min(options, key=lambda edge: float(prices[edge] + rows[step + 1][heads[edge]]))
        walk.append(choice)
        node = int(heads[choice])
    return walk


def edge_steps(problem: PathProblem) -> int:
    """How many pairs (step, edge) can be part of a walk, budgets aside: the size of the time-expanded graph.

    Counted are those whose tail can be reached from the start in exactly that many steps, and from whose head a
    terminal can be reached in the steps that are left.
    """
    tails, heads = _ends(problem)
    completes = np.zeros((problem.horizon + 1, problem.n_nodes), dtype=bool)
    completes[:, list(problem.terminals)] = True
    for step in range(problem.horizon - 1, -1, -1):
        completes[step, tails[completes[step + 1, heads]]] = True
    reached = np.zeros(problem.n_nodes, dtype=bool)
    reached[problem.start] = True
    count = 0
    for step in range(problem.horizon):
        usable = reached[tails] & completes[step + 1, heads]
        count += int(usable.sum())
        reached = np.zeros(problem.n_nodes, dtype=bool)
        reached[heads[usable]] = True
    return count


def _ends(problem: PathProblem) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    ends = np.array(problem.edges, dtype=np.int64).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]
