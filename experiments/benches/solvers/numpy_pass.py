"""The yardstick that needs no competitor: one plain backward pass over an instance's edge-steps in NumPy."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers import PathProblem


@dataclass(frozen=True)
class _Layer:
    """The edges that can be used at a step, by tail: where they lead, and where each tail's edges begin."""

    heads: NDArray[Any]
    tails: NDArray[Any]
    first: NDArray[Any]


def pass_seconds(problem: PathProblem, repeats: int = 5) -> float:
    """The least time of several passes of the unbudgeted dynamic programme.

    Only the (step, edge) pairs that can be part of a walk are passed over, and finding them is not timed: the strictest
    form of this unit.

    Args:
        problem: A problem with a terminal within reach.
        repeats: How many passes.
    """
    layers = _layers(problem)
    rewards = np.array(problem.rewards)
    weights = problem.discount ** np.arange(problem.horizon, dtype=float)
    left = np.append(np.cumsum(weights[::-1])[::-1], 0.0)
    terminals = np.array(problem.terminals)
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        value = np.full(problem.n_nodes, -np.inf)
        value[terminals] = 0.0
        for step in range(problem.horizon - 1, -1, -1):
            row, layer = np.full(problem.n_nodes, -np.inf), layers[step]
            if len(layer.heads):
                through = (weights[step] * rewards + value)[layer.heads]
                row[layer.tails] = np.maximum.reduceat(through, layer.first)
            row[terminals] = np.maximum(row[terminals], left[step] * rewards[terminals])
            value = row
        times.append(time.perf_counter() - began)
    return min(times)


def _layers(problem: PathProblem) -> list[_Layer]:
    ends = np.array(problem.edges, dtype=np.int64).reshape(-1, 2)
    ends = ends[np.argsort(ends[:, 0], kind="stable")]
    tails, heads = ends[:, 0], ends[:, 1]
    completes = np.zeros((problem.horizon + 1, problem.n_nodes), dtype=bool)
    completes[:, list(problem.terminals)] = True
    for step in range(problem.horizon - 1, -1, -1):
        completes[step, tails[completes[step + 1, heads]]] = True
    reached = np.zeros(problem.n_nodes, dtype=bool)
    reached[problem.start] = True
    layers = []
    for step in range(problem.horizon):
        usable = np.flatnonzero(reached[tails] & completes[step + 1, heads])
        starts, first = np.unique(tails[usable], return_index=True)
        layers.append(_Layer(heads[usable], starts, first))
        reached = np.zeros(problem.n_nodes, dtype=bool)
        reached[heads[usable]] = True
    return layers
