"""Plans of which no other is as good in every criterion and better in one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import solvers
from solvers import Frontier, PathProblem, Status
from tape.budget.units import nearest
from tape.errors import ConfigError, TapeError

if TYPE_CHECKING:
    from solvers.proof_file import Proof

VALUE = "value"
"""The criterion that more is better of."""

_EXACT = 3
"""With more criteria there may be countless plans, so an epsilon is asked for."""

_MOST = 1000
"""Plans of a frontier; of more than these nobody can choose."""


def criteria_of(given: Any, epsilon: Any, costs: Sequence[str], *, valued: bool) -> tuple[str, ...]:
    """The criteria that were asked for; none where nothing was."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float) or not 0 <= epsilon < math.inf:
        raise ConfigError(f"epsilon={epsilon!r}: expected a number of at least 0, for instance 0.05")
    if isinstance(given, str) or not isinstance(given, Sequence) or not all(isinstance(item, str) for item in given):
        raise ConfigError(f'frontier={given!r}: expected criteria, for instance ("usd", "value")')
    names = tuple(given)
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"frontier= names {name!r} twice; name each criterion once")
        if name == VALUE and VALUE in costs:
            raise ConfigError(
                "frontier= cannot tell the resource 'value' from what a plan is worth; rename the resource"
            )
        if name == VALUE and not valued:
            raise ConfigError("frontier= names 'value', but no plan is worth anything; give value=, or leave it out")
        if name != VALUE and name not in costs:
            known = ", ".join(sorted([*costs, VALUE]))
            raise ConfigError(
                f"frontier= names {name!r}, which no known cost of these plans does{nearest(name, costs)}; "
                f"there is {known}"
            )
    if len(names) == 1:
        raise ConfigError(f"frontier={given!r}: one criterion has no frontier; name a second one to weigh it against")
    if len(names) > _EXACT and not epsilon:
        raise ConfigError(
            f"frontier= names {len(names)} criteria, of which there may be countless plans; give epsilon=0.05 for "
            "plans within 5 % of every other"
        )
    return names


def frontier_paths(problem: PathProblem, criteria: Sequence[str], epsilon: float) -> Frontier:
    """The non-dominated paths, best in the first criterion first.

    Raises:
        ConfigError: There are too many paths to choose from, or amounts of too many digits.
    """
    problem = valued(problem, criteria)
    names = ["objective" if name == VALUE else name for name in criteria]
    try:
        frontier = solvers.frontier(problem, names, float(epsilon), most=_MOST)
    except solvers.ProblemError as error:
        raise ConfigError(f"frontier=: {error}") from None
    if frontier.status is Status.FEASIBLE:
        raise ConfigError(f"the frontier has more than {_MOST:,} plans; thin it with a larger epsilon than {epsilon:g}")
    if frontier.status not in (Status.OPTIMAL, Status.INFEASIBLE):
        raise TapeError(f"the solver has failed ({frontier.status}): {frontier.message}")
    return frontier


def valued(problem: PathProblem, criteria: Sequence[str]) -> PathProblem:
    """The problem of a frontier: where value is no criterion, plans are worth nothing."""
    return problem if VALUE in criteria else replace(problem, edge_rewards=[0.0] * len(problem.edges))


def proven_frontier(problem: PathProblem, frontier: Frontier) -> Proof | None:
    """A proof that no plan is missing, which the checker has passed; None where there is none."""
    from solvers.check_proof import ProofError  # not needed otherwise
    from solvers.frontier_proof import prove_frontier
    from solvers.proof import NoProofError

    try:
        proof = prove_frontier(problem, frontier)
        proof.check()
    except (NoProofError, ProofError):
        return None
    return proof


def unlimited(
    problem: PathProblem, rows: Mapping[str, Sequence[int]], enough: Callable[[PathProblem], int]
) -> PathProblem:
    """The problem with some resources, capped there or not, under budgets that no path can exceed."""
    kept = [k for k, name in enumerate(problem.resources) if name not in rows]
    costs, names = [[row[k] for k in kept] for row in problem.costs], [problem.resources[k] for k in kept]
    free = replace(problem, costs=costs, budgets=[problem.budgets[k] for k in kept], resources=names)
    moves = enough(free)
    return replace(
        free,
        horizon=moves,
        costs=[[*row, *more] for row, more in zip(costs, zip(*rows.values(), strict=True), strict=True)],
        budgets=[*free.budgets, *(moves * max(row, default=0) for row in rows.values())],
        resources=[*names, *rows],
    )
