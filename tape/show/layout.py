"""Where the boxes, labels and lines of a drawn graph go: layer by layer, nothing on top of anything else.

Layered drawing after Sugiyama, Tagawa and Toda (1981), from left to right: *along* the layers, and *across* them. Nodes
stand in the even layers and labels of edges in the odd ones; an edge that passes a layer has a place there too. So what
shares a layer is kept apart by its place across, what does not by the layers' places along, and lines bend only in the
free strips between layers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

STRIP = 13.0
"""Least space between two layers, in points, in which lines bend; more where they bend far."""

_WIDEST_STRIP = 32.0
_BEND = 0.2
"""Room in a strip for each point that a line moves across in it."""

GAP = 9.0
"""Least space across between neighbours of a layer."""

_PORT = 9.0
"""Room between two lines at one side of a box."""

_SWEEPS, _SETTLING = 12, 80
"""How often layers are put in order, and their places moved towards their neighbours."""

_BENT = 40.0
"""How far a line may move across rather than bend once more, in points."""

_PINNED = 1e6
"""Weight of a place on the path, which stays straight."""


@dataclass(frozen=True)
class Item:
    """Room that a box or a label needs, in points.

    Attributes:
        along: Its extent along the layers.
        before: What it needs across before its anchor, through which lines run.
        after: And after it. Lines meet a box no further from its anchor than the smaller of the two.
    """

    along: float
    before: float
    after: float


@dataclass(frozen=True)
class Arc:
    """An edge between two different nodes, and the space that its label needs."""

    id: int
    source: str
    target: str
    label: Item


@dataclass(frozen=True)
class Route:
    """The line of an edge.

    Attributes:
        points: ``(along, across)`` from the source's border to the target's. Between two of them that differ across
            the line bends like an S.
        turns: The line has two points and turns back between them, since both nodes are in one layer; this is how far
            along it reaches.
    """

    points: tuple[tuple[float, float], ...]
    turns: float | None = None


@dataclass(frozen=True)
class Arranged:
    """A drawn graph's geometry, ``(along, across)`` in points, all of it at least 0.

    Attributes:
        nodes: The middle along and the anchor across of every node.
        labels: Where every edge's label begins along, and its anchor across.
        routes: The line of every edge.
        areas: What every box, label and passing line takes: from and to along, from and to across.
        length: Extent along.
        breadth: Extent across.
    """

    nodes: Mapping[str, tuple[float, float]]
    labels: Mapping[int, tuple[float, float]]
    routes: Mapping[int, Route]
    areas: Sequence[tuple[float, float, float, float]]
    length: float
    breadth: float


@dataclass(eq=False)
class _Place:
    """A box, a label, or where an edge passes, in its layer."""

    item: Item
    layer: int
    pinned: bool = False
    across: float = 0.0
    earlier: list[_Place] = field(default_factory=list)
    later: list[_Place] = field(default_factory=list)


@dataclass(frozen=True)
class _Chain:
    """The places of an edge from its end in the earlier layer to the other."""

    arc: Arc
    places: tuple[_Place, ...]
    label: int
    reversed: bool


def ranks(nodes: Sequence[str], arcs: Iterable[tuple[str, str]], path: Sequence[str]) -> dict[str, int]:
    """The rank of every node, from 0: those of the path one after the other, the others as near to it as they can be.

    What only leads to something is ranked before it.

    Args:
        nodes: All nodes.
        arcs: Source and target of every edge.
        path: The nodes to be ranked first, the start ahead.
    """
    after: dict[str, list[str]] = {node: [] for node in nodes}
    before: dict[str, list[str]] = {node: [] for node in nodes}
    for source, target in arcs:
        after[source].append(target)
        before[target].append(source)
    numbers: dict[str, int] = {}
    for node in path:
        numbers.setdefault(node, len(numbers))
    _flood(numbers, after, 1)
    left_behind = {path[0]: numbers[path[0]]} if path else {}
    _flood(left_behind, before, -1)
    numbers = left_behind | numbers
    for node in nodes:
        _flood(numbers, before, -1)
        _flood(numbers, after, 1)
        numbers.setdefault(node, 0)
    first = min(numbers.values())
    return {node: numbers[node] - first for node in nodes}


def _flood(numbers: dict[str, int], neighbours: Mapping[str, Sequence[str]], step: int) -> None:
    """Rank what can be reached from what is ranked, nearest to the start first."""
    waiting = sorted(numbers, key=lambda node: step * numbers[node])
    while waiting:
        reached: dict[str, int] = {}
        for node in waiting:
            for other in neighbours[node]:
                rank = numbers[node] + step
                if other not in numbers and (other not in reached or step * rank < step * reached[other]):
                    reached[other] = rank
        # Only the nearest of them: others may be nearer to those.
        nearest = min((step * rank for rank in reached.values()), default=0)
        added = {node: rank for node, rank in reached.items() if step * rank == nearest}
        numbers |= added
        waiting = sorted(numbers, key=lambda node: step * numbers[node]) if added else []


def arrange(nodes: Mapping[str, Item], arcs: Sequence[Arc], path: Sequence[str], chosen: Iterable[int]) -> Arranged:
    """Lay a graph out.

    Args:
        nodes: Every node's area.
        arcs: The edges, none from a node to itself.
        path: The nodes of the path, from the start; they stand in one straight line, before all others across.
        chosen: The ids of the path's edges.
    """
    rank = ranks(list(nodes), [(arc.source, arc.target) for arc in arcs], path)
    on_path, straight = set(path), set(chosen)
    boxes = {name: _Place(item, 2 * rank[name], name in on_path) for name, item in nodes.items()}
    chains = [_chain(arc, boxes, straight) for arc in arcs]
    layers: dict[int, list[_Place]] = defaultdict(list)
    for place in [*boxes.values(), *(place for chain in chains for place in chain.places[1:-1])]:
        layers[place.layer].append(place)
    for chain in chains:
        for a, b in pairwise(chain.places):
            first, second = (a, b) if a.layer < b.layer else (b, a)
            first.later.append(second)
            second.earlier.append(first)
    ordered = _ordered([layers[number] for number in range(max(layers) + 1)])
    _settle(ordered)
    low = min(place.across - place.item.before for layer in ordered for place in layer)
    for layer in ordered:
        for place in layer:
            place.across -= low
    ports = _ports(boxes.values(), chains)
    begins, ends = _extents(ordered, chains, ports)
    middles = [(begin + end) / 2 for begin, end in zip(begins, ends, strict=True)]
    return Arranged(
        {name: (middles[place.layer], place.across) for name, place in boxes.items()},
        {chain.arc.id: _label(chain, begins, ends) for chain in chains},
        {chain.arc.id: _route(chain, begins, ends, middles, ports) for chain in chains},
        [
            (begins[p.layer], ends[p.layer], p.across - p.item.before, p.across + p.item.after)
            for layer in ordered
            for p in layer
        ],
        ends[-1],
        max(place.across + place.item.after for layer in ordered for place in layer),
    )


def _chain(arc: Arc, boxes: Mapping[str, _Place], straight: set[int]) -> _Chain:
    """An edge's places; its label is in the first layer after its source, or before it where the edge leads back."""
    source, target = boxes[arc.source], boxes[arc.target]
    if source.layer == target.layer:
        return _Chain(arc, (source, _Place(arc.label, source.layer + 1), target), 1, False)
    back = source.layer > target.layer
    first, last = (target, source) if back else (source, target)
    label = last.layer - 1 if back else first.layer + 1
    pinned = arc.id in straight and last.layer == first.layer + 2 and not back
    between = [
        _Place(arc.label if layer == label else Item(0.0, 1.0, 1.0), layer, pinned)
        for layer in range(first.layer + 1, last.layer)
    ]
    return _Chain(arc, (first, *between, last), label - first.layer, back)


