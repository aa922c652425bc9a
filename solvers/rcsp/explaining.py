"""Why no path keeps all limits: which one is short, and what would do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from solvers.deadline import Deadline
from solvers.errors import EndlessError
from solvers.explanation import Need
from solvers.rcsp.problem import Amount, RcspProblem
from solvers.rcsp.solving import Question, Solved, solved
from solvers.rcsp.verified import stated
from solvers.solution import Status

_SECONDS = 10.0
"""For all searches together, where the call had no time limit."""


@dataclass(frozen=True)
class RcspExplanation:
    """Why there is no path.

    Attributes:
        reachable: Edges lead from the source to the target, whatever the limits.
        needs: One for each limit, those first that no path keeps even alone, then those of which a change would do.
        together: Upper limits that would do together, where no one change would: what a path uses that is over them by
            little. None if one change would do, or none is known.
    """

    reachable: bool
    needs: tuple[Need, ...] = ()
    together: dict[str, Amount] | None = None

    def text(self) -> str:
        """Sentences for people, a line each."""
        if not self.reachable:
            return "No edges lead from the source to the target, whatever the limits."
        lines = [line for need in self.needs for line in need.sentences()]
        if self.together is not None:
            amounts = " and ".join(f"{name} at {amount}" for name, amount in self.together.items())
            lines.append(f"Together {amounts} would do.")
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
            "text": self.text(),
        }


def explained(question: Question, unreachable: bool) -> RcspExplanation:
    """Solves the problem again with each limited resource as the cost, without the limit on it.

    Args:
        question: A problem without a path.
        unreachable: No edges lead to the target.
    """
    if unreachable:
        return RcspExplanation(reachable=False)
    deadline = Deadline(_SECONDS if question.time_limit is None else question.time_limit)
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
    together = None
    if not any(need.least is not None for need in needs):
        short = [need.limit for need in needs if need.excludes and need.side == "upper"]
        capped = [name for name, upper in zip(problem.resources, problem.upper, strict=True) if upper is not None]
        together = (short and _together(question, short, deadline)) or _together(question, capped, deadline)
    return RcspExplanation(True, tuple(needs), together)


def _extreme(
    question: Question, k: int, limit: str, limits: tuple[Sequence[Amount], Sequence[Amount | None]], deadline: Deadline
) -> tuple[Amount | None, bool]:
    """The least (with a lower limit: the most) that a path within the limits uses of a resource; None if there is none.

    Returns:
        It, and whether that is known.
    """
    problem = question.asked.problem
    counting = problem.with_valid(
        cost=problem.use[:, k], node_cost=problem.node_use[:, k], lower=tuple(limits[0]), upper=tuple(limits[1])
    )
    try:
        found = _solved(question, counting, deadline, maximise=limit == "lower")
    except EndlessError:  # a path may use as much as it likes
        return None, True
    if found.status is not Status.OPTIMAL:
        return None, found.status is Status.INFEASIBLE
    return stated(found.paths[0].cost, found.places[0]), True


def _together(question: Question, raised: Sequence[str], deadline: Deadline) -> dict[str, Amount] | None:
    """What would do as upper limits on some resources, with those on the others as given; None if nothing is known.

    It is what the path uses for which the shares of these limits add up to the least.
    """
    problem = question.asked.problem
    capped = [problem.resources.index(name) for name in raised]
    given = [problem.upper[k] or 0 for k in capped]
    shares = np.array([1 / upper if upper > 0 else 1.0 for upper in given])
    shared = problem.with_valid(
        cost=problem.use[:, capped] @ shares,
        node_cost=problem.node_use[:, capped] @ shares,
        upper=tuple(None if k in capped else upper for k, upper in enumerate(problem.upper)),
    )
    found = _solved(question, shared, deadline)
    if not found.paths:
        return None
    used = found.paths[0].use
    over = {k: used[k] for k, upper in zip(capped, given, strict=True) if used[k] > upper}
    return {problem.resources[k]: stated(amount, found.places[1][k]) for k, amount in over.items()} or None


def _solved(question: Question, problem: RcspProblem, deadline: Deadline, *, maximise: bool = False) -> Solved:
    other = question._replace(asked=question.asked._replace(problem=problem))
    return solved(other, 1, deadline, maximise=maximise)
