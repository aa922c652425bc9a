"""Label setting, layer by layer, with a beam: one sweep from the start to the horizon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from solvers.bounds import Bound
from solvers.deadline import Deadline
from solvers.network import NEVER, AnyArray, IntArray, Network
from solvers.numpy_dominance import undominated


@dataclass(frozen=True)
class Incumbent:
    """The best walk so far: its score and its slots (slots of one node are in the order of their edge indices)."""

    score: int
    slots: tuple[int, ...]


@dataclass(frozen=True)
class Completions:
    """What is known before the search.

    Attributes:
        bounds: Bounds on the score of completions; the least one counts.
        least_costs: [L + 1, n, K'], the least of each resource that a completion uses.
        limit: No walk scores more.
    """

    bounds: Sequence[Bound]
    least_costs: AnyArray
    limit: int


@dataclass(frozen=True)
class SweepResult:
    """How a sweep ended.

    Attributes:
        incumbent: The best walk, or None.
        dropped: The greatest bound of a label that the beam dropped; `NEVER` if it dropped none.
        finished: Whether it came to the horizon in time.
    """

    incumbent: Incumbent | None
    dropped: int
    finished: bool


@dataclass(frozen=True)
class _Layer:
    """The labels at one step, in the lexicographic order of their edges; N labels.

    Attributes:
        step: How many moves they have made.
        nodes: int64[N], where they are.
        scores: int64[N], what they have earned.
        used: [N, K'], what they have used.
        parents: int64[N], their index in the layer before.
        slots: int64[N], the slot by which they came.
        order: int8[N], -1, 0 or 1: their edges against as many of the first incumbent's.
    """

    step: int
    nodes: IntArray
    scores: IntArray
    used: AnyArray
    parents: IntArray
    slots: IntArray
    order: IntArray

    def take(self, kept: IntArray) -> _Layer:
        return _Layer(
            self.step,
            self.nodes[kept],
            self.scores[kept],
            self.used[kept],
            self.parents[kept],
            self.slots[kept],
            self.order[kept],
        )


def better(network: Network, one: Incumbent | None, other: Incumbent | None) -> Incumbent | None:
    """The better of two walks: greater score, then the lexicographically smallest edges."""
    if one is None or other is None:
        return one or other
    if one.score != other.score:
        return one if one.score > other.score else other
    return one if network.edges_of(one.slots) <= network.edges_of(other.slots) else other


def sweep(network: Network, known: Completions, width: int, first: Incumbent | None, deadline: Deadline) -> SweepResult:
    """Extends labels step by step, keeping at most `width` of them, those of the greatest bounds.

    A sweep that dropped no label whose bound reaches the incumbent's score has proved the incumbent best.

    Args:
        network: The network.
        known: Completion bounds.
        width: The beam's width.
        first: A walk to beat.
        deadline: Looked at before each step.
    """
    zero, none = np.zeros(1, dtype=np.int64), np.zeros_like(network.budgets)[None, :]
    layers = [_Layer(0, np.array([network.start]), zero, none, zero, zero, zero)]
    incumbent, dropped = first, NEVER
    for step in range(network.horizon + 1):
        incumbent = better(network, incumbent, _finished(network, layers))
        if step == network.horizon or not len(layers[-1].nodes):
            break
        if deadline.passed():
            return SweepResult(incumbent, dropped, finished=False)
        layer, lost = _next_layer(network, known, layers[-1], width, (first, incumbent))
        dropped = max(dropped, lost)
        layers.append(layer)
    return SweepResult(incumbent, dropped, finished=True)


def _finished(network: Network, layers: list[_Layer]) -> Incumbent | None:
    """The best walk that stops at the last layer's step."""
    layer = layers[-1]
    at_terminal = np.flatnonzero(network.is_terminal[layer.nodes] & network.passes(layer.used))
    if not len(at_terminal):
        return None
    totals = layer.scores[at_terminal] + network.stay[layer.step, layer.nodes[at_terminal]]
    label = int(at_terminal[totals.argmax()])  # argmax: the first, so the lexicographically smallest
    slots = []
    score, index = int(totals.max()), label
    for past in reversed(layers[1:]):
        slots.append(int(past.slots[index]))
        index = int(past.parents[index])
    return Incumbent(score, tuple(reversed(slots)))


def _next_layer(
    network: Network,
    known: Completions,
    layer: _Layer,
    width: int,
    rivals: tuple[Incumbent | None, Incumbent | None],
) -> tuple[_Layer, int]:
    """The labels after one more move, and the greatest bound among those that the beam dropped."""
    first, incumbent = rivals
    grown = _extend(network, layer, first)
    reached = grown.used + known.least_costs[grown.step, grown.nodes]
    grown = grown.take(np.flatnonzero((reached <= network.budgets).all(axis=1) & network.passes(reached)))
    slack = network.budgets - grown.used
    reach = np.min([bound.at(grown.step, grown.nodes, slack) for bound in known.bounds], axis=0) + grown.scores
    if incumbent is not None:
        hopeful = reach >= incumbent.score
        if first is not None and first.score == incumbent.score:
            # An equal score means equally many moves, so only smaller edges would win.
            hopeful &= (reach > incumbent.score) | (grown.order <= 0)
        kept = np.flatnonzero(hopeful)
        grown, reach = grown.take(kept), reach[kept]
    kept = undominated(grown.nodes, grown.scores, grown.used)
    grown, reach = grown.take(kept), reach[kept]
    if len(kept) <= width:
        return grown, NEVER
    ranked = np.argsort(-reach, kind="stable")
    return grown.take(np.sort(ranked[:width])), int(reach[ranked[width]])


def _extend(network: Network, layer: _Layer, first: Incumbent | None) -> _Layer:
    """Every move of every label, still in lexicographic order."""
    step = layer.step
    fan = network.degree[layer.nodes]
    parents = np.repeat(np.arange(len(fan)), fan)
    nth = np.arange(len(parents)) - np.repeat(np.cumsum(fan) - fan, fan)
    slots = network.offset[layer.nodes[parents]] + nth
    nodes = network.heads[slots]
    order = layer.order[parents]
    if first is not None:
        # Past the incumbent's end its "next edge" is below all others: the label then has more moves, and loses ties.
        rival = int(network.edge_ids[first.slots[step]]) if step < len(first.slots) else -1
        order = np.where(order != 0, order, np.sign(network.edge_ids[slots] - rival))
    return _Layer(
        step + 1,
        nodes,
        layer.scores[parents] + network.move[step, nodes],
        layer.used[parents] + network.costs[slots],
        parents,
        slots,
        order,
    )
