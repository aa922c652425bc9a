"""Seeded random problems with ties, cycles, parallel edges and binding budgets, from tiny to endless."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

from solvers import Assumption, PathProblem, Risk, consumption_of, solve
from solvers.check import variance_of
from solvers.testing.brute_force import Best, best

DISCOUNTS = (1.0, 1.0, 0.9, 0.5)


@cache
def small(seed: int) -> PathProblem:
    """A random problem of at most 5 nodes, 9 edges, 6 steps and 3 resources."""
    rng = random.Random(seed)
    n = rng.choice([1, 2, 3, 4, 4, 5, 5])
    edges = [(rng.randrange(n), rng.randrange(n)) for _ in range(rng.randint(n, 9))]
    resources = rng.randint(0, 3)
    dearest = rng.choice([1, 3, 10])
    grid = rng.choice([[0.0, 1.0], [-0.3, -0.1, 0.0, 0.1, 0.2, 0.3], [x / 100 for x in range(-100, 101)]])
    start = rng.randrange(n)
    # Mostly away from the start, where the best path would often be the empty one.
    ends = [v for v in range(n) if v != start] if n > 1 and rng.random() < 0.8 else list(range(n))
    return PathProblem(
        n_nodes=n,
        edges=edges,
        rewards=[rng.choice(grid) for _ in range(n)],
        costs=[[rng.randint(0, dearest) for _ in range(resources)] for _ in edges],
        budgets=[rng.randint(dearest // 2, 2 * dearest + 1) for _ in range(resources)],
        start=start,
        terminals=rng.sample(ends, rng.randint(1, (len(ends) + 1) // 2)),
        horizon=rng.randint(1, 6),
        discount=rng.choice(DISCOUNTS),
    )


@cache
def tight(seed: int) -> PathProblem:
    """As `small`, with each budget at or just below what the unbudgeted optimum uses, so that most of them bind."""
    rng = random.Random(seed)
    problem = small(seed)
    free = _free(problem)
    if free is None:
        return problem
    used = consumption_of(problem, free.edges)
    return replace(problem, budgets=[max(0, amount - rng.randint(0, 4)) for amount in used])


@cache
def risky(seed: int) -> PathProblem:
    """As `small`, with spreads and a risk; most budgets keep the mean of the unbudgeted optimum, but not its spread."""
    rng = random.Random(seed)
    problem = small(rng.randrange(10**9))
    while (free := _free(problem)) is None or not free.edges or not problem.budgets:
        problem = small(rng.randrange(10**9))
    wide, risk = rng.choice([1, 3, 10]), Risk(rng.choice([0.4, 0.1, 0.05, 0.01]), rng.choice(list(Assumption)))
    spreads = [[rng.choice([0, 1, rng.randint(0, wide)]) for _ in problem.budgets] for _ in problem.edges]
    problem = replace(problem, spreads=spreads, risk=risk)
    budgets = []
    for mean, variance in zip(consumption_of(problem, free.edges), variance_of(problem, free.edges), strict=True):
        ample = mean + risk.factor * variance**0.5
        budgets.append(rng.choice([mean, round((mean + ample) / 2), int(ample), int(ample) + 1, max(0, mean - 1)]))
    return replace(problem, budgets=budgets)


def _free(problem: PathProblem) -> Best | None:
    return best(replace(problem, budgets=[10**9] * len(problem.budgets)))


def layered(seed: int, n: int = 300, horizon: int = 60, resources: int = 2) -> PathProblem:
    """A problem of the size of a large plan graph, whose budgets bind."""
    rng = random.Random(seed)
    edges = [(v, (v + rng.choice([1, 1, 2, 3, 5, 8])) % n) for v in range(n) for _ in range(3)]
    return PathProblem(
        n_nodes=n,
        edges=edges,
        rewards=[round(rng.uniform(-1, 1) * (0.3 if n // 4 <= v < n // 2 else 1), 2) for v in range(n)],
        costs=[[rng.randint(1, 9) for _ in range(resources)] for _ in edges],
        budgets=[(5 * horizon) // 2 for _ in range(resources)],
        start=0,
        terminals=rng.sample(range(n // 4, n // 2), max(1, n // 20)),
        horizon=horizon,
    )


def plain(seed: int) -> PathProblem:
    """A grid, a chain with skips or a random graph of up to 40 nodes, with up to 4 budgets that mostly bind.

    Costs are anything from 0 or 1 to large amounts of money; rewards are dense, coarse (so that there are ties) or
    negative. Edges are in no order; there are parallel ones, self-loops, and terminals on the way to others.
    """
    rng = random.Random(seed)
    family = rng.choice(["grid", "chain", "random"])
    resources = rng.choice([1, 1, 2, 2, 3, 4])
    if family == "grid":
        w, h = rng.randint(3, 7), rng.randint(3, 6)
        n, edges = w * h, loose_grid(w, h)
        horizon = rng.randint(w + h - 2, 2 * (w + h))
        terminals = [n - 1, *rng.sample(range(n), rng.randint(0, 2))]
    elif family == "chain":
        n = rng.randint(8, 40)
        edges = [(v, min(n - 1, v + rng.randint(1, 4))) for v in range(n - 1) for _ in range(3)]
        horizon, terminals = rng.randint(6, 25), rng.sample(range(n // 2, n), 3)
    else:
        n = rng.randint(4, 30)
        edges = [(rng.randrange(n), rng.randrange(n)) for _ in range(3 * n)]
        horizon, terminals = rng.randint(3, 20), rng.sample(range(n), rng.randint(1, 3))
    rng.shuffle(edges)
    costs = _costs(rng, len(edges), resources)
    rewards = _rewards(rng, n)
    discount = rng.choice([1.0, 1.0, 0.9, 0.95])
    problem = PathProblem(n, edges, rewards, costs, [2**50] * resources, 0, terminals, horizon, discount)
    return _budgeted(rng, problem, (0.3, 1.0))


def demanding(seed: int) -> PathProblem:
    """As `plain`, but large and with such budgets that label setting is mostly needed, often more than one sweep."""
    rng = random.Random(seed)
    family = rng.choice(["grid", "grid", "grid", "chain", "random"])
    resources = rng.choice([1, 2, 3, 3, 4, 4])
    if family == "grid":
        w, h = rng.randint(5, 7), rng.randint(4, 7)
        n, edges = w * h, loose_grid(w, h)
        horizon, terminals = rng.randint(2 * (w + h) - 4, 3 * (w + h) - 6), [n - 1]
    elif family == "chain":
        n = rng.randint(30, 60)
        edges = [(v, min(n - 1, v + rng.randint(1, 4))) for v in range(n - 1) for _ in range(4)]
        horizon, terminals = rng.randint(15, 30), list(range(n - 4, n))
    else:
        n = rng.randint(15, 30)
        edges = [(rng.randrange(n), rng.randrange(n)) for _ in range(4 * n)]
        horizon, terminals = rng.randint(8, 18), rng.sample(range(n), 2)
    rng.shuffle(edges)
    costs = _costs(rng, len(edges), resources)
    rewards = _rewards(rng, n)
    for node in terminals:
        rewards[node] /= 2
    discount = rng.choice([1.0, 1.0, 1.0, 0.95])
    problem = PathProblem(n, edges, rewards, costs, [2**50] * resources, 0, terminals, horizon, discount)
    return _budgeted(rng, problem, (0.5, 0.85), at_a_risk=0.0 if resources > 2 else 0.2)  # a risk triples them


def loose_grid(w: int, h: int) -> list[tuple[int, int]]:
    """The edges of a w x h grid of cells, in all four directions."""
    return [
        (y * w + x, b * w + a)
        for y in range(h)
        for x in range(w)
        for a, b in ((x + 1, y), (x, y + 1), (x - 1, y), (x, y - 1))
        if 0 <= a < w and 0 <= b < h
    ]


def endless(seed: int, side: int = 20, horizon: int = 100, resources: int = 6) -> PathProblem:
    """A loosely directed grid with so many dear resources that no solver proves its optimum soon."""
    rng = random.Random(seed)
    edges, n = loose_grid(side, side), side**2
    rewards = [rng.uniform(-0.2, 1) for _ in range(n)]
    rewards[-1] /= 2
    costs = [[rng.randint(200, 5000) for _ in range(resources)] for _ in edges]
    problem = PathProblem(n, edges, rewards, costs, [2**50] * resources, 0, [n - 1], horizon)
    return _budgeted(rng, problem, (0.7, 0.7), at_a_risk=0)


def _costs(rng: random.Random, edges: int, resources: int) -> list[list[int]]:
    low, high = rng.choice([(0, 1), (0, 3), (1, 9), (100, 999), (200, 5000), (10**6, 9 * 10**7)])
    free = rng.choice([0.0, 0.0, 0.1, 0.3])
    return [[0 if rng.random() < free else rng.randint(low, high) for _ in range(resources)] for _ in range(edges)]


def _rewards(rng: random.Random, n: int) -> list[float]:
    style = rng.choice(["coarse", "dense", "dense", "negative"])
    if style == "coarse":
        return [rng.randint(-2, 10) / 10 for _ in range(n)]
    low, high = (-1, 0) if style == "negative" else (-0.2, 1)
    return [rng.uniform(low, high) for _ in range(n)]


def _budgeted(
    rng: random.Random, problem: PathProblem, shares: tuple[float, float], at_a_risk: float = 0.2
) -> PathProblem:
    """Each budget a share of what the unbudgeted optimum uses; sometimes a little more, with spreads and a risk."""
    free = solve(replace(problem, costs=(), budgets=(), resources=()))
    if not free.has_path:
        return problem
    used = consumption_of(problem, free.edges)
    problem = replace(problem, budgets=[int(amount * rng.uniform(*shares)) for amount in used])
    if rng.random() >= at_a_risk:
        return problem
    wide = max(1, max(map(max, problem.costs)) // 5)
    return replace(
        problem,
        budgets=[int(budget * 1.15) + 1 for budget in problem.budgets],
        spreads=[[rng.randint(0, wide) for _ in row] for row in problem.costs],
        risk=Risk(rng.choice([0.3, 0.1, 0.05]), rng.choice(list(Assumption))),
    )
