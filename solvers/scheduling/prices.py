"""Prices of budgets and of time, with which no plan can earn more than a bound.

Lagrangian relaxation: a resource costs its price, and time has a price on each of some chains of steps, the longest
ones that were met. A step then chooses its variant for itself, and what they all earn at these prices, with what the
budgets and the end are worth at them, is a bound for every plan, whatever the prices. Good ones are found by
subgradients (Held, Wolfe and Crowder 1974). Prices on chains are a flow through the graph of steps, so the bound also
holds for the rest of a plan that has been begun: each step that waits pays the flow into it for each unit of its delay.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.scheduling.objective import Objective
from solvers.scheduling.problem import ScheduleProblem

Floats = NDArray[np.float64]

_ROUNDS, _PATIENCE, _SHRINK = 8, 10, 0.6
"""Rounds for each step; after how many without a better bound steps of the search get shorter, and how much."""


@dataclass(frozen=True)
class DualPrices:
    """Prices, and what they say.

    Attributes:
        bound: No plan has a higher objective.
        budgets: The price of a unit of each capped resource.
        flow: The price of a unit of time between two steps, by their numbers; -1 is the beginning, the number of steps
            the end.
        reduced: For each step what its variants earn at these prices.
    """

    bound: float
    budgets: Floats
    flow: Mapping[tuple[int, int], float]
    reduced: tuple[Floats, ...]

    @property
    def total(self) -> float:
        """The price of a unit of time on all chains together."""
        return sum(price for (_, step), price in self.flow.items() if step == len(self.reduced))


class _Tables:
    """A problem as matrices, steps with fewer variants filled up with what is never chosen."""

    def __init__(self, problem: ScheduleProblem, objective: Objective) -> None:
        self.capped = [k for k, budget in enumerate(problem.budgets) if budget is not None]
        self.caps = np.array([problem.budgets[k] for k in self.capped], float)
        count, most = len(problem.steps), max(map(len, problem.steps))
        self.gains = np.full((count, most), -np.inf)
        self.times = np.zeros((count, most))
        self.uses = np.zeros((len(self.capped), count, most))
        for step, variants in enumerate(problem.steps):
            self.gains[step, : len(variants)] = objective.gains[step]
            self.times[step, : len(variants)] = [variant.time for variant in variants]
            for row, k in enumerate(self.capped):
                self.uses[row, step, : len(variants)] = [variant.use[k] for variant in variants]

    def reduced(self, budgets: Floats, time: Floats) -> Floats:
        """What variants earn at prices of budgets and, by step, of time."""
        return np.asarray(self.gains - np.tensordot(budgets, self.uses, 1) - time[:, None] * self.times)


def prices(problem: ScheduleProblem, objective: Objective) -> DualPrices:
    """Good prices for a problem; where nothing binds they are 0."""
    tables, count = _Tables(problem, objective), len(problem.steps)
    soonest, steps = max(problem.fastest, default=0), np.arange(count)
    unit = np.concatenate([np.maximum(tables.caps, 1.0), [max(1.0, problem.latest)]])
    budgets, on_chains = np.zeros(len(tables.caps)), np.zeros(0)
    chains: list[tuple[int, ...]] = []
    through = np.zeros((0, count))
    best, kept, size, waited = np.inf, (budgets, on_chains), 0.01, 0
    for _ in range(_ROUNDS * (count + 1)):
        reduced = tables.reduced(budgets, on_chains @ through)
        choice, over = reduced.argmax(1), on_chains.sum() - objective.late
        end = problem.latest if over >= 0 else soonest
        bound = reduced[steps, choice].sum() + budgets @ tables.caps + over * end
        if bound < best:
            waited = 0 if bound < best - 1e-6 * abs(best) or best == np.inf else waited + 1
            best, kept = bound, (budgets, on_chains)
        else:
            waited += 1
        if waited >= _PATIENCE:
            size, waited, (budgets, on_chains) = size * _SHRINK, 0, kept
            on_chains = np.concatenate([on_chains, np.zeros(len(chains) - len(on_chains))])
        times = tables.times[steps, choice]
        chain = problem.longest_chain([int(time) for time in times])
        if chain not in chains and times[[*chain]].sum() > end:
            chains.append(chain)
            through = np.vstack([through, np.isin(steps, chain)])
            on_chains = np.append(on_chains, 0.0)
        slack = tables.caps - tables.uses[:, steps, choice].sum(1)
        paid = np.concatenate([budgets, on_chains])
        scale = np.concatenate([unit[:-1], np.full(len(chains), unit[-1])])
        slope = np.concatenate([slack, end - through @ times]) / scale
        slope[(paid <= 0) & (slope > 0)] = 0
        if not slope.any():
            break
        paid = np.maximum(0, paid - size * max(1.0, abs(best)) / (slope @ slope) * slope / scale)
        budgets, on_chains = paid[: len(budgets)], paid[len(budgets) :]
    budgets, on_chains = kept
    rows = tables.reduced(budgets, on_chains @ through[: len(on_chains)])
    reduced_rows = tuple(row[: len(variants)] for row, variants in zip(rows, problem.steps, strict=True))
    return DualPrices(float(best), budgets, _flow(chains, on_chains, count), reduced_rows)


def _flow(chains: Sequence[Sequence[int]], on_chains: Floats, count: int) -> Mapping[tuple[int, int], float]:
    flow: dict[tuple[int, int], float] = defaultdict(float)
    for chain, price in zip(chains, on_chains, strict=False):
        before = -1
        for step in (*chain, count):
            flow[before, step] += float(price)
            before = step
    return flow
