"""Seeded random resource-constrained shortest path problems, small ones with the truth about them."""

from __future__ import annotations

import random
from functools import lru_cache

import numpy as np

from solvers.rcsp.problem import RcspProblem
from tests.solvers.rcsp.brute_force import Task, TooManyError, Truth, brute_force, reached


@lru_cache(maxsize=4096)
def small_task(seed: int) -> tuple[Task, Truth]:
    """A random task, with the truth about it.

    Grids, layers, rings and random graphs of at most 9 nodes, with parallel edges and loops; up to 10 resources, with
    upper and lower limits that mostly bind, on edges and nodes; costs that are positive, often 0 or equal, or negative,
    with circles that use a limited resource, or do not; ends that are the same node, or not connected; whole numbers,
    sometimes decimals; up to six paths; any paths, or elementary ones.
    """
    rng = random.Random(seed)
    while True:
        task = _trade(rng) if rng.random() < 0.15 else _random_task(rng)
        try:
            return task, brute_force(task)
        except TooManyError:
            continue


def _trade(rng: random.Random) -> Task:
    """A chain of moves between three ways each, of which the dear ones use little: many labels, few dominated."""
    moves = rng.randint(4, 6)
    resources = rng.randint(1, 3)
    tails = [v for v in range(moves) for _ in range(3)]
    use = [[rng.randint(0, 9) for _ in range(resources)] for _ in tails]
    cost = [max(0, 14 - sum(row) + rng.randint(-4, 6)) for row in use]
    upper = [rng.randint(3 * moves, 5 * moves) for _ in range(resources)]
    lower = [rng.randint(0, high) if rng.random() < 0.2 else 0 for high in upper]
    problem = RcspProblem(moves + 1, tails, [v + 1 for v in tails], cost, use, lower=lower, upper=upper)
    return Task(problem, rng.choice([1, 1, 2, 3, 6]), elementary=False)


def _random_task(rng: random.Random) -> Task:
    n, ends = _graph(rng)
    resources = rng.choice([0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 10])
    most = 1 if resources == 10 else rng.choice([1, 2, 3, 5, 9])
    free = rng.choice([0.0, 0.0, 0.3, 0.6])
    use = [[0 if rng.random() < free else rng.randint(0, most) for _ in range(resources)] for _ in ends]
    cost, always = _edge_costs(rng, ends, use)
    if always and resources:  # so that circles of negative cost have an end
        for row in use:
            row[0] = max(1, row[0])
    heads = [[head for tail, head in ends if tail == node] for node in range(n)]
    source = max(rng.choices(range(n), k=3), key=lambda node: len(reached(node, heads)))
    target = max(rng.choices(sorted(reached(source, heads) - {source}) or [source], k=2))
    target = rng.choice([target] * 18 + [source, rng.randrange(n)])
    lower, upper = _random_limits(rng, _wander(rng, ends, source, target, rng.choice([6, 9, 12])), use, resources)
    tenths, quarters = rng.choice([(1, 1), (1, 1), (1, 1), (10, 1), (10, 4)])  # of which costs and amounts are so many
    at_nodes = rng.random() < 0.35
    amounts = np.array(use, dtype=int).reshape(len(ends), resources)
    node_cost = [rng.randint(-1 if always else 0, 3) for _ in range(n)] if at_nodes else None
    visits = None
    if at_nodes and rng.random() < 0.7:
        visits = np.array([[rng.choice([0, 0, 1]) for _ in range(resources)] for _ in range(n)]).reshape(n, resources)
    if quarters > 1:
        lower, upper = [index / quarters for index in lower], [index and index / quarters for index in upper]
    problem = RcspProblem(
        n, [tail for tail, _ in ends], [head for _, head in ends],
        [index / tenths if tenths > 1 else index for index in cost], amounts / quarters if quarters > 1 else amounts,
        node_cost, visits, lower, upper, source, target,
    )  # fmt: skip
    elementary = rng.random() < (0.8 if min(cost, default=0) < -5 else 0.3)
    return Task(problem, rng.choice([1, 1, 1, 2, 3, 4, 6]), elementary)


