"""Re-verification of any answer from the problem alone, in exact integers where budgets are concerned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

from solvers.grid import tail_weight
from solvers.problem import PathProblem
from solvers.risk import keeps
from solvers.solution import PathSolution, Status

OBJECTIVE_TOLERANCE = 1e-9
"""Allowed error of an objective, relative to the sum of the absolute rewards along the path."""

OPTIMALITY_TOLERANCE = 1e-6
"""Largest gap, relative to max(1, |objective|), between objective and bound of an answer called OPTIMAL."""

_FEW_STAYS = 64
"""So many equal terms are added sooner than their product is split into exact ones."""

_MOST_STAYS = 10_000
"""More discounted stays are added by their closed form, whose relative error is about 1e-15."""

_NEEDS_PATH = {
    Status.OPTIMAL: True,
    Status.FEASIBLE: True,
    Status.INFEASIBLE: False,
    Status.TIMEOUT: False,
    Status.ERROR: False,
}


def check(problem: PathProblem, solution: PathSolution) -> list[str]:
    """Re-verifies an answer from the problem alone.

    Verified: status against presence of a path; the path's edges, nodes, start, terminal end and length; consumption
    and budgets in exact integers, with the problem's risk where it has one; the objective, free stays included;
    bound >= objective, and for OPTIMAL a bound that closes the gap. That INFEASIBLE or OPTIMAL is *true* is the
    solver's proof and cannot be re-verified here.

    Args:
        problem: The problem.
        solution: Any solver's answer to it.

    Returns:
        One sentence per violated rule; empty if the answer holds.

    Examples:
        >>> from dataclasses import replace
        >>> from solvers import PathProblem, check, solve
        >>> problem = PathProblem(
        ...     2, [(0, 1)], rewards=[0, 1], costs=[[3]], budgets=[3], start=0, terminals=[1], horizon=1
        ... )
        >>> check(problem, solve(problem))
        []
        >>> check(replace(problem, budgets=[2]), solve(problem))
        ['the path uses 3 of r0, of which there are 2']
    """
    wrong = []
    if solution.has_path != _NEEDS_PATH[solution.status]:
        wrong.append(f"status {solution.status} {'with' if solution.has_path else 'without'} a path")
    if solution.bound is not None and math.isnan(_real(solution.bound)):
        wrong.append("the bound is not a number")
    if not solution.has_path:
        if solution.edges or solution.objective is not None or solution.consumption:
            wrong.append("edges, an objective or a consumption without a path")
        return wrong
    faults = _check_path(problem, solution)
    if faults:
        return wrong + faults
    return wrong + _check_budgets(problem, solution) + _check_objective(problem, solution)


def path_nodes(problem: PathProblem, edges: Sequence[int]) -> tuple[int, ...]:
    """The m + 1 nodes that `edges` visit from the start; the edges must connect."""
    ends = problem.edges
    return (problem.start, *[ends[e][1] for e in edges])


def consumption_of(problem: PathProblem, edges: Sequence[int]) -> tuple[int, ...]:
    """What a path uses of each resource: K exact integer sums over its edges.

    Args:
        problem: The problem, with K budgets.
        edges: m edge indices.

    Returns:
        K amounts, in the units of the budgets; zeros for the empty path.

    Examples:
        >>> from solvers import PathProblem, consumption_of
        >>> edges, costs = [(0, 1), (1, 2)], [[2, 1], [3, 0]]
        >>> problem = PathProblem(
        ...     3, edges, rewards=[0, 0, 1], costs=costs, budgets=[9, 9], start=0, terminals=[2], horizon=2
        ... )
        >>> consumption_of(problem, [0, 1])
        (5, 1)
    """
    if not edges:
        return (0,) * len(problem.budgets)
    costs = problem.costs
    return tuple(map(sum, zip(*[costs[e] for e in edges], strict=True)))


def variance_of(problem: PathProblem, edges: Sequence[int]) -> tuple[int, ...]:
    """The variance of what a path uses: K exact integer sums of squared spreads over `edges` (m edge indices)."""
    if not problem.spreads:
        return (0,) * len(problem.budgets)
    return tuple(sum(problem.spreads[e][k] ** 2 for e in edges) for k in range(len(problem.budgets)))


def objective_of(problem: PathProblem, edges: Sequence[int]) -> float:
    """The objective of a path, as `PathProblem.objective` defines it; with "stay" the free stays are included.

    The sum is correctly rounded, so that it depends on nothing but the path (with a discount and more than 10,000
    stays, these are one term of it).

    Args:
        problem: The problem.
        edges: m <= L edge indices that connect from the start.

    Examples:
        >>> from solvers import PathProblem, objective_of
        >>> problem = PathProblem(2, [(0, 1)], rewards=[0, 1], costs=[], budgets=[], start=0, terminals=[1], horizon=3)
        >>> objective_of(problem, [0])  # one move and two stays
        3.0
    """
    return math.fsum(_terms(problem, edges))


def _terms(problem: PathProblem, edges: Sequence[int]) -> list[float]:
    nodes = path_nodes(problem, edges)
    if problem.objective == "visit":
        earned = [(step, problem.rewards[node]) for step, node in enumerate(nodes[1:])]
        if problem.edge_rewards:
            earned += [(step, problem.edge_rewards[edge]) for step, edge in enumerate(edges)]
        return [problem.discount**step * reward for step, reward in earned]
    rewards, discount = problem.rewards, problem.discount
    if discount == 1.0:
        moved = [rewards[node] for node in nodes[1:]]
    else:
        moved = [discount**step * rewards[node] for step, node in enumerate(nodes[1:])]
    return moved + _stays(problem, len(edges), problem.rewards[nodes[-1]])


def _stays(problem: PathProblem, moves: int, reward: float) -> list[float]:
    """What staying earns after so many moves, as terms of which the sum is exact without a discount."""
    if reward == 0.0:
        return []
    stays = problem.steps - moves
    if problem.discount == 1.0:
        if stays <= _FEW_STAYS:
            return [reward] * stays
        terms, rest = [], Fraction(reward) * stays
        while rest:
            terms.append(float(rest))
            rest -= Fraction(terms[-1])
        return terms
    if stays > _MOST_STAYS:
        return [reward * tail_weight(problem.discount, moves, problem.steps)]
    return [problem.discount**step * reward for step in range(moves, problem.steps)]


def _real(value: float) -> float:
    """A number as a float; not a number where it is none, or an integer that is too large for one."""
    try:
        return float(value)
    except (OverflowError, TypeError, ValueError):
        return math.nan


def _check_path(problem: PathProblem, solution: PathSolution) -> list[str]:
    edges, nodes = solution.edges, solution.nodes
    wrong = []
    if nodes[0] != problem.start:
        wrong.append(f"the path begins at node {nodes[0]}, not at the start {problem.start}")
    if len(nodes) != len(edges) + 1:
        wrong.append(f"{len(edges)} moves need {len(edges) + 1} nodes, not {len(nodes)}")
    if problem.horizon is not None and len(edges) > problem.horizon:
        wrong.append(f"{len(edges)} moves exceed the horizon {problem.horizon}")
    if nodes[-1] not in problem.terminals:
        wrong.append(f"the path ends at node {nodes[-1]}, which is not a terminal")
    if not wrong and set(map(type, edges)) <= {int}:
        known, least, most = problem.edges, min(edges, default=0), max(edges, default=-1)
        if least >= 0 and most < len(known) and [known[edge] for edge in edges] == list(pairwise(nodes)):
            return wrong  # else one by one, to say which is not
    for move, (edge, ends) in enumerate(zip(edges, pairwise(nodes), strict=False)):
        if type(edge) is not int or not 0 <= edge < len(problem.edges):
            wrong.append(f"move {move} uses edge {edge!r}, which does not exist")
        elif problem.edges[edge] != ends:
            wrong.append(f"move {move} uses edge {edge} {problem.edges[edge]} between nodes {ends}")
    return wrong


def _check_budgets(problem: PathProblem, solution: PathSolution) -> list[str]:
    used = consumption_of(problem, solution.edges)
    wrong = []
    if solution.consumption != used:
        wrong.append(f"consumption {solution.consumption} is reported, {used} is true")
    for name, amount, budget in zip(problem.resources, used, problem.budgets, strict=True):
        if amount > budget:
            wrong.append(f"the path uses {amount} of {name}, of which there are {budget}")
    return wrong + _check_risk(problem, solution, used)


def _check_risk(problem: PathProblem, solution: PathSolution, means: Sequence[int]) -> list[str]:
    """The budgets whose mean is kept, but not often enough; the others are named already."""
    risk = problem.risk
    if risk is None:
        return []
    wrong = []
    variances = variance_of(problem, solution.edges)
    for name, mean, variance, budget in zip(problem.resources, means, variances, problem.budgets, strict=True):
        if mean <= budget and not keeps(mean, variance, budget, risk.square):
            deviation = Decimal(variance).sqrt().normalize()  # a float may be too small for the variance
            wrong.append(
                f"the path stays within {budget} of {name} with too small a probability: mean {mean}, standard "
                f"deviation {deviation:.4g}, and {risk.factor:.4g} of those must fit above the mean for a "
                f"risk of {risk.probability:g} ({risk.assumption})"
            )
    return wrong


def _check_objective(problem: PathProblem, solution: PathSolution) -> list[str]:
    terms = _terms(problem, solution.edges)
    true, scale = math.fsum(terms), math.fsum(map(abs, terms))
    allowed = OBJECTIVE_TOLERANCE * scale
    if solution.objective is None or not abs(_real(solution.objective) - true) <= allowed:
        return [f"objective {solution.objective} is reported, {true} is true"]
    wrong = []
    bound = None if solution.bound is None else _real(solution.bound)
    if bound is not None and bound < true - allowed:
        wrong.append(f"the bound {bound} is below the objective {true}")
    gap = OPTIMALITY_TOLERANCE * max(1.0, abs(true))
    if solution.status is Status.OPTIMAL and (bound is None or bound > true + gap):
        wrong.append(f"status OPTIMAL with the bound {bound} above the objective {true}")
    return wrong
