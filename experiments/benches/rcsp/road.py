"""A road-like graph: streets of a jittered grid, fast toll roads across it, and diagonals."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from functools import cache

from experiments.benches.rcsp.generate import Arc, limited
from solvers.rcsp.problem import RcspProblem

WIDTH, HEIGHT = 400, 250
STREETS = 125_000
"""Each can be driven in both directions: 250,000 arcs over 100,000 vertices."""

_EVERY = 25  # a fast road in so many rows and columns
_BLOCK = 100.0  # metres
_JITTER = 35.0
_DIAGONAL = 0.1  # of the places where one fits
_SLOW, _FAST = 10.0, 30.0  # metres a second
_CENTS = 0.01  # a metre of fast road


@dataclass(frozen=True)
class Trip:
    """One query on the road graph.

    Attributes:
        name: Names it.
        source: A node, as a place (column, row).
        target: The same.
        tightness: Where the limits on metres and cents lie; see `generate.TIGHTNESS`.
    """

    name: str
    source: tuple[int, int]
    target: tuple[int, int]
    tightness: float

    def build(self) -> RcspProblem:
        """The problem: least travel time in tenths of a second, with limits on metres and on cents of toll."""
        return limited(WIDTH * HEIGHT, arcs(), _node(*self.source), _node(*self.target), self.tightness)


TRIPS = (
    Trip("corner to corner, too tight", (0, 0), (WIDTH - 1, HEIGHT - 1), -0.1),
    Trip("corner to corner, 5 %", (0, 0), (WIDTH - 1, HEIGHT - 1), 0.05),
    Trip("corner to corner, 30 %", (0, 0), (WIDTH - 1, HEIGHT - 1), 0.3),
    Trip("corner to corner, 50 %", (0, 0), (WIDTH - 1, HEIGHT - 1), 0.5),
    Trip("corner to corner, 80 %", (0, 0), (WIDTH - 1, HEIGHT - 1), 0.8),
    Trip("across, 50 %", (10, 240), (390, 20), 0.5),
    Trip("half way, 50 %", (100, 60), (300, 190), 0.5),
    Trip("nearby, 50 %", (190, 120), (230, 140), 0.5),
)


def _node(x: int, y: int) -> int:
    return y * WIDTH + x


@cache
def arcs() -> list[Arc]:
    """All arcs; they use (metres, cents). Fast roads are whole; of the rest a tree, and as many more as fit."""
    rng = random.Random(1900)
    places = [
        (x * _BLOCK + rng.uniform(-_JITTER, _JITTER), y * _BLOCK + rng.uniform(-_JITTER, _JITTER))
        for y in range(HEIGHT)
        for x in range(WIDTH)
    ]
    fast: list[tuple[int, int]] = []
    slow: list[tuple[int, int]] = []
    for y in range(HEIGHT):
        for x in range(WIDTH):
            here = _node(x, y)
            if x + 1 < WIDTH:
                (slow if y % _EVERY else fast).append((here, here + 1))
            if y + 1 < HEIGHT:
                (slow if x % _EVERY else fast).append((here, here + WIDTH))
            if x + 1 < WIDTH and y + 1 < HEIGHT and rng.random() < _DIAGONAL:
                slow.append((here, here + WIDTH + 1) if rng.random() < 0.5 else (here + 1, here + WIDTH))
    rng.shuffle(slow)
    joined = list(range(WIDTH * HEIGHT))
    kept = [(pair, True) for pair in fast if _join(joined, *pair) or True]
    spare = []
    for pair in slow:
        if _join(joined, *pair):
            kept.append((pair, False))
        else:
            spare.append(pair)
    kept += [(pair, False) for pair in spare[: STREETS - len(kept)]]
    found: list[Arc] = []
    for (one, other), is_fast in kept:
        length = math.dist(places[one], places[other])
        seconds = length / (_FAST if is_fast else _SLOW * rng.uniform(0.6, 1.4))
        use = (round(length), round(length * _CENTS * rng.uniform(0.5, 1.5)) + 1 if is_fast else 0)
        found += [(one, other, round(10 * seconds), use), (other, one, round(10 * seconds), use)]
    return found


def _join(joined: list[int], one: int, other: int) -> bool:
    """Puts two nodes into one set; False if they were."""
    roots = []
    for node in (one, other):
        root = node
        while joined[root] != root:
            joined[root] = joined[joined[root]]
            root = joined[root]
        roots.append(root)
    joined[roots[0]] = roots[1]
    return roots[0] != roots[1]
