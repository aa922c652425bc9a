"""Seeded random problems, small enough for brute force, with ties, cycles, parallel edges and binding budgets."""

from __future__ import annotations

import random
from dataclasses import replace

from solvers import Assumption, PathProblem, Risk, consumption_of, variance_of
from tests.solvers.brute_force import Best, best

DISCOUNTS = (1.0, 1.0, 0.9, 0.5)


def small(seed: int) -> PathProblem:
    """A random problem of at most 5 nodes, 9 edges, 6 steps and 3 resources."""
    rng = random.Random(seed)
    n = rng.choice([1, 2, 3, 4, 4, 5, 5])
    edges = [(rng.randrange(n), rng.randrange(n)) for _ in range(rng.randint(n, 9))]
    resources = rng.randint(0, 3)
    dearest = rng.choice([1, 3, 10])
    grid = rng.choice([[0.0, 1.0], [-0.3, -0.1, 0.0, 0.1, 0.2, 0.3], [x / 100 for x in range(-100, 101)]])
    start = rng.randrange(n)
    # Mostly away from the start, where the best walk would often be the empty one.
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


def tight(seed: int) -> PathProblem:
    """As `small`, with each budget at or just below what the unbudgeted optimum uses, so that most of them bind."""
    rng = random.Random(seed)
    problem = small(seed)
    free = _free(problem)
    if free is None:
        return problem
    used = consumption_of(problem, free.edges)
    return replace(problem, budgets=[max(0, amount - rng.randint(0, 4)) for amount in used])


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
