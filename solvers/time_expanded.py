"""The time-expanded graph of a problem, pruned: as arcs for an integer programme, or as a net for the plain search."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.bounds import best_scores, least_costs
from solvers.deadline import NEVER as NO_LIMIT
from solvers.deadline import Deadline
from solvers.errors import BackendError
from solvers.memory import require_memory
from solvers.network import REACHABLE, AnyArray, IntArray, Network, build_network
from solvers.problem import PathProblem

_ARC_BYTES = 2_800
"""What an arc takes, here (some 280 bytes) and in the backend: as measured with CP-SAT at 45,000 arcs, the most."""


@dataclass(frozen=True)
class Arc:
    """One binary decision.

    Attributes:
        step: The step at which it leaves, from 0.
        tail: The node that it leaves.
        head: The node that a move enters; None for the arc that ends the path here.
        edge: The edge index of a move; None for the arc that ends the path here.
        gain: What it adds to the objective: the discounted reward of `head`, or of all the stays to the horizon, less
            what all paths earn alike (`TimeExpanded.beyond`).
        costs: K' amounts, of the resources that can bind.
    """

    step: int
    tail: int
    head: int | None
    edge: int | None
    gain: float
    costs: tuple[int, ...]


@dataclass(frozen=True)
class TimeExpanded:
    """The arcs from which exactly the paths of a problem can be made.

    A path takes moves from (step 0, start) and finishes with one ending arc at a terminal. As an ending arc
    stands for all the stays up to the horizon, nothing can move after a stay: that staying is final needs no further
    constraint.

    Attributes:
        arcs: Those that lie on some way from the start to a terminal which keeps each budget by itself, by step.
        budgets: K' ints, of the resources that can bind, in the units of `Arc.costs`.
        bound: No path has a greater objective (the unbudgeted optimum); minus infinity if there are no arcs.
        beyond: A path's objective is at most this more than the sum of its arcs' gains. Exactly so much more where it
            ends at the richest terminal, and wherever the steps are as many as the horizon: then it is 0.
    """

    arcs: Sequence[Arc]
    budgets: tuple[int, ...]
    bound: float = -math.inf
    beyond: float = 0.0

    def gain_of(self, edges: Sequence[int]) -> float:
        """The sum of the gains of a path, by its edges: what solvers compare."""
        ways = {(arc.step, arc.edge): arc for arc in self.arcs if arc.edge is not None}
        path = [ways[step, edge] for step, edge in enumerate(edges)]
        last = path[-1].head if path else self.arcs[0].tail
        end = next(arc for arc in self.arcs if arc.edge is None and (arc.step, arc.tail) == (len(path), last))
        return math.fsum(arc.gain for arc in [*path, end])

    def flow(self) -> Mapping[tuple[int, int], tuple[list[int], list[int]]]:
        """For each (step, node): the indices of the arcs that enter, and of those that leave."""
        rows: dict[tuple[int, int], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for index, arc in enumerate(self.arcs):
            rows[arc.step, arc.tail][1].append(index)
            if arc.head is not None:
                rows[arc.step + 1, arc.head][0].append(index)
        return rows

    def edges_of(self, chosen: Sequence[int]) -> list[int]:
        """The edges of the path that the chosen arcs (ascending indices) form.

        Raises:
            BackendError: If they do not form one.
        """
        arcs = [self.arcs[index] for index in chosen]
        edges = [arc.edge for arc in arcs if arc.edge is not None]
        if [arc.step for arc in arcs] != list(range(len(arcs))) or len(edges) != len(arcs) - 1:
            raise BackendError(f"the {len(arcs)} arcs chosen by the solver do not form a path")
        return edges


def expand(problem: PathProblem, deadline: Deadline = NO_LIMIT) -> TimeExpanded:
    """Enumerates the arcs; none at all if that already shows that no path is feasible.

    Raises:
        LateError: If the deadline passes.
        TooLargeError: If there are so many that no model of them would fit into memory.
    """
    if any(budget < 0 for budget in problem.budgets):
        return TimeExpanded((), ())
    network = build_network(problem, deadline)
    layers, best = in_layers(network, _ARC_BYTES, deadline)
    budgets = tuple(int(budget) for budget in network.budgets)
    grid = network.grid
    weights = [grid.weight(step) for step in range(network.horizon)]
    left = [*np.cumsum(weights[::-1])[::-1].tolist(), 0.0]  # left[step]: the weights of all the stays from there on
    arcs: list[Arc] = []
    for step, (ends, slots) in enumerate(layers):
        arcs.extend(
            Arc(step, node, None, None, left[step] * problem.rewards[node] + grid.rest(node), (0,) * len(budgets))
            for node in ends.tolist()
        )
        for slot in deadline.each(slots.tolist()):
            head, edge = int(network.heads[slot]), int(network.edge_ids[slot])
            gain = weights[step] * problem.rewards[head]
            costs = tuple(int(cost) for cost in network.costs[slot])
            arcs.append(Arc(step, problem.edges[edge][0], head, edge, gain, costs))
    if not arcs:
        return TimeExpanded((), budgets)
    return TimeExpanded(arcs, budgets, network.objective_bound(best), grid.beyond)


def in_layers(
    network: Network, arc_bytes: int, deadline: Deadline = NO_LIMIT
) -> tuple[list[tuple[IntArray, IntArray]], int]:
    """The arcs on some way from the start to a terminal which keeps each budget by itself.

    Args:
        network: The network.
        arc_bytes: What each of them will take.
        deadline: When to give up.

    Returns:
        By step the nodes where a path may end, and the slots by which it may go on; and the best score of any path,
        whatever the budgets: at most `REACHABLE` where none leads to a terminal.

    Raises:
        LateError: If the deadline passes.
        TooLargeError: If there are so many that they would not fit into memory.
    """
    best, ahead = best_scores(network, deadline), least_costs(network, deadline)
    completes = best > REACHABLE
    behind, reached = _start_row(network)
    layers = []
    count = 0
    for step in range(network.horizon + 1):
        deadline.check()
        ends = np.flatnonzero(reached & network.is_terminal)
        slots = np.zeros(0, dtype=np.int64)
        if step < network.horizon:
            slots, behind, reached = _moves(network, behind, reached, ahead[step + 1], completes[step + 1])
        layers.append((ends, slots))
        count += len(ends) + len(slots)
        require_memory(arc_bytes * count, f"a model of {count:,} arcs at the first {step + 1:,} steps")
    return layers, int(best[0, network.start])


def _start_row(network: Network) -> tuple[AnyArray, NDArray[np.bool_]]:
    """At step 0: the least of each resource used to be at a node, [n, K'], and whether one can be there, bool[n]."""
    n = len(network.is_terminal)
    reached = np.zeros(n, dtype=np.bool_)
    reached[network.start] = True
    return np.zeros((n, len(network.budgets)), dtype=network.costs.dtype), reached


def _moves(
    network: Network, behind: AnyArray, reached: NDArray[np.bool_], ahead: AnyArray, completes: NDArray[np.bool_]
) -> tuple[IntArray, AnyArray, NDArray[np.bool_]]:
    """The slots that lead from reached nodes to ones whence a terminal can be reached in time and within each budget.

    Returns:
        The slots, and `behind` and `reached` one step on.
    """
    tails = np.repeat(np.arange(len(reached)), network.degree)
    spent = behind[tails] + network.costs
    within = (spent + ahead[network.heads] <= network.budgets).all(axis=1)
    slots = np.flatnonzero(reached[tails] & completes[network.heads] & within)
    following = np.empty_like(behind)
    following[:] = network.budgets + 1
    np.minimum.at(following, network.heads[slots], spent[slots])
    arrived = np.zeros_like(reached)
    arrived[network.heads[slots]] = True
    return slots, following, arrived
