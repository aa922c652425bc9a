"""Path selection where the compiled search cannot run: the problem expanded in time, for the plain search.

A state is a node at a step. An arc from one step to the next is a move. An arc to the target ends the path and stands
for all the stays up to the horizon. A path costs minus its exact score, so that ties are those of other solvers.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from solvers.deadline import Deadline
from solvers.errors import LateError
from solvers.found import Ending, Found
from solvers.grid import most_objective
from solvers.network import REACHABLE, Network, build_network
from solvers.problem import PathProblem
from solvers.rcsp.plain import searched
from solvers.rcsp.plain_bounds import Net
from solvers.time_expanded import in_layers

_ARC_BYTES = 1_000
"""What an arc takes, in arrays and in lists."""

_END = -1
"""The edge that an arc is named by which ends a path."""

_ROOM = 2**56
"""Priced costs are no more than this, where prices can be so coarse: they have to stay within 64 bits."""


def search(problem: PathProblem, deadline: Deadline) -> Found:
    """Finds the best path, of equal ones that of the smallest edges.

    Args:
        problem: A problem whose budgets are not negative.
        deadline: When to come back with what there is.

    Raises:
        TooLargeError: If tables or arcs would take too much memory.
    """
    began = time.perf_counter()
    try:
        network = build_network(problem, deadline)
        net, best = _net(network, deadline)
    except LateError:
        return Found(Ending.OUT_OF_TIME, [], most_objective(problem), seconds=time.perf_counter() - began)
    if net is None:
        found = Found(Ending.INFEASIBLE if best > REACHABLE else Ending.UNREACHABLE, [])
    else:
        found = searched(net, 1, deadline, ties=True)
    score = best if found.bound is None else min(best, -int(found.bound))
    return replace(
        found,
        paths=[tuple(edge for edge in path if edge != _END) for path in found.paths],
        bound=network.objective_bound(score),
        seconds=time.perf_counter() - began,
        arcs=0 if net is None else len(net.tails),
        steps=network.horizon,
    )


def _net(network: Network, deadline: Deadline) -> tuple[Net | None, int]:
    """The expanded graph, None where no path keeps each budget by itself; and the best score, whatever the budgets."""
    layers, best = in_layers(network, _ARC_BYTES, deadline)
    n, count = len(network.is_terminal), len(network.budgets)
    target = n * (network.horizon + 1)
    tail = np.repeat(np.arange(n), network.degree)
    parts = []
    for step, (ends, slots) in enumerate(layers):
        deadline.check()
        heads = network.heads[slots]
        parts.append(
            (
                np.concatenate([step * n + tail[slots], step * n + ends]),
                np.concatenate([(step + 1) * n + heads, np.full(len(ends), target)]),
                -np.concatenate([network.move(step)[heads] if len(slots) else heads, network.stay(step)[ends]]),
                np.concatenate([network.costs[slots], np.zeros((len(ends), count), dtype=network.costs.dtype)]),
                np.concatenate([network.edge_ids[slots], np.full(len(ends), _END)]),
                np.full(len(slots) + len(ends), step),
            )
        )
    tails, heads, cost, use, ids, at = (np.concatenate(column) for column in zip(*parts, strict=True))
    if not (heads == target).any():
        return None, best
    names, numbers = np.unique(np.concatenate([tails, heads]), return_inverse=True)
    net = Net(
        n=len(names), tails=numbers[: len(tails)], heads=numbers[len(tails) :], cost=cost, use=use,
        lower=np.zeros(count, dtype=np.int64), upper=network.budgets, limited=np.ones(count, dtype=np.bool_), source=0,
        target=len(names) - 1, ids=ids, behind=np.zeros((len(names), count), dtype=np.int64), chances=network.chances,
        layers=at,
    )  # fmt: skip
    return replace(net, scale=min(net.scale, max(1, _ROOM // net.farthest(cost)))), best