def _ordered(layers: list[list[_Place]]) -> list[list[_Place]]:
    """The layers with few crossings: each by the middle of its neighbours, over and over; the path comes first."""
    best = [sorted(layer, key=lambda place: not place.pinned) for layer in layers]
    fewest, now = _crossings(best), best
    for sweep in range(_SWEEPS):
        forwards = sweep % 2 == 0
        now = [list(layer) for layer in now]
        for number in range(len(now)) if forwards else reversed(range(len(now))):
            beside = number - 1 if forwards else number + 1
            known = now[beside] if 0 <= beside < len(now) else []
            now[number] = _by_neighbours(now[number], known)
        if (count := _crossings(now)) < fewest:
            best, fewest = now, count
    return best


def _by_neighbours(layer: Sequence[_Place], known: Sequence[_Place]) -> list[_Place]:
    """A layer in the order of the middles of its places' neighbours in the layer beside it, the path first."""
    at = {id(place): float(i) for i, place in enumerate(known)}
    scale = max(1, len(known)) / max(1, len(layer))
    keys = {}
    for i, place in enumerate(layer):
        near = [at[id(other)] for other in (*place.earlier, *place.later) if id(other) in at]
        keys[id(place)] = (not place.pinned, sum(near) / len(near) if near else i * scale)
    return sorted(layer, key=lambda place: keys[id(place)])


