"""Why no path keeps all limits: which one is short, and what would do.

With sure amounts the least of one limit is the answer to one problem, in which the resource is the cost. Where several
have to be raised, the search is that of plan graphs (`solvers.relaxations`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from solvers.deadline import SolveDeadline
from solvers.errors import EndlessError
from solvers.needs import Need
from solvers.rcsp.folded import as_written, fold
from solvers.rcsp.problem import Amount, RcspProblem
from solvers.rcsp.solving import Counted, Question, Solved, solved, stated
from solvers.relaxations import OpenError, together
from solvers.solution import Status

_SECONDS = 10.0
"""For all searches together, where the call had no time limit."""

_FINE = 2**20
"""Parts of 1 in which limits are counted whose amounts are no short decimals."""


@dataclass(frozen=True)
class RcspExplanation:
    """Why there is no path.

    Attributes:
        reachable: Edges lead from the source to the target, whatever the limits.
        needs: One for each limit, those first that no path keeps even alone, then those of which a change would do.
        together: Upper limits that would do together, where no one change would, raised as evenly as whole percentages
            allow (`solvers.relaxations.together`). None if one change would do, or none is known.
        minimal: None of those can be less while the others stay.
    """

    reachable: bool
    needs: tuple[Need, ...] = ()
    together: dict[str, Amount | None] | None = None
    minimal: bool = False

    def text(self) -> str:
        """Sentences for people, a line each."""
        if not self.reachable:
            return "No edges lead from the source to the target, whatever the limits."
        lines = [line for need in self.needs for line in need.sentences()]
        if self.together is not None:
            amounts = " and ".join(f"{name} at {amount}" for name, amount in self.together.items())
            least = "; none of these can be less while the others stay" if self.minimal else ""
            lines.append(f"Together {amounts} would do{least}.")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        names = ("limit", "side", "given", "least", "alone", "proven", "excludes")
        return {
            "reachable": self.reachable,
            "needs": [{name: getattr(need, name) for name in names} for need in self.needs],
            "together": self.together,
            "minimal": self.minimal,
            "text": self.text(),
        }


def explained(question: Question, unreachable: bool) -> RcspExplanation:
    """Solves the problem again with each limited resource as the cost, without the limit on it."""
    if unreachable:
        return RcspExplanation(reachable=False)
    deadline = SolveDeadline(_SECONDS if question.time_limit is None else question.time_limit)
    problem = question.asked.problem
    needs: list[Need] = []
    for k, name in enumerate(problem.resources):
        lower, upper = problem.lower[k], problem.upper[k]
        sides: tuple[tuple[Literal["upper", "lower"], Amount | None], ...] = (("upper", upper), ("lower", lower))
        for limit, given in sides:
            if given is None or (limit == "lower" and given <= 0):
                continue
            free: list[Amount | None] = [None] * len(problem.resources)
            alone, known = _extreme(question, k, limit, ([0] * len(free), free), deadline)
            if alone is None and known and limit == "upper":  # not even without limits
                return RcspExplanation(reachable=False)
            others = list(problem.lower), list(problem.upper)
            others[limit == "upper"][k] = None if limit == "upper" else 0
            within, sure = _extreme(question, k, limit, others, deadline)
            at_least = given if within is None else within
            needs.append(Need(name, given, within, at_least, None, sure, limit, alone))
    needs.sort(key=lambda need: (not need.excludes, need.least is None))
    if any(need.least is not None for need in needs):
        return RcspExplanation(True, tuple(needs))
    return RcspExplanation(True, tuple(needs), *_together(question, deadline))


def _extreme(
    question: Question,
    k: int,
    limit: str,
    limits: tuple[Sequence[Amount], Sequence[Amount | None]],
    deadline: SolveDeadline,
) -> tuple[Amount | None, bool]:
    """The least (for a lower limit: the most) that a path uses of a resource, if any; and whether that is known."""
    problem = question.asked.problem
    counting = problem.with_valid(
        cost=problem.use[:, k], node_cost=problem.node_use[:, k], lower=tuple(limits[0]), upper=tuple(limits[1])
    )
    try:
        result = _solved(question, counting, deadline, maximise=limit == "lower")
    except EndlessError:  # a path may use as much as it likes
        return None, True
    if result.status is not Status.OPTIMAL:
        return None, result.status is Status.INFEASIBLE
    return stated(result.paths[0].cost, result.places[0]), True


def _together(question: Question, deadline: SolveDeadline) -> tuple[dict[str, Amount | None] | None, bool]:
    """What would do as upper limits together, by name, and whether none of them can be less; None if nothing is known.

    Limits are counted in units of the last decimal place, or of `_FINE` where amounts are no short decimals.
    """
    problem = question.asked.problem
    places = fold(problem).use_places
    capped = [k for k, upper in enumerate(problem.upper) if upper is not None]
    units = {k: _FINE if (place := places[k]) is None else 10**place for k in capped}
    given = [math.floor(as_written(problem.upper[k] or 0) * units[k]) for k in capped]
    shares = np.array([1 / (limit or 1) * units[k] for k, limit in zip(capped, given, strict=True)])
    shared = problem.with_valid(cost=problem.use[:, capped] @ shares, node_cost=problem.node_use[:, capped] @ shares)

    def upper(limits: Sequence[int]) -> list[Amount | None]:
        amounts: list[Amount | None] = [None] * len(places)
        for k, limit in zip(capped, limits, strict=True):
            amounts[k] = stated(Fraction(limit, units[k]), places[k])
        return amounts

    def ask(limits: Sequence[int] | None) -> Counted | None:
        amounts = [None] * len(places) if limits is None else upper(limits)
        outcome = _solved(question, shared.with_valid(upper=tuple(amounts)), deadline)
        if not outcome.paths and outcome.status is not Status.INFEASIBLE:
            raise OpenError("whether there is a path is open")
        return outcome.paths[0] if outcome.paths else None

    def needs(path: Counted) -> list[int]:
        return [max(limit, math.ceil(path.use[k] * units[k])) for k, limit in zip(capped, given, strict=True)]

    try:
        free = ask(None)
        result = free and together(given, [0] * len(given), needs(free), ask, needs)
    except OpenError:
        result = None
    if result is None:
        return None, False
    amounts = upper(result.limits)
    raised = [k for k, limit, least in zip(capped, result.limits, given, strict=True) if limit > least]
    return {problem.resources[k]: amounts[k] for k in raised}, result.proven


def _solved(question: Question, problem: RcspProblem, deadline: SolveDeadline, *, maximise: bool = False) -> Solved:
    other = question._replace(asked=question.asked._replace(problem=problem))
    return solved(other, 1, deadline, maximise=maximise)
