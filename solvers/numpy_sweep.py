"""Label setting, layer by layer, with a beam: one sweep from the start to the horizon."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from solvers.bounds import Bound
from solvers.deadline import Deadline
from solvers.errors import LateError
from solvers.memory import require_memory
from solvers.network import NEVER, AnyArray, IntArray, Network
from solvers.numpy_dominance import undominated

_COLUMNS = 5
"""Numbers that a label has, beside what it has used of each resource."""

_ARRAYS = ("nodes", "scores", "used", "parents", "slots", "order")
_AT_ONCE = 1 << 16
"""Labels that are made before the time and the memory are looked at."""


@dataclass(frozen=True)
class Incumbent:
    """The best path so far: its score and its slots (slots of one node are in the order of their edge indices)."""

    score: int
    slots: tuple[int, ...]


@dataclass(frozen=True)
class Completions:
    """What is known before the search.

    Attributes:
        bounds: Bounds on the score of completions; the least one counts.
        least_costs: [L + 1, n, K'], the least of each resource that a completion uses.
        limit: No path scores more.
    """

    bounds: Sequence[Bound]
    least_costs: AnyArray
    limit: int


@dataclass(frozen=True)
class SweepResult:
    """How a sweep ended.

    Attributes:
        incumbent: The best path, or None.
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

    @classmethod
    def joined(cls, parts: Sequence[_Layer]) -> _Layer:
        """Parts of one layer, in order."""
        return cls(parts[0].step, *(np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS))

    def past(self) -> _Layer:
        """What is needed to find the way back, once the next layer has been made."""
        nothing = np.zeros(0, dtype=np.int64)
        return replace(self, nodes=nothing, scores=nothing, used=nothing, order=nothing)

    def take(self, kept: IntArray) -> _Layer:
        return _Layer(self.step, *(getattr(self, name)[kept] for name in _ARRAYS))


@dataclass(frozen=True)
class _Part:
    """Some labels of a layer, and the index of the first."""

    begin: int
    labels: _Layer


def better(network: Network, one: Incumbent | None, other: Incumbent | None) -> Incumbent | None:
    """The better of two paths: greater score, then the lexicographically smallest edges."""
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
        first: A path to beat.
        deadline: Looked at before each step.
    """
    zero, none = np.zeros(1, dtype=np.int64), np.zeros_like(network.budgets)[None, :]
    layers = [_Layer(0, np.array([network.start]), zero, none, zero, zero, zero)]
    incumbent, dropped = first, NEVER
    for step in range(network.horizon + 1):
        incumbent = better(network, incumbent, _finished(network, layers))
        if step == network.horizon or not len(layers[-1].nodes):
            break
        try:
            layer, lost = _next_layer(network, known, layers[-1], width, (first, incumbent), deadline)
        except LateError:
            return SweepResult(incumbent, dropped, finished=False)
        dropped = max(dropped, lost)
        layers[-1] = layers[-1].past()
        layers.append(layer)
    return SweepResult(incumbent, dropped, finished=True)


def _finished(network: Network, layers: list[_Layer]) -> Incumbent | None:
    """The best path that stops at the last layer's step."""
    layer = layers[-1]
    at_terminal = np.flatnonzero(network.is_terminal[layer.nodes] & network.passes(layer.used))
    if not len(at_terminal):
        return None
    totals = layer.scores[at_terminal] + network.stay(layer.step)[layer.nodes[at_terminal]]
    score, slots = int(totals.max()), []
    index = int(at_terminal[totals.argmax()])  # argmax: the first, so the lexicographically smallest
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
    deadline: Deadline,
) -> tuple[_Layer, int]:
    """The labels after one more move, and the greatest bound among those that the beam dropped.

    They are made in parts, so that the time and the memory can be looked at in between.
    """
    count, size = 0, 8 * (_COLUMNS + len(network.budgets))
    parts: list[tuple[_Layer, IntArray]] = []
    for part in _parts(network, layer):
        deadline.check()
        parts.append(_hopeful(network, known, part, rivals))
        count += len(parts[-1][1])
        require_memory(
            3.0 * size * count + 16.0 * len(layer.nodes) * layer.step,
            f"{count:,} partial paths of {layer.step + 1:,} moves",
        )
    grown, reach = _Layer.joined([made for made, _ in parts]), np.concatenate([reach for _, reach in parts])
    kept = undominated(grown.nodes, grown.scores, grown.used, deadline)
    grown, reach = grown.take(kept), reach[kept]
    if len(kept) <= width:
        return grown, NEVER
    ranked = np.argsort(-reach, kind="stable")
    return grown.take(np.sort(ranked[:width])), int(reach[ranked[width]])


def _parts(network: Network, layer: _Layer) -> Iterator[_Part]:
    """A layer in runs of labels with so many moves together; one label at least."""
    moves = np.cumsum(network.degree[layer.nodes])
    begin = 0
    while begin < len(moves):
        done = int(moves[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(moves, done + _AT_ONCE, side="right")))
        yield _Part(begin, layer.take(np.arange(begin, end)))
        begin = end


def _hopeful(
    network: Network, known: Completions, part: _Part, rivals: tuple[Incumbent | None, Incumbent | None]
) -> tuple[_Layer, IntArray]:
    """The labels after one more move that may still become the best path, and their bounds."""
    first, incumbent = rivals
    grown = _extend(network, part.labels, first)
    grown = replace(grown, parents=grown.parents + part.begin)
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
    return grown, reach


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
    scores, used = layer.scores[parents] + network.move(step)[nodes], layer.used[parents] + network.costs[slots]
    return _Layer(step + 1, nodes, scores, used, parents, slots, order)
