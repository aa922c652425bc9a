"""Seeded instances of the kinds that the literature measures with: random graphs, grids, layers, and a road map.

Everything is drawn with `random.Random`, so that a seed gives the same instance on every machine.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from operator import truediv

from solvers.rcsp.problem import RcspProblem

Arc = tuple[int, int, int, tuple[int, ...]]  # tail, head, cost, amounts

FAMILIES = ("random", "ahead", "grid", "loose", "layered")
TIGHTNESS = (-0.5, 0.0, 0.1, 0.4, 0.8)
"""Where the limits lie, from what a path uses that is sparing with all resources alike (0: just feasible) to what the
cheapest path uses (1: nothing binds). Below 0 they lie towards the least that any path uses of each resource by itself
(-1), which as a rule no path keeps of several at once."""

_RESOURCES = (1, 2, 3, 5, 7, 10)
FIRST_SEED = 1900


@dataclass(frozen=True)
class Spec:
    """What a generated instance follows from.

    Attributes:
        seed: The seed of everything drawn.
        family: One of `FAMILIES`, or `style21` and `style23`, which are as large as the OR-Library's largest.
        tightness: Where the limits lie; see `TIGHTNESS`.
    """

    seed: int
    family: str
    tightness: float

    @property
    def name(self) -> str:
        """Names the instance; unique."""
        return f"{self.family}-{self.seed}"

    def build(self) -> RcspProblem:
        """The problem."""
        rng = random.Random(f"{self.seed} {self.family}")
        n, arcs = _GRAPHS[self.family](rng)
        return limited(n, arcs, 0, n - 1, self.tightness)


def specs(count: int) -> list[Spec]:
    """The first so many generated instances: all families and tightnesses in turn."""
    return [
        Spec(FIRST_SEED + i, FAMILIES[i % len(FAMILIES)], TIGHTNESS[i // len(FAMILIES) % len(TIGHTNESS)])
        for i in range(count)
    ]


def large_specs(count: int) -> list[Spec]:
    """Instances of 500 vertices, 5,000 arcs and 10 resources, made like rcsp21 and rcsp23 in turn."""
    return [
        Spec(FIRST_SEED + i, ("style21", "style23")[i % 2], TIGHTNESS[1 + i // 2 % (len(TIGHTNESS) - 1)])
        for i in range(count)
    ]


def limited(n: int, arcs: Sequence[Arc], source: int, target: int, tightness: float) -> RcspProblem:
    """A problem with limits as in `TIGHTNESS`.

    Raises:
        ValueError: If no path leads to the target.
    """
    amounts = [partial(_amount, k) for k in range(len(arcs[0][3]))]
    cheapest = _path(n, arcs, source, target, lambda arc: arc[2])
    scale = [max(1, sum(map(amount, cheapest))) for amount in amounts]
    sparing = _path(n, arcs, source, target, lambda arc: sum(map(truediv, arc[3], scale)))
    uppers = []
    for amount in amounts:
        middle, most = sum(map(amount, sparing)), sum(map(amount, cheapest))
        if tightness < 0:
            room = middle - sum(map(amount, _path(n, arcs, source, target, amount)))
        else:
            room = max(0, most - middle)
        uppers.append(middle + math.floor(tightness * room))
    return RcspProblem(
        n_nodes=n,
        tails=[arc[0] for arc in arcs],
        heads=[arc[1] for arc in arcs],
        cost=[arc[2] for arc in arcs],
        use=[arc[3] for arc in arcs],
        upper=uppers,
        source=source,
        target=target,
    )


def _amount(k: int, arc: Arc) -> int:
    return arc[3][k]


def _path(n: int, arcs: Sequence[Arc], source: int, target: int, weight: Callable[[Arc], float]) -> list[Arc]:
    """The arcs of a path of least weight, by Dijkstra's algorithm."""
    out: list[list[Arc]] = [[] for _ in range(n)]
    for arc in arcs:
        out[arc[0]].append(arc)
    best: list[float] = [math.inf] * n
    best[source] = 0
    into: dict[int, Arc] = {}
    queue: list[tuple[float, int]] = [(0, source)]
    while queue:
        so_far, node = heapq.heappop(queue)
        if node == target:
            break
        if so_far > best[node]:
            continue
        for arc in out[node]:
            value = so_far + weight(arc)
            if value < best[arc[1]]:
                best[arc[1]], into[arc[1]] = value, arc
                heapq.heappush(queue, (value, arc[1]))
    if target not in into:
        raise ValueError(f"no path leads from {source} to {target}")
    path = []
    node = target
    while node != source:
        path.append(into[node])
        node = into[node][0]
    return path[::-1]


