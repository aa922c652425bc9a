"""Enumeration of every walk of a small problem: slow, obvious, and independent of the solvers' code."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from solvers import PathProblem


@dataclass(frozen=True)
class Best:
    """The best walk and its exact objective, in the decimal numbers that the problem's floats are written as."""

    objective: Fraction
    edges: tuple[int, ...]


def walks(problem: PathProblem) -> Iterator[tuple[int, ...]]:
    """Every feasible walk, as edge indices."""
    out: dict[int, list[int]] = {}
    for edge, (tail, _) in enumerate(problem.edges):
        out.setdefault(tail, []).append(edge)

    def grow(node: int, edges: tuple[int, ...], left: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if node in problem.terminals and likely_enough(problem, edges):
            yield edges
        if len(edges) == problem.horizon:
            return
        for edge in out.get(node, []):
            rest = tuple(have - cost for have, cost in zip(left, problem.costs[edge], strict=True))
            if all(amount >= 0 for amount in rest):
                yield from grow(problem.edges[edge][1], (*edges, edge), rest)

    if all(budget >= 0 for budget in problem.budgets):
        yield from grow(problem.start, (), tuple(problem.budgets))


def likely_enough(problem: PathProblem, edges: tuple[int, ...]) -> bool:
    """Whether every budget leaves the walk's mean enough standard deviations: squares compared, in fractions."""
    if problem.risk is None or not problem.spreads:
        return True
    factor_squared = Fraction(problem.risk.square, 2**20)
    for k, budget in enumerate(problem.budgets):
        above = budget - sum(problem.costs[edge][k] for edge in edges)
        variance = sum(problem.spreads[edge][k] ** 2 for edge in edges)
        if above < 0 or Fraction(above) ** 2 < factor_squared * variance:
            return False
    return True


def ranking(problem: PathProblem) -> list[tuple[Fraction, tuple[int, ...]]]:
    """Every walk with its exact objective, under the full order: objective, fewer moves, then smallest edges."""
    discount = Fraction(repr(problem.discount))
    weights = [discount**step for step in range(problem.horizon)]
    rewards = [Fraction(repr(reward)) for reward in problem.rewards]
    exact = [[weight * reward for reward in rewards] for weight in weights]
    unit = math.lcm(*(gain.denominator for row in exact for gain in row))
    gains = [[int(gain * unit) for gain in row] for row in exact]

    def objective(edges: tuple[int, ...]) -> int:
        total, node = 0, problem.start
        for step in range(problem.horizon):
            if step < len(edges):
                node = problem.edges[edges[step]][1]
            total += gains[step][node]
        return total

    ranked = sorted((-objective(edges), len(edges), edges) for edges in walks(problem))
    return [(Fraction(-loss, unit), edges) for loss, _, edges in ranked]


def best(problem: PathProblem) -> Best | None:
    """The best walk under the full order."""
    first = next(iter(ranking(problem)), None)
    return None if first is None else Best(*first)