def _crossings(layers: Sequence[Sequence[_Place]]) -> int:
    total = 0
    for layer, following in pairwise(layers):
        at = {id(place): i for i, place in enumerate(following)}
        ends = [sorted(at[id(other)] for other in place.later if id(other) in at) for place in layer]
        seen: list[int] = []
        for row in ends:
            total += sum(1 for end in row for other in seen if other > end)
            seen += row
    return total


def _settle(layers: Sequence[Sequence[_Place]]) -> None:
    """Places across: each near its neighbours, none nearer to the next in its layer than their areas allow.

    Places move towards their neighbours on one side and then on the other; of all that is passed through on the way
    what bends least is kept.
    """
    for layer in layers:
        _spread(layer, [0.0] * len(layer))
    places = [place for layer in layers for place in layer]
    least, best = float("inf"), [place.across for place in places]
    for sweep in range(_SETTLING):
        forwards = sweep % 2 == 0
        for layer in layers if forwards else reversed(layers):
            wanted = []
            for place in layer:
                near = (place.earlier or place.later) if forwards else (place.later or place.earlier)
                wanted.append(sum(other.across for other in near) / len(near) if near else place.across)
            _spread(layer, wanted)
        moves = [abs(place.across - other.across) for place in places for other in place.later]
        if (bent := sum(moves) + _BENT * sum(1 for move in moves if move > 1.0)) < least:
            least, best = bent, [place.across for place in places]
    for place, across in zip(places, best, strict=True):
        place.across = across


def _spread(layer: Sequence[_Place], wanted: Sequence[float]) -> None:
    """Places nearest to the wanted ones (least squares) in this order and with space between: isotonic regression."""
    blocks: list[tuple[float, float, int]] = []  # mean, weight, members
    offsets, offset = [], 0.0
    for i, place in enumerate(layer):
        if i:
            gap = GAP if place.item.along or layer[i - 1].item.along else GAP / 2
            offset += layer[i - 1].item.after + gap + place.item.before
        offsets.append(offset)
        mean, weight, members = (0.0 if place.pinned else wanted[i]) - offset, _PINNED if place.pinned else 1.0, 1
        while blocks and blocks[-1][0] > mean:
            earlier, theirs, count = blocks.pop()
            mean = (earlier * theirs + mean * weight) / (theirs + weight)
            weight, members = weight + theirs, members + count
        blocks.append((mean, weight, members))
    placed = [mean for mean, _, members in blocks for _ in range(members)]
    for place, mean, shift in zip(layer, placed, offsets, strict=True):
        place.across = 0.0 if place.pinned else mean + shift


