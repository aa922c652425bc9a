"""Starts: each step as soon as it may, in a given order."""

from __future__ import annotations

from collections.abc import Sequence

from solvers.scheduling.problem import ScheduleProblem


def earliest(problem: ScheduleProblem, chosen: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """When each step starts if, in this order, each is put where it fits first.

    With the steps in the order of starts that are feasible, no start comes later than it was. Without limits on calls
    at once these are the earliest starts there are.

    Args:
        problem: The problem; its budgets and deadline play no part.
        chosen: The variant of each step.
        order: The steps, each after those that it waits for.
    """
    variants = [row[one] for row, one in zip(problem.steps, chosen, strict=True)]
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}

    def fits(step: int, at: int) -> bool:
        until, tool = at + variants[step].time, variants[step].tool
        for most, counted in (
            (problem.parallel, [*starts]),
            (problem.at_once.get(tool), [one for one in starts if variants[one].tool == tool]),
        ):
            if most is None or until == at:
                continue
            there = [one for one in counted if starts[one] < until and ends[one] > at]
            moments = [at, *(starts[one] for one in there if starts[one] > at)]
            if any(sum(starts[one] <= now < ends[one] for one in there) >= most for now in moments):
                return False
        return True

    for step in order:
        ready = max((ends[one] for one in problem.after[step]), default=0)
        at = ready
        if problem.limited:
            at = next(t for t in sorted({ready, *(e for e in ends.values() if e > ready)}) if fits(step, t))
        starts[step], ends[step] = at, at + variants[step].time
    return tuple(starts[step] for step in range(len(variants)))


def critical_steps(after: Sequence[Sequence[int]], starts: Sequence[int], times: Sequence[int]) -> set[int]:
    """One chain of steps, each of which starts when the one before ends, from the beginning to the last end.

    Where a step waits for no result, but for a free call, the step that frees it comes before it.

    Args:
        after: For each step the steps that it waits for.
        starts: When each starts.
        times: How long each takes, in the units of `starts`.

    Returns:
        The numbers of the steps of the chain.

    Examples:
        >>> from solvers import critical_steps
        >>> after = [[], [], [0, 1]]
        >>> sorted(critical_steps(after, starts=[0, 0, 20], times=[5, 20, 10]))
        [1, 2]
    """
    chain: set[int] = set()
    ends = [start + time for start, time in zip(starts, times, strict=True)]
    at = max(range(len(starts)), key=lambda one: (ends[one], starts[one]))
    while at not in chain:
        chain.add(at)
        needed = [one for one in after[at] if ends[one] == starts[at]]
        freed = [one for one in range(len(starts)) if ends[one] == starts[at] > starts[one]]
        at = max(needed or freed, key=lambda one: (times[one], -one), default=at)
    return chain
