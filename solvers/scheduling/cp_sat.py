"""CP-SAT of OR-Tools, where calls at once are limited, or too many partial plans are as good as each other."""

from __future__ import annotations

import math
import threading
from typing import Any

from solvers.deadline import SolveDeadline
from solvers.errors import BackendError
from solvers.scheduling.objective import Objective
from solvers.scheduling.placing import earliest
from solvers.scheduling.problem import Schedule, ScheduleProblem
from solvers.solution import Status

_STATUS = {
    "OPTIMAL": Status.OPTIMAL,
    "FEASIBLE": Status.FEASIBLE,
    "INFEASIBLE": Status.INFEASIBLE,
    "UNKNOWN": Status.TIMEOUT,
}

_POLL = 0.05
"""Seconds between looks whether the user interrupts."""


def solve_by_cp_sat(
    problem: ScheduleProblem, objective: Objective, deadline: SolveDeadline, hint: Schedule | None = None
) -> Schedule:
    """The best plan, or the best found in a time with a bound; begins with a `hint`; one thread, one seed."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    chosen = [[model.new_bool_var("") for _ in variants] for variants in problem.steps]
    times = [_sum(row, [item.time for item in variants]) for row, variants in zip(chosen, problem.steps, strict=True)]
    starts = _placed(model, problem, chosen)
    end = model.new_int_var(0, problem.latest, "")
    for row, start, index, at in zip(chosen, starts, hint.chosen, hint.starts, strict=True) if hint else ():
        model.add_hint(start, at)
        for number, variant in enumerate(row):
            model.add_hint(variant, number == index)
    for start, time in zip(starts, times, strict=True):
        model.add(end >= start + time)
    for step, waits in enumerate(_needed(problem)):
        for wait in waits:
            model.add(starts[step] >= starts[wait] + times[wait])
    for k, budget in enumerate(problem.budgets):
        if budget is not None:
            uses = [
                _sum(row, [item.use[k] for item in steps]) for row, steps in zip(chosen, problem.steps, strict=True)
            ]
            model.add(sum(uses) <= budget)
    gains = [_sum(row, values) for row, values in zip(chosen, objective.gains, strict=True)]
    model.maximize(sum(gains) - objective.late * end)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers, solver.parameters.random_seed = 1, 0
    solver.parameters.catch_sigint_signal = False  # else Ctrl-C would read as "time is up"
    left = deadline.left()  # after the library was loaded, which may take a second
    if left is not None:
        solver.parameters.max_time_in_seconds = left
    name = solver.status_name(_interruptible(solver, model))
    if name not in _STATUS:
        raise BackendError(f"CP-SAT finds the model invalid: {model.validate()[:200]}")
    status = _STATUS[name]
    if status in (Status.INFEASIBLE, Status.TIMEOUT):
        return Schedule(status, bound=solver.best_objective_bound if status is Status.TIMEOUT else None)
    picked = tuple(next(i for i, item in enumerate(row) if solver.boolean_value(item)) for row in chosen)
    order = sorted(problem.order, key=lambda step: solver.value(starts[step]))
    # A float, which may be a little above the whole number that is proved.
    bound = -math.inf if status is Status.OPTIMAL else solver.best_objective_bound
    return answer(problem, objective, status, picked, earliest(problem, picked, order), bound)


def answer(
    problem: ScheduleProblem,
    objective: Objective,
    status: Status,
    chosen: tuple[int, ...],
    starts: tuple[int, ...],
    bound: float,
) -> Schedule:
    """A plan as an answer, with its sums."""
    taken = [variants[index] for variants, index in zip(problem.steps, chosen, strict=True)]
    end = max((start + variant.time for start, variant in zip(starts, taken, strict=True)), default=0)
    used = tuple(sum(variant.use[k] for variant in taken) for k in range(len(problem.budgets)))
    reached = objective.of(chosen, end)
    return Schedule(
        status, chosen, starts, end, sum(variant.value for variant in taken), used, reached, max(bound, reached)
    )


def _sum(row: list[Any], amounts: Any) -> Any:
    return sum(amount * item for amount, item in zip(amounts, row, strict=True))


def _placed(model: Any, problem: ScheduleProblem, chosen: list[list[Any]]) -> list[Any]:
    """The starts; with an interval for each variant where calls at once are limited, and one variant of each step."""
    starts: list[Any] = []
    intervals: list[tuple[str, Any]] = []
    for row, variants in zip(chosen, problem.steps, strict=True):
        model.add_exactly_one(row)
        starts.append(model.new_int_var(0, problem.latest, ""))
        for item, variant in zip(row, variants, strict=True):
            if problem.limited and variant.time:
                span = model.new_optional_fixed_size_interval_var(starts[-1], variant.time, item, "")
                intervals.append((variant.tool, span))
    for tool, most in (("", problem.parallel), *problem.at_once.items()):
        mine = [span for name, span in intervals if tool in ("", name)]
        if most is not None and mine:
            model.add_cumulative(mine, [1] * len(mine), most)
    return starts


def _needed(problem: ScheduleProblem) -> list[set[int]]:
    """The steps that each waits for, without those for which another of them waits."""
    before: dict[int, set[int]] = {}
    for step in problem.order:
        before[step] = {*problem.after[step]}.union(*(before[index] for index in problem.after[step]))
    return [{wait for wait in waits if not any(wait in before[other] for other in waits)} for waits in problem.after]


def _interruptible(solver: Any, model: Any) -> Any:
    """Solve in a thread, so that Ctrl-C ends the search at once."""
    done: list[Any] = []
    thread = threading.Thread(target=lambda: done.append(solver.solve(model)), daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_POLL)
    except BaseException:
        solver.stop_search()
        thread.join()
        raise
    if not done:
        raise BackendError("CP-SAT has failed")
    return done[0]
