"""The time-expanded graph of a problem, pruned: the arcs that an integer programme needs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.bounds import least_costs, priced_bound
from solvers.errors import BackendError
from solvers.network import REACHABLE, AnyArray, IntArray, Network, build_network
from solvers.problem import PathProblem


@dataclass(frozen=True)
class Arc:
    """One binary decision.

    Attributes:
        step: The step at which it leaves, from 0.
        tail: The node that it leaves.
        head: The node that a move enters; None for the arc that ends the walk here.
        edge: The edge index of a move; None for the arc that ends the walk here.
        gain: What it adds to the objective: the discounted reward of `head`, or of all the stays to the horizon.
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
    """The arcs from which exactly the walks of a problem can be made.

    A walk is a path of moves from (step 0, start) that finishes with one ending arc at a terminal. As an ending arc
    stands for all the stays up to the horizon, nothing can move after a stay: that staying is final needs no further
    constraint.

    Attributes:
        arcs: Those that lie on some way from the start to a terminal which keeps each budget by itself, by step.
        budgets: K' ints, of the resources that can bind, in the units of `Arc.costs`.
        bound: No walk has a greater objective (the unbudgeted optimum); minus infinity if there are no arcs.
    """

    arcs: Sequence[Arc]
    budgets: tuple[int, ...]
    bound: float = -math.inf

    def flow(self) -> Mapping[tuple[int, int], tuple[list[int], list[int]]]:
        """For each (step, node): the indices of the arcs that enter, and of those that leave."""
        rows: dict[tuple[int, int], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for index, arc in enumerate(self.arcs):
            rows[arc.step, arc.tail][1].append(index)
            if arc.head is not None:
                rows[arc.step + 1, arc.head][0].append(index)
        return rows

    def edges_of(self, chosen: Sequence[int]) -> list[int]:
        """The edges of the walk that the chosen arcs (ascending indices) form.

        Raises:
            BackendError: If they do not form one.
        """
        arcs = [self.arcs[index] for index in chosen]
        edges = [arc.edge for arc in arcs if arc.edge is not None]
        if [arc.step for arc in arcs] != list(range(len(arcs))) or len(edges) != len(arcs) - 1:
            raise BackendError(f"the {len(arcs)} arcs chosen by the solver do not form a walk")
        return edges


def expand(problem: PathProblem) -> TimeExpanded:
    """Enumerates the arcs; none at all if that already shows that no walk is feasible."""
    if any(budget < 0 for budget in problem.budgets):
        return TimeExpanded((), ())
    network = build_network(problem)
    budgets = tuple(int(budget) for budget in network.budgets)
    free = priced_bound(network, np.zeros(len(budgets), dtype=np.int64))
    ahead, completes = least_costs(network), free.values > REACHABLE
    behind, reached = _start_row(network)
    weights = [problem.discount**step for step in range(network.horizon)]
    left = [*np.cumsum(weights[::-1])[::-1].tolist(), 0.0]  # left[step]: the weights of all the stays from there on
    arcs: list[Arc] = []
    for step in range(network.horizon + 1):
        arcs.extend(
            Arc(step, int(node), None, None, left[step] * problem.rewards[int(node)], (0,) * len(budgets))
            for node in np.flatnonzero(reached & network.is_terminal)
        )
        if step == network.horizon:
            break
        slots, behind, reached = _moves(network, behind, reached, ahead[step + 1], completes[step + 1])
        for slot in slots:
            head, edge = int(network.heads[slot]), int(network.edge_ids[slot])
            gain = weights[step] * problem.rewards[head]
            costs = tuple(int(cost) for cost in network.costs[slot])
            arcs.append(Arc(step, problem.edges[edge][0], head, edge, gain, costs))
    if not arcs:
        return TimeExpanded((), budgets)
    return TimeExpanded(arcs, budgets, network.objective_bound(int(free.values[0, network.start])))


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
