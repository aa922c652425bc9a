"""The best variants where nothing limits the calls at once: labels over the steps, in an order that keeps few open.

Each step starts then when those that it waits for have ended, so the variants decide the times. A label is a choice
for the steps so far: when each open step (one that waits for a step so far) may start, what has been used, and what has
been earned. One that starts nothing sooner, uses nothing less and earns no more than another is dropped, and so is one
that cannot reach the target, by the bound of `prices`. The target is more than the best plan that a first,
narrow search has found. On chains and trees few steps are open at the same time and few labels are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.errors import TooLargeError
from solvers.scheduling.objective import Objective
from solvers.scheduling.prices import DualPrices, prices
from solvers.scheduling.problem import ScheduleProblem

Whole = NDArray[np.int64]

_BEAM = 200
"""Labels of the highest bounds that the first search keeps of a step, to find a plan that the second has to beat."""

_COMPARED = 32
"""Labels are compared with so many of those with the highest bounds. Any number is right; more drop more, slower."""

_ROUNDED = 1e-9
"""Bounds are floats: so large a share of the largest may be lost in adding them up."""


@dataclass(frozen=True)
class _Layer:
    """The labels after a step: a row each.

    Attributes:
        open: The open steps; the last stands for the end of the plan, if something has ended.
        ready: When each of them may start.
        used: Of each capped resource.
        earned: The gains.
        origin: The row in the layer before and the variant.
    """

    open: tuple[int, ...]
    ready: Whole
    used: Whole
    earned: Whole
    origin: Whole


def best_variants(
    problem: ScheduleProblem, objective: Objective, most: int, *, proved: bool = True
) -> tuple[tuple[int, ...], int, float] | None:
    """The variants of the best plan, whatever runs at once, its objective and a bound; None where none fits.

    Args:
        problem: The problem; its limits on calls at once play no part.
        objective: What is maximised.
        most: Labels that may be kept over all steps and targets. Where the proof needs more, the bound is higher than
            the objective of the plan, which is a good one then.
        proved: Else a good plan is enough.

    Raises:
        TooLargeError: There would be more labels before a plan is found.
    """
    at_prices = prices(problem, objective)
    search = _Search(problem, objective, at_prices, most)
    least = sum(map(min, objective.gains)) - objective.late * problem.latest
    pair = search.down_to(least, _BEAM) or search.down_to(least)
    if pair is None:
        return None
    if not proved:
        return *pair, at_prices.bound
    try:
        best = search.down_to(pair[1] + 1) or pair
    except TooLargeError:
        return *pair, max(pair[1] + 1, at_prices.bound + search.rounded)
    return *best, best[1]


class _Search:
    """Labels down to a target."""

    def __init__(self, problem: ScheduleProblem, objective: Objective, dual_prices: DualPrices, most: int) -> None:
        self._problem, self._objective, self._prices, self._left = problem, objective, dual_prices, most
        count = len(problem.steps)
        self._next: list[list[int]] = [[] for _ in range(count)]
        for step, waits in enumerate(problem.after):
            for wait in {*waits}:
                self._next[wait].append(step)
        self._tails = [0] * (count + 1)
        for step in reversed(problem.order):
            shortest = min(variant.time for variant in problem.steps[step])
            self._tails[step] = shortest + max((self._tails[index] for index in self._next[step]), default=0)
        self._next = [after or [count] for after in self._next]
        self._order = _narrow(problem, self._next)
        self._capped = [k for k, budget in enumerate(problem.budgets) if budget is not None]
        self._caps = np.array([problem.budgets[k] for k in self._capped], np.int64)
        self._uses = [np.array([[o.use[k] for k in self._capped] for o in row], np.int64) for row in problem.steps]
        self._uses = [rows.reshape(len(rows), len(self._capped)) for rows in self._uses]
        self.rounded = _ROUNDED * (
            abs(dual_prices.bound)
            + sum(max(map(abs, row)) for row in objective.gains)
            + objective.late * problem.latest
        )

    def down_to(self, target: int, width: int | None = None) -> tuple[tuple[int, ...], int] | None:
        """The best plan that reaches a target, and its objective, with so many labels a step; None if none is found."""
        nothing = np.zeros((1, 0), np.int64)
        used = np.zeros((1, len(self._capped)), np.int64)
        layers = [_Layer((), nothing, used, np.zeros(1, np.int64), np.zeros((1, 2), np.int64))]
        for place in range(len(self._order)):
            layer = self._extended(layers[-1], place, target, width)
            self._left -= len(layer.earned)
            if self._left < 0:
                raise TooLargeError("too many partial plans are as good as each other")
            if not len(layer.earned):
                return None
            layers.append(layer)
        last = layers[-1]
        objectives = last.earned - self._objective.late * last.ready.max(axis=1, initial=0)
        row = int(objectives.argmax())
        reached, chosen = int(objectives[row]), [0] * len(self._order)
        for step, layer in zip(reversed(self._order), reversed(layers), strict=False):
            row, chosen[step] = map(int, layer.origin[row])
        return (tuple(chosen), reached) if reached >= target else None

    def _extended(self, layer: _Layer, place: int, target: int, width: int | None) -> _Layer:
        """The layer with one more step, without what is dropped."""
        step = self._order[place]
        rows, variants = len(layer.earned), self._problem.steps[step]
        kept = [count for count in layer.open if count != step]
        fresh = [count for count in self._next[step] if count not in kept]
        column = {count: number for number, count in enumerate(layer.open)}
        start = layer.ready[:, column[step]] if step in column else np.zeros(rows, np.int64)
        ends = start[:, None] + np.array([item.time for item in variants], np.int64)
        ready = np.zeros((rows, len(variants), len(kept) + len(fresh)), np.int64)
        for number, index in enumerate([*kept, *fresh]):
            ready[:, :, number] = layer.ready[:, column[index], None] if index in column else 0
            if index in self._next[step]:
                ready[:, :, number] = np.maximum(ready[:, :, number], ends)
        used = layer.used[:, None, :] + self._uses[step]
        earned = layer.earned[:, None] + np.array(self._objective.gains[step], np.int64)
        opened = (*kept, *fresh)
        bounds = self._bounds(place, opened, ready, used, earned)
        origin = np.stack(np.meshgrid(np.arange(rows), np.arange(len(variants)), indexing="ij"), axis=2)
        row, variant = np.nonzero(bounds >= target - self.rounded)
        at = row, variant
        first = np.argsort(-bounds[at], kind="stable")
        made = _Layer(opened, ready[at][first], used[at][first], earned[at][first], origin[at][first])
        alive = np.flatnonzero(_undominated(np.hstack([made.ready, made.used, -made.earned[:, None]])))[:width]
        return _Layer(opened, made.ready[alive], made.used[alive], made.earned[alive], made.origin[alive])

    def _bounds(
        self, place: int, opened: Sequence[int], ready: Whole, used: Whole, earned: Whole
    ) -> NDArray[np.float64]:
        """The most that plans can reach which begin so; minus infinity where none fits."""
        rest, dual_prices, late = self._order[place + 1 :], self._prices, self._objective.late
        done = {*self._order[: place + 1]}
        tails = np.array([self._tails[index] for index in opened], np.int64)
        soonest = (ready + tails).max(axis=2, initial=0)
        shortest = max((self._problem.fastest[index] for index in rest), default=0)
        least = sum((self._uses[index].min(axis=0) for index in rest), np.zeros(len(self._caps), np.int64))
        fits = (used + least <= self._caps).all(axis=2) & (soonest <= self._problem.latest)
        into = {
            index: sum(price for (a, b), price in dual_prices.flow.items() if b == index and a in done)
            for index in opened
        }
        flow = np.array([into[index] for index in opened])
        over = dual_prices.total - late
        end = np.full(soonest.shape, self._problem.latest) if over >= 0 else np.maximum(soonest, shortest)
        bounds = earned + (self._caps - used) @ dual_prices.budgets - ready @ flow + over * end
        return np.where(fits, bounds + sum(float(dual_prices.reduced[index].max()) for index in rest), -np.inf)


def _narrow(problem: ScheduleProblem, following: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The steps in an order that keeps few of them open, found greedily."""
    order: list[int] = []
    done: set[int] = set()
    opened: set[int] = set()
    while len(order) < len(problem.steps):
        ready = [step for step in problem.order if step not in done and done.issuperset(problem.after[step])]
        step = min(ready, key=lambda index: (len((opened - {index}) | {*following[index]}), index not in opened))
        order.append(step)
        done.add(step)
        opened = (opened - {step}) | {*following[step]}
    return tuple(order)


def _undominated(rows: Whole) -> NDArray[np.bool_]:
    """Which rows no better one among the first is at most as large as in every column; of equal ones the first."""
    alive = np.ones(len(rows), bool)
    first = rows[:_COMPARED]
    for begin in range(0, len(rows), 4096):
        block = rows[begin : begin + 4096]
        beaten = np.arange(begin, begin + len(block))[:, None] > np.arange(len(first))
        for column in range(rows.shape[1]):
            beaten &= block[:, column, None] >= first[:, column]
        alive[begin : begin + 4096] = ~beaten.any(axis=1)
    return alive