def _valued(rng: random.Random, ends: Sequence[tuple[int, int]], n_resources: int, style: str, n: int) -> list[Arc]:
    """Costs and amounts: `small` ones of 0-5, `against` each other with a long tail, or `apart` in 1-100."""
    arcs = []
    for tail, head in ends:
        if style == "small":
            cost = rng.randint(0, 5)
            amounts = [rng.randint(0, 5) for _ in range(n_resources)]
        elif style == "against":
            cost = rng.randint(2, max(3, round(1.2 * n)))
            amounts = [math.floor(rng.random() * 10 * n / cost) for _ in range(n_resources)]
        else:
            cost = rng.randint(1, 100)
            amounts = [rng.randint(1, 100) for _ in range(n_resources)]
        arcs.append((tail, head, cost, tuple(amounts)))
    return arcs


def _random(rng: random.Random) -> tuple[int, list[Arc]]:
    """Arcs between any two nodes; what is cheap uses much, as in rcsp1, 5, 9, 13, 17 and 21."""
    n = rng.randrange(100, 501)
    return n, _valued(rng, _anywhere(rng, n, rng.randint(5, 10) * n), rng.choice(_RESOURCES), "against", n)


def _ahead(rng: random.Random) -> tuple[int, list[Arc]]:
    """Arcs at most a quarter of the nodes ahead, small numbers: acyclic, many ties, as in rcsp3, 7, ..., 23."""
    n = rng.randrange(100, 501)
    return n, _valued(rng, _only_ahead(rng, n, rng.randint(5, 10) * n), rng.choice(_RESOURCES), "small", n)


def _grid(rng: random.Random) -> tuple[int, list[Arc]]:
    """Right and down only."""
    return _of_grid(rng, loose=False)


def _loose(rng: random.Random) -> tuple[int, list[Arc]]:
    """All four directions."""
    return _of_grid(rng, loose=True)


def _of_grid(rng: random.Random, loose: bool) -> tuple[int, list[Arc]]:
    width, height = rng.randrange(10, 23), rng.randrange(10, 23)
    ends = []
    for y in range(height):
        for x in range(width):
            here = y * width + x
            right = [(here, here + 1)] if x + 1 < width else []
            down = [(here, here + width)] if y + 1 < height else []
            for pair in right + down:
                ends += [pair, pair[::-1]] if loose else [pair]
    n = width * height
    return n, _valued(rng, ends, rng.choice(_RESOURCES), rng.choice(("small", "against", "apart")), n)


def _layered(rng: random.Random) -> tuple[int, list[Arc]]:
    """A source, layers of equal width with arcs to the next layer, a target."""
    layers, width = rng.randrange(8, 24), rng.randrange(12, 21)
    n, degree = layers * width + 2, rng.randint(3, 10)
    ends = [(0, 1 + place) for place in range(width)]
    for layer in range(layers - 1):
        following = 1 + (layer + 1) * width
        for place in range(width):
            ends += [(1 + layer * width + place, following + other) for other in rng.sample(range(width), degree)]
    ends += [(n - 1 - width + place, n - 1) for place in range(width)]
    return n, _valued(rng, ends, rng.choice(_RESOURCES), rng.choice(("small", "against", "apart")), n)


def _style21(rng: random.Random) -> tuple[int, list[Arc]]:
    return 500, _valued(rng, _anywhere(rng, 500, 5_000), 10, "against", 500)


def _style23(rng: random.Random) -> tuple[int, list[Arc]]:
    return 500, _valued(rng, _only_ahead(rng, 500, 5_000), 10, "small", 500)


def _anywhere(rng: random.Random, n: int, count: int) -> list[tuple[int, int]]:
    """Distinct arcs, none of them a loop, that lead along all nodes in a random order, and others."""
    middle = list(range(1, n - 1))
    rng.shuffle(middle)
    order = [0, *middle, n - 1]
    found = dict.fromkeys(pairwise(order))
    while len(found) < count:
        tail, head = rng.randrange(n), rng.randrange(n)
        if tail != head:
            found[tail, head] = None
    return list(found)


def _only_ahead(rng: random.Random, n: int, count: int) -> list[tuple[int, int]]:
    """Distinct arcs to nodes of higher number, by at most a quarter of n; one leads from each node to the next."""
    found = dict.fromkeys((node, node + 1) for node in range(n - 1))
    while len(found) < count:
        tail = rng.randrange(n - 1)
        found[tail, rng.randint(tail + 1, min(n - 1, tail + n // 4))] = None
    return list(found)


_GRAPHS: dict[str, Callable[[random.Random], tuple[int, list[Arc]]]] = {
    "random": _random,
    "ahead": _ahead,
    "grid": _grid,
    "loose": _loose,
    "layered": _layered,
    "style21": _style21,
    "style23": _style23,
}
