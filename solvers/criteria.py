"""One criterion of a problem as the objective of another one, compared exactly, with the other criteria under caps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from solvers.api import solve
from solvers.base import Solver
from solvers.check import objective_of
from solvers.deadline import SolveDeadline
from solvers.errors import BackendError, ProblemError
from solvers.grid import largest_reward
from solvers.moves import enough_moves, exact_gains
from solvers.problem import PathProblem
from solvers.relaxations import OpenError
from solvers.solution import Status
from solvers.visit import compiled

_DIGITS = 12
"""Digits in which objectives with a discount are compared; without one they are compared exactly."""


def exact_objective(problem: PathProblem) -> Callable[[Sequence[int]], Fraction]:
    """What gives a path's objective exactly, each reward being the decimal that it is written as."""
    if problem.discount != 1:
        return lambda edges: Fraction(f"{objective_of(problem, edges):.{_DIGITS}g}")
    gains = exact_gains(problem)

    def objective(edges: Sequence[int]) -> Fraction:
        moved = sum((gains[edge] for edge in edges), Fraction(0))
        if problem.objective == "visit":
            return moved
        end = problem.edges[edges[-1]][1] if edges else problem.start
        return moved + (problem.steps - len(edges)) * Fraction(repr(problem.rewards[end]))

    return objective


def by_cost(problem: PathProblem, resource: int) -> PathProblem:
    """The problem whose best path takes the least of one resource.

    Raises:
        ProblemError: If the costs have so many digits that solvers could not compare their sums.
    """
    costs = [row[resource] for row in problem.costs]
    shared = math.gcd(*costs) or 1
    plain = replace(
        problem,
        rewards=[0.0] * problem.n_nodes,
        edge_rewards=[-float(cost // shared) for cost in costs],
        objective="visit",
        discount=1.0,
    )
    plain = plain if plain.horizon is not None else replace(plain, horizon=max(1, problem.n_nodes - 1))
    if max(costs, default=0) // shared > largest_reward(plain.steps):
        wrong = "has too many digits to be compared exactly; give it in a coarser unit"
        raise ProblemError("criteria", None, problem.resources[resource], wrong)
    return plain


def cheapest_first(problem: PathProblem, axes: Sequence[int]) -> PathProblem:
    """The problem in which of paths of equal objective one comes first that takes less of some resources.

    Where the numbers have no room for that it is the problem as it was: then such paths come in any order.
    """
    if problem.objective != "visit" or problem.discount != 1 or not axes:
        return problem
    exact = exact_gains(problem)
    unit = math.lcm(*(gain.denominator for gain in exact))
    shared = math.gcd(*(int(gain * unit) for gain in exact)) or 1
    whole = [int(gain * unit) // shared for gain in exact]
    spent = [sum(row[k] for k in axes) for row in problem.costs]
    above = 1 + min(problem.steps * max(spent, default=0), sum(problem.budgets[k] for k in axes))
    rewards = [gain * above - taken for gain, taken in zip(whole, spent, strict=True)]
    if max(map(abs, rewards), default=0) > largest_reward(problem.steps):
        return problem
    return replace(problem, rewards=[0.0] * problem.n_nodes, edge_rewards=list(map(float, rewards)))


class UnderCaps:
    """The best paths of one problem under one set of budgets after another; what it has in common is built once.

    Args:
        problem: The problem; a horizon that it lacks is that of its own budgets, so no others may be larger.
        solver: As for `solvers.solve`.
        deadline: When to give up.

    Attributes:
        solves: How often a solver was asked.
    """

    def __init__(self, problem: PathProblem, solver: str | Solver, deadline: SolveDeadline) -> None:
        if problem.horizon is None:
            problem = problem.with_valid(horizon=enough_moves(problem, deadline))
        self.problem = problem
        self.solves = 0
        self._asked = compiled(problem, deadline)
        self._solver, self._deadline = solver, deadline

    def best(self, budgets: Sequence[int]) -> tuple[int, ...] | None:
        """The edges of the best path under some budgets; None if it is proven that there is none.

        Raises:
            OpenError: If the time was up before there was a proof.
            BackendError: If the solver failed.
        """
        self._deadline.check()
        self.solves += 1
        posed, left = self._asked.problem.with_valid(budgets=tuple(budgets)), self._deadline.left()
        limit = None if left is None else max(left, 1e-6)
        answer = solve(posed, self._solver, limit)
        if answer.status is Status.ERROR:
            raise BackendError(answer.message)
        if answer.status not in (Status.OPTIMAL, Status.INFEASIBLE):
            raise OpenError(answer.message or "the time was up before the best path was proven")
        return self._asked.edges(answer.edges) if answer.has_path else None
