"""The time-expanded graph of a problem, pruned: as arcs for an integer programme, or as a net for the plain search."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from solvers.deadline import NEVER as NO_LIMIT
from solvers.deadline import Deadline
from solvers.errors import BackendError
from solvers.memory import require_memory
from solvers.network import AnyArray, IntArray, Network, build_network
from solvers.problem import PathProblem
from solvers.rcsp.plain_bounds import pruned
from solvers.rcsp.plain_net import Net, distances
from solvers.reach import least_amounts, spread

END = -1
"""The name of an arc that ends a path."""

_ROOM = 2**56
"""Priced costs are no more than this, where prices can be so coarse: they have to stay within 64 bits."""

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
    budgets = tuple(int(budget) for budget in network.budgets)
    net, nodes = net_of_states(network, _ARC_BYTES, deadline)
    net = net and pruned(net, deadline)
    if net is None or not len(net.tails):
        return TimeExpanded((), budgets)
    grid = network.grid
    weights = [grid.weight(step) for step in range(network.horizon)]
    left = [*np.cumsum(weights[::-1])[::-1].tolist(), 0.0]  # left[step]: the weights of all the stays from there on
    assert net.layers is not None
    columns = (net.layers.tolist(), nodes[net.tails].tolist(), net.ids.tolist(), net.use.tolist())
    arcs = []
    for step, tail, edge, costs in deadline.each(zip(*columns, strict=True)):
        if edge == END:
            stays = left[step] * problem.rewards[tail] + grid.rest(tail)
            arcs.append(Arc(step, tail, None, None, stays, tuple(costs)))
        else:
            head = problem.edges[edge][1]
            arcs.append(Arc(step, tail, head, edge, weights[step] * problem.rewards[head], tuple(costs)))
    best = distances(net, net.cost, [net.target], deadline, back=True).least[net.source]
    return TimeExpanded(arcs, budgets, network.objective_bound(-int(best)), grid.beyond)


def net_of_states(network: Network, arc_bytes: int, deadline: Deadline = NO_LIMIT) -> tuple[Net | None, IntArray]:
    """The arcs on ways from the start to a terminal, as far as each budget by itself allows them, as a net of states.

    A state is a node at a step. An arc from one step to the next is a move; an arc to the target, named `END`, ends the
    path and stands for all the stays up to the horizon. A path costs minus its exact score.

    Args:
        network: The network.
        arc_bytes: What each of the arcs will take.
        deadline: When to give up.

    Returns:
        The net, None where there is no such way; and the node of each of its states.

    Raises:
        LateError: If the deadline passes.
        TooLargeError: If there are so many arcs that they would not fit into memory.
    """
    n, count, horizon = len(network.is_terminal), len(network.budgets), network.horizon
    tail, target = network.tails, n * (horizon + 1)
    back = list(zip(network.heads.tolist(), tail.tolist(), strict=True))
    ahead = _least_costs(network, back, deadline)
    moves = spread(back, network.ends.tolist(), deadline)
    to_go = np.full(n, horizon + 1)
    to_go[list(moves)] = list(moves.values())
    behind, reached = np.zeros((n, count), dtype=network.costs.dtype), np.arange(n) == network.start
    parts = []
    made = 0
    for step in range(horizon + 1):
        deadline.check()
        ends, slots = np.flatnonzero(reached & network.is_terminal), np.zeros(0, dtype=np.int64)
        earned = network.stay(step)[ends]
        if step < horizon:
            slots, behind, reached = _moves(network, behind, reached, ahead, to_go < horizon - step)
            earned = np.concatenate([network.move(step)[network.heads[slots]], earned])
        made += len(earned)
        require_memory(arc_bytes * made, f"a model of {made:,} arcs at the first {step + 1:,} steps")
        parts.append(
            (
                np.concatenate([step * n + tail[slots], step * n + ends]),
                np.concatenate([(step + 1) * n + network.heads[slots], np.full(len(ends), target)]),
                -earned,
                np.concatenate([network.costs[slots], np.zeros((len(ends), count), dtype=network.costs.dtype)]),
                np.concatenate([network.edge_ids[slots], np.full(len(ends), END)]),
                np.full(len(earned), step),
            )
        )
    tails, heads, cost, use, ids, layers = (np.concatenate(column) for column in zip(*parts, strict=True))
    if not (heads == target).any():
        return None, tails
    names, numbers = np.unique(np.concatenate([tails, heads]), return_inverse=True)
    net = Net(
        n=len(names), tails=numbers[: len(tails)], heads=numbers[len(tails) :], cost=cost, use=use,
        lower=np.zeros(count, dtype=np.int64), upper=network.budgets, limited=np.ones(count, dtype=np.bool_), source=0,
        target=len(names) - 1, ids=ids, behind=np.zeros((len(names), count), dtype=np.int64), chances=network.chances,
        layers=layers,
    )  # fmt: skip
    return replace(net, scale=min(net.scale, max(1, _ROOM // net.farthest(cost)))), names % n


def _least_costs(network: Network, back: Sequence[tuple[int, int]], deadline: Deadline) -> AnyArray:
    """[n, K']: the least of each resource, by itself, that a way to a terminal uses; budget + 1 if there is none."""
    least = np.tile(network.budgets + 1, (len(network.is_terminal), 1))
    for k in range(len(network.budgets)):
        ways = ((head, tail, cost) for (head, tail), cost in zip(back, network.costs[:, k].tolist(), strict=True))
        for node, amount in least_amounts(ways, network.ends.tolist(), deadline).items():
            least[node, k] = min(amount, least[node, k])
    return least


def _moves(
    network: Network, behind: AnyArray, reached: NDArray[np.bool_], ahead: AnyArray, completes: NDArray[np.bool_]
) -> tuple[IntArray, AnyArray, NDArray[np.bool_]]:
    """The slots that lead from reached nodes to ones whence a terminal can be reached in time and within each budget.

    Returns:
        The slots, and `behind` and `reached` one step on.
    """
    tails = network.tails
    spent = behind[tails] + network.costs
    within = (spent + ahead[network.heads] <= network.budgets).all(axis=1)
    slots = np.flatnonzero(reached[tails] & completes[network.heads] & within)
    following = np.empty_like(behind)
    following[:] = network.budgets + 1
    np.minimum.at(following, network.heads[slots], spent[slots])
    arrived = np.zeros_like(reached)
    arrived[network.heads[slots]] = True
    return slots, following, arrived
