"""Beyond the one best plan: all plans of which none is better in everything, and what one more cent buys."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import solvers
from solvers import PathProblem, Status
from tape.budget.units import nearest
from tape.choice.amounts import told_apart, written
from tape.choice.answer import Choice, More
from tape.errors import ConfigError, TapeError

VALUE = "value"
"""The criterion that more is better of."""

_EXACT = 3
"""With more criteria there may be countless plans, so an epsilon is asked for."""

_MOST = 1000
"""Plans of a frontier; of more than these nobody can choose."""


def criteria_of(given: Any, epsilon: Any, costs: Sequence[str], *, valued: bool) -> tuple[str, ...]:
    """The criteria that were asked for; none where nothing was.

    Args:
        given: As the caller gave them.
        epsilon: As the caller gave it.
        costs: The resources whose costs are known.
        valued: Whether a plan is worth anything.

    Raises:
        ConfigError: They are malformed; the message names which.
    """
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


def frontier_paths(problem: PathProblem, criteria: Sequence[str], epsilon: float) -> list[tuple[int, ...]]:
    """The non-dominated paths, best in the first criterion first, by their edges.

    Args:
        problem: With every criterion but the value among its resources, under budgets that are no limit.
        criteria: The criteria.
        epsilon: As for `solvers.frontier`.

    Raises:
        ConfigError: There are too many paths to choose from, or amounts of too many digits.
    """
    if VALUE not in criteria:
        problem = replace(problem, edge_rewards=[0.0] * len(problem.edges))
    names = ["objective" if name == VALUE else name for name in criteria]
    try:
        frontier = solvers.frontier(problem, names, float(epsilon), most=_MOST)
    except solvers.ProblemError as error:
        raise ConfigError(f"frontier=: {error}") from None
    if frontier.status is Status.FEASIBLE:
        raise ConfigError(f"the frontier has more than {_MOST:,} plans; thin it with a larger epsilon than {epsilon:g}")
    if frontier.status not in (Status.OPTIMAL, Status.INFEASIBLE):
        raise TapeError(f"the solver has failed ({frontier.status}): {frontier.message}")
    return [solution.edges for solution in frontier]


def unlimited(
    problem: PathProblem, rows: Mapping[str, Sequence[int]], enough: Callable[[PathProblem], int]
) -> PathProblem:
    """The problem with some resources, capped there or not, under budgets that no path can exceed.

    Args:
        problem: The problem.
        rows: By resource, what each edge takes of it.
        enough: The most moves of a best path, where nothing caps these resources.
    """
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


def more_of_each(
    problem: PathProblem, amount: Callable[[str, int], Decimal], choose: Callable[[str, Decimal], Choice], now: Choice
) -> dict[str, More]:
    """For each budget that alone buys a better plan the next cap with which it does, and that plan.

    Args:
        problem: The problem; without a horizon there is no limit on moves.
        amount: A count of a resource in its unit.
        choose: The best plan with another cap on a resource.
        now: The best plan under the caps as they are.
    """
    mapping = {}
    for name, given in zip(problem.resources, problem.budgets, strict=True):
        try:
            need = solvers.next_budget(problem, name)
        except solvers.EndlessError:
            continue
        if need.least is None:
            continue
        cap, by = amount(name, need.least), amount(name, need.least - given)
        then = choose(name, cap)
        if then.plan is None or then.value is None:
            raise TapeError(f"a cap of {cap} on {name} is said to buy a better plan, and buys none")
        instead = (
            "would fit"
            if now.value is None
            else "would be worth {} instead of {}".format(*told_apart(then.value, now.value))
        )
        text = f"With {name} at {written(name, cap)} ({written(name, by)} more), {then.plan!r} {instead}."
        mapping[name] = More(cap, by, then.plan, then.value, text)
    return mapping
