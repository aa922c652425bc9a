"""Which instances the benchmark runs, in an order that stays balanced wherever it is interrupted."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from experiments.benches.solvers.instances import Spec

DENSE = ("dense01", "dense-02")


def shape(**parameters: Any) -> tuple[tuple[str, Any], ...]:
    """The shape of a `Spec`."""
    return tuple(parameters.items())


HARD = shape(moves="loose", w=20, h=20, L=100)
"""Loosely directed, long and, with costs in the hundreds, almost without dominance: the hardest that we know."""


def catalogue(*, quick: bool = False) -> list[Spec]:
    """All instances, families interleaved; `quick` is a small subset of every family."""
    families = [_folded(), _free(), _grids(), _layered()]
    mixed = [spec for row in zip_longest(*families) for spec in row if spec is not None]
    if quick:
        return [spec for family in families for spec in family[:3]] + _grids()[-6:-5] + _stress()[4::3]
    return mixed + _stress()


def _folded() -> list[Spec]:
    """Plan graphs with budgets that bind; M, L, K, rewards, costs and tightness vary together."""
    sizes = [(16, 30), (4, 20), (64, 50), (8, 10), (32, 40), (64, 30), (16, 40), (16, 50), (32, 30), (8, 40)]
    shares = (0.5, 0.3, 0.7, 0.4, 0.6, 0.8)
    found = []
    for index in range(30):
        plans, length = sizes[index % len(sizes)]
        found.append(
            Spec(
                "folded",
                shape(world=("plane", "lane")[index // 3 % 2], M=plans, L=length),
                resources=1 + index % 3,
                rewards=(*DENSE, *DENSE, "coarse")[index % 5],
                costs=("small", "money")[index // 2 % 2],
                budget=shares[index * 5 % 6],
                seed=index,
            )
        )
    return found


def _free() -> list[Spec]:
    """Budgets that do not bind (1.5 times the use of the unbudgeted optimum), and none at all."""
    found = []
    for index in range(8):
        turn, rewards, seed = index + index // 4, DENSE[index % 2], 100 + index
        plans, length = [(16, 30), (64, 30), (8, 20), (32, 40)][index % 4]
        side = (8, 12, 16, 20)[index % 4]
        shapes = {
            "folded": shape(world=("plane", "lane")[turn % 2], M=plans, L=length),
            "grid": shape(moves=("loose", "directed")[turn % 2], w=side, h=side, L=2 * side + 10),
            "layered": shape(layers=(12, 16, 20)[index % 3], width=(10, 20)[index % 2], degree=8),
        }
        for offset, (family, one) in enumerate(shapes.items()):
            count = (turn + offset) % 4
            found.append(Spec(family, one, count, rewards, budget=1.5 if count else None, seed=seed))
    return found


def _grids() -> list[Spec]:
    """Grids with budgets that bind; the last six are the hard ones."""
    sizes = [("directed", 16, 36), ("loose", 6, 24), ("directed", 60, 120), ("loose", 10, 40), ("directed", 30, 60)]
    found = []
    for index in range(12):
        moves, side, length = sizes[index % 5]
        found.append(
            Spec("grid", shape(moves=moves, w=side, h=side, L=length), resources=1 + index % 3,
                 rewards=DENSE[index % 2], costs=("small", "small", "hundreds")[index // 3 % 3],
                 budget=(0.75, 0.6, 0.7, 0.5, 0.65)[index % 5], seed=index)
        )  # fmt: skip
    return found + [
        Spec("grid", HARD, resources=3, rewards=DENSE[seed % 2], costs="hundreds", budget=0.7, seed=seed)
        for seed in range(2, 8)
    ]


def _layered() -> list[Spec]:
    """Layered graphs with tight budgets; the last has about 100,000 edge-steps."""
    sizes = [(15, 12, 6), (10, 8, 4), (30, 20, 10), (20, 30, 15), (40, 25, 8), (20, 20, 8)]
    found = []
    for index in range(12):
        layers, width, degree = sizes[index % 6]
        found.append(
            Spec("layered", shape(layers=layers, width=width, degree=degree), resources=1 + (index + index // 6) % 3,
                 rewards=DENSE[index // 2 % 2], costs=("small", "money")[index // 3 % 2],
                 budget=(0.4, 0.2, 0.6, 0.3, 0.5)[index % 5], seed=index)
        )  # fmt: skip
    large = shape(layers=45, width=30, degree=10)
    return [*found, Spec("layered", large, resources=1, costs="small", budget=0.4, seed=12)]


def _stress() -> list[Spec]:
    """About a million edge-steps each."""
    shapes = (shape(kind="random", n=2500, L=110), shape(kind="loose", n=2500, L=300))
    return [
        Spec("stress", one, resources=count, rewards=DENSE[count % 2], budget=0.5 if count else None, seed=count)
        for count in range(4)
        for one in shapes
    ]
