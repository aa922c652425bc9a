"""Re-verification of a schedule from the problem alone, in exact integers."""

from __future__ import annotations

from collections.abc import Sequence

from solvers.scheduling.objective import objective_of_schedule
from solvers.scheduling.problem import Schedule, ScheduleProblem, Variant
from solvers.solution import Status


def check_schedule(problem: ScheduleProblem, answer: Schedule) -> list[str]:
    """Re-verify an answer: choices, starts, order, budgets, deadline, calls at once, and the sums that it reports.

    That OPTIMAL or INFEASIBLE is true is the solver's proof and cannot be re-verified here.

    Args:
        problem: The problem.
        answer: Any answer to it.

    Returns:
        One sentence per violated rule; empty if the answer holds.

    Examples:
        >>> from dataclasses import replace
        >>> from solvers import ScheduleProblem, Variant, check_schedule, schedule
        >>> problem = ScheduleProblem(steps=[[Variant(20)], [Variant(30)]], after=[[], [0]])
        >>> plan = schedule(problem)
        >>> check_schedule(problem, plan)
        []
        >>> check_schedule(problem, replace(plan, starts=(0, 10), end=40))[0]
        'step 1 starts before step 0 has ended'
    """
    has_plan = answer.status in (Status.OPTIMAL, Status.FEASIBLE)
    if bool(answer) != has_plan:
        return [f"status {answer.status} {'with' if answer else 'without'} a plan"]
    if not has_plan:
        return []
    count = len(problem.steps)
    if len(answer.chosen) != count or len(answer.starts) != count:
        return [f"{len(answer.chosen)} variants and {len(answer.starts)} starts for {count} steps"]
    for step, (index, variants) in enumerate(zip(answer.chosen, problem.steps, strict=True)):
        if not 0 <= index < len(variants):
            return [f"step {step} has no variant {index}"]
    taken = [variants[number] for variants, number in zip(problem.steps, answer.chosen, strict=True)]
    return _check_times(problem, answer, taken) + _check_limits(problem, answer, taken) + _check_sums(problem, answer)


def _check_times(problem: ScheduleProblem, answer: Schedule, taken: Sequence[Variant]) -> list[str]:
    wrong = [f"step {step} starts at {start}" for step, start in enumerate(answer.starts) if start < 0]
    ends = [start + variant.time for start, variant in zip(answer.starts, taken, strict=True)]
    for step, waits in enumerate(problem.after):
        wrong += [
            f"step {step} starts before step {wait} has ended" for wait in waits if answer.starts[step] < ends[wait]
        ]
    last = max(ends, default=0)
    if answer.end != last:
        wrong.append(f"the end {answer.end} is reported, {last} is true")
    if problem.deadline is not None and last > problem.deadline:
        wrong.append(f"the plan ends at {last}, after the deadline {problem.deadline}")
    return wrong


def _check_limits(problem: ScheduleProblem, answer: Schedule, taken: Sequence[Variant]) -> list[str]:
    """Counts the calls at every start, where alone a count can rise."""
    wrong = []
    limits = [("", problem.parallel), *problem.at_once.items()]
    spans = list(zip(answer.starts, taken, strict=True))
    for tool, most in limits:
        mine = [(start, start + variant.time) for start, variant in spans if tool in ("", variant.tool)]
        counts = [sum(a <= now < b for a, b in mine) for now, until in mine if until > now]
        if most is not None and max(counts, default=0) > most:
            wrong.append(f"{max(counts)} steps{f' of {tool}' if tool else ''} run at once, and {most} may")
    return wrong


def _check_sums(problem: ScheduleProblem, answer: Schedule) -> list[str]:
    taken = [variants[index] for variants, index in zip(problem.steps, answer.chosen, strict=True)]
    used = tuple(sum(variant.use[k] for variant in taken) for k in range(len(problem.budgets)))
    value = sum(variant.value for variant in taken)
    objective = objective_of_schedule(problem).of(answer.chosen, answer.end or 0)
    wrong = [
        f"{what} {reported} is reported, {true} is true"
        for what, reported, true in (
            ("use", answer.used, used),
            ("value", answer.value, value),
            ("objective", answer.objective, objective),
        )
        if reported != true
    ]
    for k, (amount, budget) in enumerate(zip(used, problem.budgets, strict=True)):
        if budget is not None and amount > budget:
            wrong.append(f"the plan uses {amount} of resource {k}, of which there are {budget}")
    if answer.bound is not None and answer.bound < objective:
        wrong.append(f"the bound {answer.bound} is below the objective {objective}")
    return wrong
