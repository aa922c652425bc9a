"""A problem with a risk, as linear resources that relax it and exact tests on top."""

from __future__ import annotations

from typing import NamedTuple

from solvers.deadline import NEVER, SolveDeadline
from solvers.problem import PathProblem
from solvers.risk import SCALE, variance_limit

_SURROGATE_BITS = 40


class Chance(NamedTuple):
    """An exact test: the path's mean and variance, two of the linear resources, must keep a budget at a risk.

    Attributes:
        mean: The resource that counts the mean.
        variance: The resource that counts the variance.
        budget: The budget of the total.
        square: `Risk.square`.
    """

    mean: int
    variance: int
    budget: int
    square: int


class LinearParts(NamedTuple):
    """Plain budgets that every feasible path keeps; it is feasible if and only if it passes the tests as well.

    Attributes:
        costs: E rows of K' non-negative ints.
        budgets: K' ints.
        chances: The tests; none without a risk, where K' = K and nothing is changed.
    """

    costs: tuple[tuple[int, ...], ...]
    budgets: tuple[int, ...]
    chances: tuple[Chance, ...] = ()


def linear_parts(problem: PathProblem, deadline: SolveDeadline = NEVER) -> LinearParts:
    """Gives each resource with spreads three linear ones: mean, variance, and a chord that joins the two.

    The square root is concave: between no variance and the largest that the budget B allows, it lies above its chord.
    Hence mean + (factor^2 / B) * variance <= B for every feasible path, a budget that prices can work with.
    """
    if not problem.is_risky or problem.risk is None:
        return LinearParts(tuple(problem.costs), tuple(problem.budgets))  # type: ignore[arg-type]
    square = problem.risk.square
    columns: list[list[int]] = []
    budgets: list[int] = []
    chances = []
    for k, budget in enumerate(problem.budgets):
        means = [row[k] for row in deadline.each(problem.costs)]
        variances = [row[k] ** 2 for row in deadline.each(problem.spreads)]
        columns.append(means)
        budgets.append(budget)
        if not any(variances):
            continue
        chances.append(Chance(len(columns) - 1, len(columns), budget, square))
        columns.append(variances)
        budgets.append(variance_limit(0, budget, square))
        if budget > 0:
            shift = max(0, _SURROGATE_BITS - budget.bit_length())
            joined = [
                ((budget * mean * SCALE + square * variance) << shift) // (budget * SCALE)
                for mean, variance in deadline.each(zip(means, variances, strict=True))
            ]
            columns.append(joined)
            budgets.append(budget << shift)
    return LinearParts(tuple(zip(*columns, strict=True)), tuple(budgets), tuple(chances))
