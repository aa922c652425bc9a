"""What a schedule is asked for, and what one is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from solvers.errors import ProblemError
from solvers.solution import Status

Aim = Literal["value", "time"] | int
"""What is best: the most value, the earliest end, or the least of a resource, by its number."""


@dataclass(frozen=True)
class Variant:
    """One way to do a step.

    Attributes:
        time: How long it takes, in whole units, at least 0.
        use: K amounts, what it takes of each resource, in whole units.
        value: What it is worth, a whole number.
        tool: Whose calls at once may be limited; empty for none.

    Examples:
        >>> from solvers import Variant
        >>> fast = Variant(time=5, use=(4,), value=9, tool="oven")
        >>> fast.time, fast.use
        (5, (4,))
    """

    time: int
    use: tuple[int, ...] = ()
    value: int = 0
    tool: str = ""


@dataclass(frozen=True)
class ScheduleProblem:
    """Steps, one variant of each of which is to be chosen and started.

    Attributes:
        steps: n lists of variants, one for each step.
        after: n lists: for each step the numbers of the steps that must have ended before it starts.
        budgets: K caps on resources, which add up over the steps, in the units of `Variant.use`; None for no cap.
        deadline: When the last step must have ended, in the units of `Variant.time`; None for no limit.
        parallel: The most steps at once; None for no limit.
        at_once: The most steps at once of some tools.
        aim: What is best: `"value"`, the most value; `"time"`, the earliest end; or the number of a resource, the least
            of it.

    Raises:
        ProblemError: The problem is malformed; the message names the field.

    Examples:
        >>> from solvers import ScheduleProblem, Variant
        >>> dough, oven = [Variant(20, (1,), 5), Variant(5, (3,), 5)], [Variant(30, (2,), 7)]
        >>> problem = ScheduleProblem(steps=[dough, oven], after=[[], [0]], budgets=[4], deadline=60)
        >>> problem.order, problem.fastest  # the second step waits for the first
        ((0, 1), (5, 35))
    """

    steps: Sequence[Sequence[Variant]]
    after: Sequence[Sequence[int]]
    budgets: Sequence[int | None] = ()
    deadline: int | None = None
    parallel: int | None = None
    at_once: Mapping[str, int] = field(default_factory=dict)
    aim: Aim = "value"

    def __post_init__(self) -> None:
        if not self.steps:
            raise ProblemError("steps", None, self.steps, "there is nothing to schedule; give at least one step")
        if len(self.after) != len(self.steps):
            raise ProblemError("after", None, len(self.after), f"expected a list for each of {len(self.steps)} steps")
        for step, variants in enumerate(self.steps):
            if not variants:
                raise ProblemError("steps", step, variants, "a step needs at least one variant")
            for number, variant in enumerate(variants):
                _require_whole(("steps", (step, number)), variant, len(self.budgets))
        for k, budget in enumerate(self.budgets):
            _require_count("budgets", k, budget, 0)
        _require_count("deadline", None, self.deadline, 0)
        _require_count("parallel", None, self.parallel, 1)
        for tool, most in self.at_once.items():
            _require_count(f"at_once[{tool!r}]", None, most, 1)
        if self.aim not in ("value", "time", *range(len(self.budgets))):
            raise ProblemError("aim", None, self.aim, 'expected "value", "time", or the number of a resource')
        for step, waits in enumerate(self.after):
            if wrong := [wait for wait in waits if type(wait) is not int or not 0 <= wait < len(self.steps)]:
                raise ProblemError("after", step, wrong[0], f"is no number of a step (0 to {len(self.steps) - 1})")
        if len(self.order) < len(self.steps):
            stuck = min(set(range(len(self.steps))) - set(self.order))
            raise ProblemError("after", stuck, self.after[stuck], "steps wait for each other in a circle; break it")

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The steps, each after those that it waits for; without those in circles and behind them."""
        done: list[int] = []
        placed: set[int] = set()
        grew = True
        while grew:
            ready = [s for s in range(len(self.steps)) if s not in placed and placed.issuperset(self.after[s])]
            done, placed, grew = [*done, *ready], placed | {*ready}, bool(ready)
        return tuple(done)

    @cached_property
    def limited(self) -> bool:
        """Whether anything limits the calls at once."""
        return self.parallel is not None or bool(self.at_once)

    @cached_property
    def latest(self) -> int:
        """No schedule needs to end later: the deadline, or the steps one after the other."""
        longest = sum(max(variant.time for variant in variants) for variants in self.steps)
        return longest if self.deadline is None else min(self.deadline, longest)

    @cached_property
    def fastest(self) -> tuple[int, ...]:
        """When each step ends at the earliest, every step done in its shortest time."""
        ends = [0] * len(self.steps)
        for step in self.order:
            ready = max((ends[index] for index in self.after[step]), default=0)
            ends[step] = ready + min(variant.time for variant in self.steps[step])
        return tuple(ends)

    def longest_chain(self, times: Sequence[int]) -> tuple[int, ...]:
        """The steps of a longest chain by the `times` of all, in order; of several one that has the first steps."""
        ends, before = [0] * len(self.steps), [-1] * len(self.steps)
        for step in self.order:
            before[step] = max(self.after[step], key=lambda index: (ends[index], -index), default=-1)
            ends[step] = times[step] + (ends[before[step]] if self.after[step] else 0)
        chain = [max(range(len(ends)), key=lambda index: (ends[index], -index), default=-1)]
        while chain[-1] >= 0:
            chain.append(before[chain[-1]])
        return tuple(reversed(chain[:-1]))