def _ports(boxes: Iterable[_Place], chains: Sequence[_Chain]) -> dict[tuple[int, int, bool], float]:
    """Where across each line meets its boxes, by the edge's id, the place in its chain, and the side (True: later)."""
    lines: dict[tuple[int, bool], list[tuple[float, int, int, bool]]] = defaultdict(list)
    for chain in chains:
        for end, beside in ((0, 1), (len(chain.places) - 1, len(chain.places) - 2)):
            box, other = chain.places[end], chain.places[beside]
            straight = box.pinned and other.pinned
            lines[id(box), other.layer > box.layer].append((other.across, chain.arc.id, end, straight))
    numbers = {}
    for box in boxes:
        for side in (False, True):
            here = sorted(lines[id(box), side])
            middle = next((i for i, line in enumerate(here) if line[3]), None)
            fixed = (len(here) - 1) / 2 if middle is None else float(middle)
            space = 0.8 * min(box.item.before, box.item.after)  # what is below a box needs space too, but has no lines
            step = min([_PORT, *(space / abs(i - fixed) for i in range(len(here)) if i != fixed)])
            for i, (_, arc, end, _) in enumerate(here):
                numbers[arc, end, side] = box.across + (i - fixed) * step
    return numbers


def _extents(
    layers: Sequence[Sequence[_Place]], chains: Sequence[_Chain], ports: Mapping[tuple[int, int, bool], float]
) -> tuple[list[float], list[float]]:
    """Where each layer begins and ends along; strips are wider where a line moves far across."""
    far = [0.0] * len(layers)
    for chain in chains:
        last = len(chain.places) - 1
        at = [ports.get((chain.arc.id, end, end == 0), place.across) for end, place in enumerate(chain.places)]
        for number in range(last):
            strip = min(chain.places[number].layer, chain.places[number + 1].layer)
            far[strip] = max(far[strip], abs(at[number] - at[number + 1]))
    begins, ends, at_now = [], [], 0.0
    for number, layer in enumerate(layers):
        begins.append(at_now)
        ends.append(at_now + max((place.item.along for place in layer), default=0.0))
        at_now = ends[-1] + min(_WIDEST_STRIP, max(STRIP, _BEND * far[number]))
    return begins, ends


def _label(chain: _Chain, begins: Sequence[float], ends: Sequence[float]) -> tuple[float, float]:
    place = chain.places[chain.label]
    if chain.places[0].layer == chain.places[-1].layer:
        return begins[place.layer] + 3.0, place.across
    return (begins[place.layer] + ends[place.layer] - place.item.along) / 2, place.across


def _route(
    chain: _Chain,
    begins: Sequence[float],
    ends: Sequence[float],
    middles: Sequence[float],
    ports: Mapping[tuple[int, int, bool], float],
) -> Route:
    last = len(chain.places) - 1
    first, final = chain.places[0], chain.places[-1]
    number = chain.arc.id
    if first.layer == final.layer:
        leaves = middles[first.layer] + first.item.along / 2
        enters = middles[final.layer] + final.item.along / 2
        points = ((leaves, ports[number, 0, True]), (enters, ports[number, last, True]))
        return Route(points, begins[first.layer + 1])
    line = [(middles[first.layer] + first.item.along / 2, ports[number, 0, True])]
    line.append((ends[first.layer], line[0][1]))
    for place in chain.places[1:-1]:
        line += [(begins[place.layer], place.across), (ends[place.layer], place.across)]
    entered = ports[number, last, False]
    line += [(begins[final.layer], entered), (middles[final.layer] - final.item.along / 2, entered)]
    return Route(tuple(reversed(line) if chain.reversed else line))
