"""The seeded path problems that solvers are measured on: plan graphs, grids, layered graphs, and a stress family.

Every instance is made from its parameters alone: the same parameters give the same problem on every machine.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from experiments.benches.solvers.budgets import edge_steps, with_budgets
from solvers import PathProblem

REWARDS: dict[str, Callable[[random.Random], float]] = {
    "dense01": lambda rng: rng.uniform(0, 1),
    "dense-02": lambda rng: rng.uniform(-0.2, 1),
    "coarse": lambda rng: rng.randint(0, 10) / 10,  # what a language model says when asked for a score
}

COSTS: dict[str, tuple[int, int]] = {"small": (1, 9), "hundreds": (100, 999), "money": (200, 5000)}
"""Bounds of the uniform integer costs: counts, hundreds, and what micro-dollars or tokens look like."""

_STRAIGHT = 0.7  # how often a sampled plan takes a move that leads towards its goal
_MISTAKE = 0.05  # how often it predicts another state than the world's


@dataclass(frozen=True)
class Spec:
    """The parameters of an instance.

    Attributes:
        family: `folded`, `grid`, `layered` or `stress`.
        shape: What the family's generator takes, as sorted pairs.
        resources: K.
        rewards: A key of `REWARDS`.
        costs: A key of `COSTS`.
        budget: The share of the unbudgeted optimum's use that is asked for; None means no budgets (K = 0).
        seed: Seed of everything drawn.
    """

    family: str
    shape: tuple[tuple[str, Any], ...]
    resources: int = 0
    rewards: str = "dense01"
    costs: str = "small"
    budget: float | None = None
    seed: int = 0

    @property
    def name(self) -> str:
        """All the parameters in one word; unique."""
        shape = "-".join(f"{value}" if isinstance(value, str) else f"{key}{value}" for key, value in self.shape)
        share = "free" if self.budget is None else f"b{round(100 * self.budget)}"
        return f"{self.family}-{shape}-K{self.resources}-{self.rewards}-{self.costs}-{share}-s{self.seed}"

    def build(self) -> Instance:
        """Makes the problem."""
        rng = random.Random(repr(replace(self, budget=None)))  # one graph whatever its budgets; seeded by text
        graph = GENERATORS[self.family](rng, **dict(self.shape))
        low, high = COSTS[self.costs]
        problem = PathProblem(
            n_nodes=graph.nodes,
            edges=graph.edges,
            rewards=_rewards(rng, self.rewards, graph),
            costs=[[rng.randint(low, high) for _ in range(self.resources)] for _ in graph.edges],
            budgets=[0] * self.resources,
            start=0,
            terminals=graph.terminals,
            horizon=graph.horizon,
        )
        share = None
        if self.budget is not None:
            budgeted = with_budgets(problem, self.budget)
            problem, share = budgeted.problem, budgeted.share
        return Instance(self, problem, share, edge_steps(problem))


@dataclass(frozen=True)
class Instance:
    """A problem and what is known of it: its parameters, the share that its budgets came to, its edge-steps."""

    spec: Spec
    problem: PathProblem
    share: float | None
    size: int

    @property
    def name(self) -> str:
        """The name of its parameters."""
        return self.spec.name


def _rewards(rng: random.Random, style: str, graph: Graph) -> list[float]:
    """Rewards of all nodes; terminals earn half of what is drawn in the dense styles.

    Stays are free: where a terminal is among the best nodes, going straight there and staying is the unbudgeted
    optimum, it uses next to nothing, and a share of that leaves only a handful of walks. Such an instance would be easy
    for every solver.
    """
    rewards = [REWARDS[style](rng) for _ in range(graph.nodes)]
    if style.startswith("dense"):
        for node in graph.terminals:
            rewards[node] /= 2
    return rewards


@dataclass(frozen=True)
class Graph:
    """A graph without rewards and costs; the start is node 0."""

    nodes: int
    edges: Sequence[tuple[int, int]]
    terminals: Sequence[int]
    horizon: int


def folded(rng: random.Random, world: str, M: int, L: int) -> Graph:  # noqa: N803 - the paper's letters
    """M sampled plans of at most L moves through a hidden world, folded into one graph by state.

    The plans go towards one goal, are noisy, and now and then predict a wrong state. As in a plan graph, equal states
    are one node; per (state, action) the next state with most votes counts (tie: the first sampled); the terminals are
    the plans' ends; the horizon is L.

    Args:
        rng: The source of everything drawn.
        world: `plane`, a square with four moves, or `lane`, a long random graph with four actions per state.
        M: Number of plans.
        L: Most moves of a plan.
    """
    moves, distance = (_plane if world == "plane" else _lane)(rng, L)
    votes: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
    ends = []
    for _ in range(M):
        state = 0
        for _ in range(L):
            actions = range(len(moves[state]))
            towards = [a for a in actions if distance[moves[state][a]] < distance[state]]
            action = rng.choice(towards if towards and rng.random() < _STRAIGHT else actions)
            after = moves[state][action]
            if rng.random() < _MISTAKE:
                after = rng.choice(moves[after])
            votes[state, action][after] += 1
            state = after
            if distance[state] == 0:
                break
        ends.append(state)
    elected = {key: counts.most_common(1)[0][0] for key, counts in votes.items()}
    number: dict[int, int] = {0: 0}
    for (state, _), after in elected.items():
        number.setdefault(state, len(number))
        number.setdefault(after, len(number))
    edges = [(number[state], number[after]) for (state, _), after in elected.items()]
    terminals = sorted({number[end] for end in ends if end in number} - {0})
    return Graph(len(number), edges, terminals, L)


def _plane(_: random.Random, length: int) -> tuple[list[list[int]], list[int]]:
    """The moves of a square whose far corner is about 0.6 * length away, and the distances to it."""
    side = max(3, round(0.3 * length) + 1)
    moves = [[y * side + x for x, y in _around(cell % side, cell // side, side, side)] for cell in range(side * side)]
    return moves, [2 * (side - 1) - cell % side - cell // side for cell in range(side * side)]


def _lane(rng: random.Random, length: int) -> tuple[list[list[int]], list[int]]:
    """The moves of a random graph along a line of states, one of them forwards, and about how far its end is."""
    count = 2 * length
    steps = [[rng.randint(1, 5), *rng.choices([-3, -2, -1, 1, 2, 3, 4, 5], k=3)] for _ in range(count)]
    moves = [[min(max(0, state + step), count - 1) for step in some] for state, some in enumerate(steps)]
    return moves, [count - 1 - state for state in range(count)]


def _around(x: int, y: int, width: int, height: int) -> list[tuple[int, int]]:
    cells = [(x + 1, y), (x, y + 1), (x - 1, y), (x, y - 1)]
    return [(a, b) for a, b in cells if 0 <= a < width and 0 <= b < height]


def grid(_: random.Random, moves: str, w: int, h: int, L: int) -> Graph:  # noqa: N803 - the paper's letter
    """A w x h grid from one corner to the far one.

    Args:
        moves: `directed` (right and down only) or `loose` (all four directions).
        w: Width.
        h: Height.
        L: Horizon.
    """
    edges = [
        (y * w + x, b * w + a)
        for y in range(h)
        for x in range(w)
        for a, b in _around(x, y, w, h)
        if moves == "loose" or (a >= x and b >= y)
    ]
    return Graph(w * h, edges, [w * h - 1], L)


def layered(rng: random.Random, layers: int, width: int, degree: int) -> Graph:
    """Layers of nodes with `degree` edges each to the next and, one in five, one beyond it; the last is terminal."""
    edges = [(0, 1 + other) for other in range(width)]
    for layer in range(layers - 1):
        for place in range(width):
            tail, following = 1 + layer * width + place, 1 + (layer + 1) * width
            edges += [(tail, following + other) for other in rng.sample(range(width), min(degree, width))]
            if layer + 2 < layers and rng.random() < 0.2:
                edges.append((tail, following + width + rng.randrange(width)))
    last = 1 + (layers - 1) * width
    return Graph(last + width, edges, range(last, last + width), layers)


def stress(rng: random.Random, kind: str, n: int, L: int) -> Graph:  # noqa: N803 - the paper's letter
    """About a million edge-steps: a `random` graph of n nodes with four edges each, or a `loose` grid of n cells."""
    if kind == "loose":
        side = round(n**0.5)
        return grid(rng, "loose", side, side, L)
    edges = [(node, rng.randrange(n)) for node in range(n) for _ in range(4)]
    return Graph(n, edges, sorted(rng.sample(range(1, n), n // 50)), L)


GENERATORS: dict[str, Callable[..., Graph]] = {"folded": folded, "grid": grid, "layered": layered, "stress": stress}