def _require_whole(where: tuple[str, tuple[int, int]], variant: Variant, resources: int) -> None:
    name, index = where
    if len(variant.use) != resources:
        raise ProblemError(name, index, variant.use, f"expected an amount for each of {resources} budgets")
    for amount in (variant.time, *variant.use):
        if type(amount) is not int or amount < 0:
            raise ProblemError(name, index, amount, "times and amounts are whole numbers of at least 0; scale them")
    if type(variant.value) is not int:
        raise ProblemError(name, index, variant.value, "a value is a whole number; scale it")


def _require_count(name: str, index: int | None, count: Any, least: int) -> None:
    if count is not None and (type(count) is not int or count < least):
        raise ProblemError(name, index, count, f"expected a whole number of at least {least}, or None for no limit")


@dataclass(frozen=True)
class Schedule:
    """An answer; true if there is a plan.

    Attributes:
        status: OPTIMAL: proved the best; FEASIBLE: the time was up before the proof; INFEASIBLE: proved that none
            fits; TIMEOUT: the time was up before any was found; ERROR: the message says what failed.
        chosen: n numbers, the chosen variant of each step; empty without a plan.
        starts: n times, when each step starts; empty without a plan.
        end: When the last one has ended; None without a plan.
        value: The sum of the values.
        used: K amounts, what is used of each resource.
        objective: What was maximised (`solvers.scheduling.objective`).
        bound: No plan has a higher objective; None where nothing is known.
        message: What failed.

    Examples:
        >>> from solvers import ScheduleProblem, Variant, schedule
        >>> plan = schedule(ScheduleProblem(steps=[[Variant(20, (5,))]], after=[[]], budgets=[4]))
        >>> bool(plan), plan.status.value, plan.end
        (False, 'INFEASIBLE', None)
    """

    status: Status
    chosen: tuple[int, ...] = ()
    starts: tuple[int, ...] = ()
    end: int | None = None
    value: int | None = None
    used: tuple[int, ...] = ()
    objective: int | None = None
    bound: float | None = None
    message: str = ""

    def __bool__(self) -> bool:
        return self.end is not None

    @property
    def gap(self) -> float | None:
        """How far the objective may be from the best, as a share of the bound; 0 with a proof, None if unknown."""
        if self.status is Status.OPTIMAL:
            return 0.0
        if self.objective is None or self.bound is None:
            return None
        return max(0.0, self.bound - self.objective) / max(1.0, abs(self.bound))
