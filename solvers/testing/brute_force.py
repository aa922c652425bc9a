"""Enumeration of every path of a small problem: slow, obvious, and independent of the solvers' code."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from operator import sub
from typing import ClassVar

from solvers import PathProblem, PathSolution, Solver, Status
from solvers.answer import with_path, without_path


@dataclass(frozen=True)
class Best:
    """The best path and its exact objective, in the decimal numbers that the problem's floats are written as."""

    objective: Fraction
    edges: tuple[int, ...]


def paths(problem: PathProblem) -> Iterator[tuple[int, ...]]:
    """Every feasible path, as edge indices."""
    out: dict[int, list[int]] = {}
    for edge, (tail, _) in enumerate(problem.edges):
        out.setdefault(tail, []).append(edge)

    terminals = set(problem.terminals)
    waiting: list[tuple[int, tuple[int, ...], tuple[int, ...]]] = []
    if all(budget >= 0 for budget in problem.budgets):
        waiting.append((problem.start, (), tuple(problem.budgets)))
    while waiting:
        node, edges, left = waiting.pop()
        if node in terminals and likely_enough(problem, edges):
            yield edges
        if len(edges) == problem.horizon:
            continue
        for edge in out.get(node, ()):
            rest = tuple(map(sub, left, problem.costs[edge]))
            if min(rest, default=0) >= 0:
                waiting.append((problem.edges[edge][1], (*edges, edge), rest))


def likely_enough(problem: PathProblem, edges: tuple[int, ...]) -> bool:
    """Whether every budget leaves the path's mean enough standard deviations: squares compared, in fractions."""
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
    """Every path with its exact objective, under the full order: objective, fewer moves, then smallest edges."""
    unit, losses = _losses(problem)
    return [(Fraction(-loss, unit), edges) for loss, _, edges in sorted(losses)]


@lru_cache(maxsize=4096)
def best(problem: PathProblem) -> Best | None:
    """The best path under the full order."""
    unit, losses = _losses(problem)
    first = min(losses, default=None)
    return None if first is None else Best(Fraction(-first[0], unit), first[2])


def _losses(problem: PathProblem) -> tuple[int, Iterator[tuple[int, int, tuple[int, ...]]]]:
    """Of every path what the full order compares; the first is the negative objective, in units of 1 / the first."""
    discount = Fraction(repr(problem.discount))
    weights = [discount**step for step in range(problem.steps)]
    rewards = [Fraction(repr(reward)) for reward in [*problem.rewards, *problem.edge_rewards]]
    exact = [[weight * reward for reward in rewards] for weight in weights]
    unit = math.lcm(*(gain.denominator for row in exact for gain in row))
    gains = [[int(gain * unit) for gain in row] for row in exact]
    stays = problem.objective == "stay"

    def loss(edges: tuple[int, ...]) -> int:
        total, node = 0, problem.start
        for step in range(problem.steps):
            if step < len(edges):
                node = problem.edges[edges[step]][1]
                if problem.edge_rewards:
                    total -= gains[step][problem.n_nodes + edges[step]]
            elif not stays:
                break
            total -= gains[step][node]
        return total

    return unit, ((loss(edges), len(edges), edges) for edges in paths(problem))


class Enumeration(Solver):
    """Tries every path."""

    name: ClassVar[str] = "enumeration"
    summary: ClassVar[str] = "for tests"
    handles_risk: ClassVar[bool] = True

    def _solve(self, problem: PathProblem, time_limit: float | None) -> PathSolution:
        del time_limit  # small problems only
        result = best(problem)
        return without_path(Status.INFEASIBLE) if result is None else with_path(problem, result.edges, Status.OPTIMAL)