def _graph(rng: random.Random) -> tuple[int, list[tuple[int, int]]]:
    """The number of nodes and the ends of the edges, in no order."""
    family = rng.choice(["grid", "layers", "ring", "chain", "chain", "random", "random", "random"])
    if family == "grid":
        width, height = rng.randint(2, 4), rng.randint(1, 3)
        n = width * height
        both = rng.random() < 0.4
        ends = [(v, v + 1) for v in range(n) if (v + 1) % width] + [(v, v + width) for v in range(n - width)]
        ends += [(head, tail) for tail, head in ends if both and rng.random() < 0.6]
    elif family == "layers":
        width, depth = rng.randint(1, 3), rng.randint(2, 4)
        n = min(9, width * depth)
        ends = [(v, w) for v in range(n) for w in range(n) if w // width == v // width + 1 and rng.random() < 0.8]
    elif family == "ring":
        n = rng.randint(2, 6)
        ends = [(v, (v + 1) % n) for v in range(n)]
    elif family == "chain":
        n = rng.choice([4, 6, 8])
        ends = [(v, v + 1) for v in range(n - 1) for _ in range(rng.choice([2, 3, 3, 4]))]
        ends += [(v, max(0, v - rng.randint(0, 2))) for v in range(n) if rng.random() < 0.2]
    else:
        n = rng.choice([1, 3, 4, 5, 6, 6, 7, 8])
        ends = [(rng.randrange(n), rng.randrange(n)) for _ in range(rng.randint(n, 3 * n))]
        if rng.random() < 0.3:
            ends = [(min(pair), max(pair)) for pair in ends if pair[0] != pair[1]]
    if ends and rng.random() < 0.4:
        ends += rng.choices(ends, k=rng.randint(1, 3))
    if rng.random() < 0.2:
        ends += [(v, v) for v in rng.sample(range(n), min(n, 2))]
    rng.shuffle(ends)
    return n, ends


def _edge_costs(rng: random.Random, ends: list[tuple[int, int]], use: list[list[int]]) -> tuple[list[int], bool]:
    """Costs, and whether each edge must use something, or circles may be endless."""
    style = rng.choice([*["dear"] * 5, "positive", "ties", "acyclic", "limited", "limited", "any", "any", "earning"])
    if style == "dear":  # what uses little
        return [max(0, 12 - max(row, default=0) + rng.randint(-4, 4)) for row in use], False
    if style == "earning":  # so that elementary paths would rather not be
        return [rng.randint(-8, 4) for _ in ends], False
    if style == "positive":
        return [rng.randint(1, 20) for _ in ends], False
    if style == "ties":
        return [rng.choice([0, 0, 1, 2]) for _ in ends], False
    if style == "acyclic":  # a height for each node: circles cost what the edges cost beyond the difference
        height = [rng.randint(-9, 9) for _ in range(1 + max((max(pair) for pair in ends), default=0))]
        return [height[head] - height[tail] + rng.choice([0, 0, 1, 3]) for tail, head in ends], False
    if style == "limited":
        return [rng.randint(-5, 8) for _ in ends], True
    return [rng.choice([-3, -1, 0, 1, 1, 2]) for _ in ends], False


def _wander(rng: random.Random, ends: list[tuple[int, int]], node: int, target: int, most: int) -> list[int]:
    """The edges of a random path of so many moves at most from a node to the target, or in its direction."""
    back = [[tail for tail, head in ends if head == node] for node in range(1 + max(map(max, ends), default=0))]
    leading = reached(target, back) if target < len(back) else set[int]()
    path: list[int] = []
    for _ in range(most):
        ways = [edge for edge, (tail, head) in enumerate(ends) if tail == node and head in leading]
        if not ways or (node == target and rng.random() < 0.7):
            break
        path.append(rng.choice(ways))
        node = ends[path[-1]][1]
    return path


def _random_limits(
    rng: random.Random, path: list[int], use: list[list[int]], resources: int
) -> tuple[list[int], list[int | None]]:
    """Limits of about what a path uses."""
    lower, upper = [], list[int | None]()
    with_lower = rng.random() < 0.5
    for k in range(resources):
        typical = sum(use[edge][k] for edge in path)
        high = None if rng.random() < 0.15 else max(0, typical + rng.choice([-1, 0, 0, 0, 1, 2]))
        upper.append(high)
        least = max(0, typical - rng.randint(-1, 2)) if with_lower and rng.random() < 0.6 else 0
        lower.append(least if high is None or rng.random() < 0.1 else min(least, high))
    return lower, upper


def medium_task(seed: int) -> Task:
    """A random task too large for brute force, on which label setting has to work.

    A grid of one-way or two-way streets, layers or a random graph of 20 to 80 nodes; 1 to 5 resources with limits of
    about what two paths use; some with lower limits, negative costs, and more than one path wanted.
    """
    rng = random.Random(seed)
    family = rng.choice(["grid", "layers", "random"])
    if family == "grid":
        width, height = rng.randint(4, 9), rng.randint(4, 9)
        n = width * height
        ends = [(v, v + 1) for v in range(n) if (v + 1) % width] + [(v, v + width) for v in range(n - width)]
        if rng.random() < 0.5:
            ends += [(head, tail) for tail, head in ends]
    elif family == "layers":
        width, n = rng.randint(4, 8), rng.randint(20, 60)
        ends = [(v, rng.randint(v + 1, min(n - 1, v + width))) for v in range(n - 1) for _ in range(4)]
    else:
        n = rng.randint(20, 50)
        ends = [(rng.randrange(n), rng.randrange(n)) for _ in range(4 * n)]
    rng.shuffle(ends)
    resources, most = rng.choice([1, 2, 2, 3, 5]), rng.choice([3, 10, 100])
    use = [[rng.randint(1, most) for _ in range(resources)] for _ in ends]
    least = rng.choice([0, 1, 1, 1, -2])
    cost = [rng.randint(least, rng.choice([5, 50])) for _ in ends]
    paths = [_wander(rng, ends, 0, n - 1, 40) for _ in range(2)]
    used = [[sum(use[edge][k] for edge in path) for path in paths] for k in range(resources)]
    problem = RcspProblem(
        n, [tail for tail, _ in ends], [head for _, head in ends], cost, use,
        lower=[min(row) // 2 if rng.random() < 0.1 else 0 for row in used],
        upper=[rng.randint(min(row), max(row)) for row in used], target=n - 1,
    )  # fmt: skip
    return Task(problem, rng.choice([1, 1, 2, 5]), elementary=rng.random() < 0.2)
