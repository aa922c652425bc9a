"""`schedule`: the best variants and starts, checked."""

from __future__ import annotations

import importlib.util
from dataclasses import replace

from solvers.deadline import SolveDeadline
from solvers.errors import BackendError, SolverUnavailableError, TooLargeError
from solvers.scheduling.check import check_schedule
from solvers.scheduling.cp_sat import answer, solve_by_cp_sat
from solvers.scheduling.labels import best_variants
from solvers.scheduling.objective import Objective, objective_of_schedule
from solvers.scheduling.placing import earliest
from solvers.scheduling.problem import Schedule, ScheduleProblem
from solvers.solution import Status

_MOST, _MOST_ALONE = 40_000, 2_000_000
"""Labels that are kept before CP-SAT takes over, and where it is not installed: seconds, and minutes."""


_TIGHTER, _TRIES = 0.99, 8
"""Where a plan without limits on calls at once does not end in time with them, one for so much less time may."""


def schedule(problem: ScheduleProblem, time_limit: float | None = None) -> Schedule:
    """Choose a variant and a start for every step, exactly.

    The best plan has the most of what is aimed at, then the most value, then the least of the budgets (the sum of the
    shares of each that it takes), then the earliest end, then the variants given first (the sum of their places). Where
    calls at once are not limited, our own search proves it; chains and trees need no other. Where it would take long,
    and where they are limited and the best plan without limits does not keep them, CP-SAT does.

    Args:
        problem: What is asked.
        time_limit: Positive seconds from the call on, after which CP-SAT answers with its gap; None waits for the
            proof.

    Returns:
        A plan that `check_schedule` accepts; or an answer without one, whose status says why.

    Raises:
        ProblemError: Values, amounts and times together have too many digits.
        SolverUnavailableError: CP-SAT is needed and not installed; the message names the extra.

    Examples:
        >>> from solvers import ScheduleProblem, Variant, schedule
        >>> dough, oven = [Variant(20, (1,), 5), Variant(5, (3,), 5)], [Variant(30, (2,), 7)]
        >>> plan = schedule(ScheduleProblem(steps=[dough, oven], after=[[], [0]], budgets=[4], deadline=60))
        >>> plan.chosen, plan.starts, plan.end, plan.used
        ((0, 0), (0, 20), 50, (3,))
    """
    objective = objective_of_schedule(problem)
    try:
        searched = _searched(problem, objective, time_limit)
    except BackendError as error:
        return Schedule(Status.ERROR, message=str(error))
    faults = check_schedule(problem, searched)
    return Schedule(Status.ERROR, message="the answer failed its check: " + "; ".join(faults)) if faults else searched


def _searched(problem: ScheduleProblem, objective: Objective, time_limit: float | None) -> Schedule:
    if max(problem.fastest, default=0) > problem.latest:
        return Schedule(Status.INFEASIBLE)
    deadline = SolveDeadline(time_limit)
    installed = importlib.util.find_spec("ortools") is not None
    most = _MOST if installed else _MOST_ALONE
    placed, bound, why = Schedule(Status.TIMEOUT), float("inf"), "so many steps that depend on each other"
    try:
        best = best_variants(_with_room(problem), objective, most)
        if best is None:
            return Schedule(Status.INFEASIBLE)
        placed, bound = _placed(problem, objective, best[0], best[2]), best[2]
        if placed.objective is not None and placed.objective >= bound and (placed.end or 0) <= problem.latest:
            return replace(placed, status=Status.OPTIMAL)
        why = "limits on calls at once" if best[1] >= bound else why
        part = 1.0
        for _ in range(_TRIES if installed else 0):  # also where the time is up: each takes a twentieth of a second
            if (placed.end or 0) <= problem.latest:
                break
            part *= _TIGHTER * problem.latest / (placed.end or 1)
            best = best_variants(_with_room(problem, part), objective, most, proved=False)
            if best is None:
                break
            placed = _placed(problem, objective, best[0], bound)
    except TooLargeError:
        pass  # no plan is known then
    if not installed:
        raise SolverUnavailableError("schedule", f"{why} need OR-Tools; install tape-planner[solvers]")
    placed = placed if (placed.end or 0) <= problem.latest else Schedule(Status.TIMEOUT)
    if placed and deadline.passed():
        return placed
    better = solve_by_cp_sat(problem, objective, deadline, placed)
    if placed.objective is None or (better.objective is not None and better.objective > placed.objective):
        placed = better
    if placed.objective is None:
        return placed
    bound = max(placed.objective, min(bound, float("inf") if better.bound is None else better.bound))
    return replace(placed, bound=bound, status=Status.OPTIMAL if placed.objective >= bound else placed.status)


def _with_room(problem: ScheduleProblem, part: float = 1.0) -> ScheduleProblem:
    """The problem without limits on calls at once; these only bound the sum of all times, as a budget does.

    `part` is how much of the time there is to be used.
    """
    if not problem.limited:
        return problem
    until = int(problem.latest * part)
    rows = [(tool, most) for tool, most in (("", problem.parallel), *problem.at_once.items()) if most is not None]
    steps = [
        [
            replace(variant, use=(*variant.use, *(variant.time * (tool in ("", variant.tool)) for tool, _ in rows)))
            for variant in variants
        ]
        for variants in problem.steps
    ]
    budgets = (*problem.budgets, *(most * until for _, most in rows))
    return replace(problem, steps=steps, budgets=budgets, deadline=until, parallel=None, at_once={})


def _placed(problem: ScheduleProblem, objective: Objective, chosen: tuple[int, ...], bound: float) -> Schedule:
    """A plan with the steps before the longest chains first; it may end too late."""
    times = [row[count].time for row, count in zip(problem.steps, chosen, strict=True)]
    tails = [0] * len(times)
    for step in reversed(problem.order):
        tails[step] += times[step]
        for index in problem.after[step]:
            tails[index] = max(tails[index], tails[step])
    order = sorted(problem.order, key=lambda step: -tails[step])
    return answer(problem, objective, Status.FEASIBLE, chosen, earliest(problem, chosen, order), bound)
