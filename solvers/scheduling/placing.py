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
    variants = [row[index] for row, index in zip(problem.steps, chosen, strict=True)]
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}

    def fits(step: int, at: int) -> bool:
        until, tool = at + variants[step].time, variants[step].tool
        for most, counted in (
            (problem.parallel, [*starts]),
            (problem.at_once.get(tool), [start for start in starts if variants[start].tool == tool]),
        ):
            if most is None or until == at:
                continue
            there = [index for index in counted if starts[index] < until and ends[index] > at]
            moments = [at, *(starts[index] for index in there if starts[index] > at)]
            if any(sum(starts[index] <= now < ends[index] for index in there) >= most for now in moments):
                return False
        return True

    for step in order:
        ready = max((ends[index] for index in problem.after[step]), default=0)
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
    at = max(range(len(starts)), key=lambda index: (ends[index], starts[index]))
    while at not in chain:
        chain.add(at)
        needed = [index for index in after[at] if ends[index] == starts[at]]
        freed = [index for index in range(len(starts)) if ends[index] == starts[at] > starts[index]]
        at = max(needed or freed, key=lambda index: (times[index], -index), default=at)
    return chain
