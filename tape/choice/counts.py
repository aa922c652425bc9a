"""How many of what: the counts of greatest value under several caps, exact however large the counts are.

A linear programme bounds what is left to decide; then one count is split in two, below and above where that has it.
Floating point only steers the search. Every bound, and every proof that nothing fits, is computed again in whole
numbers from the prices of the resources that the programme has found: any prices give a bound (weak duality).
"""

from __future__ import annotations

import itertools
import math
import operator
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

_SMALL = 1e-9
_WHOLE = 1e-7
_SCALE = 2**60
"""Prices are whole numbers of this part of a value."""
_MOST_PIVOTS = 2000
_CUT = -1
"""The slack of a split, which no multiplier is read from."""


@dataclass(frozen=True)
class Group:
    """Equal things, each of which is taken in one of some ways, or not at all.

    Attributes:
        count: How many there are.
        least: How many have to be taken.
        costs: By way, what one takes of each resource; at least 0.
        values: By way, what one is worth; at least 0.
    """

    count: int
    least: int
    costs: tuple[tuple[int, ...], ...]
    values: tuple[int, ...]


class Counts(NamedTuple):
    """An answer.

    Attributes:
        taken: By group and way, how many.
        value: What they are worth.
        bound: Nothing that fits is worth more; the value where that is proved the greatest.
    """

    taken: list[list[int]]
    value: int
    bound: int


def best_counts(groups: Sequence[Group], caps: Sequence[int], seconds: float) -> Counts | None:
    """The counts of greatest value that keep all caps; None where the least counts do not fit.

    Args:
        groups: What there is. In each one way is the thriftiest in every resource.
        caps: By resource.
        seconds: When to stop with the best that was found; its bound is above its value then.
    """
    ways = [_useful(group, caps) for group in groups]
    merged: dict[Any, list[int]] = {}  # groups that are alike are one, else all their orders would be searched
    for number, (group, useful) in enumerate(zip(groups, ways, strict=True)):
        alike = tuple(group.costs[way] for way in useful), tuple(group.values[way] for way in useful)
        if useful:
            merged.setdefault(alike, []).append(number)
        elif group.least:
            return None
    together = [
        Group(sum(groups[count].count for count in numbers), sum(groups[count].least for count in numbers), *alike)
        for alike, numbers in merged.items()
    ]
    counts = _Search(together, caps, time.monotonic() + seconds).run() if together else Counts([], 0, 0)
    if counts is None:
        return None
    taken = [[0] * len(group.costs) for group in groups]
    for numbers, left in zip(merged.values(), counts.taken, strict=True):
        spare = sum(left) - sum(groups[count].least for count in numbers)
        for index in numbers:
            more = min(spare, groups[index].count - groups[index].least)
            spare, wanted = spare - more, groups[index].least + more
            for place, way in enumerate(ways[index]):
                taken[index][way] = now = min(left[place], wanted)
                left[place], wanted = left[place] - now, wanted - now
    return counts._replace(taken=taken)


def _useful(group: Group, caps: Sequence[int]) -> list[int]:
    """The ways that fit once, without those beside which another takes no more and is worth no less."""
    numbers: list[int] = []
    fitting = [
        way for way, cost in enumerate(group.costs) if all(index <= cap for index, cap in zip(cost, caps, strict=True))
    ]
    for way in sorted(fitting, key=lambda way: (-group.values[way], group.costs[way], way)):
        if not any(all(map(operator.le, group.costs[index], group.costs[way])) for index in numbers):
            numbers.append(way)
    return numbers


def _dot(some: Sequence[int], others: Sequence[int]) -> int:
    return sum(map(operator.mul, some, others))


class _Tableau:
    """A linear programme in condensed form: a row's basic variable, plus the row times the others, is its last number.

    Row 0 is the objective. Variables are numbers; all are at least 0.
    """

    def __init__(self, body: np.ndarray[Any, np.dtype[np.float64]], basic: list[int], others: list[int]) -> None:
        self.body, self.basic, self.others = body, basic, others

    def copy(self) -> _Tableau:
        return _Tableau(self.body, [*self.basic], [*self.others])  # `limit` makes a body of its own

    def _pivot(self, row: int, column: int) -> None:
        body, pivot, factors = self.body, self.body[row, column], self.body[:, column].copy()
        line = body[row] / pivot
        body -= np.outer(factors, line)
        body[row], body[:, column] = line, -factors / pivot
        body[row, column] = 1 / pivot
        self.basic[row - 1], self.others[column] = self.others[column], self.basic[row - 1]

    def maximise(self) -> None:
        """From a point that keeps all rows to the best."""
        for _ in range(_MOST_PIVOTS):
            column = int(np.argmin(self.body[0, :-1]))
            if self.body[0, column] >= -_SMALL:
                return
            factors, room = self.body[1:, column], self.body[1:, -1]
            with np.errstate(divide="ignore", invalid="ignore"):
                self._pivot(1 + int(np.argmin(np.where(factors > _SMALL, room / factors, np.inf))), column)

    def repair(self) -> int | None:
        """From a best point that breaks rows to one that keeps them; a row that cannot be kept, if there is one."""
        for _ in range(_MOST_PIVOTS):
            row = 1 + int(np.argmin(self.body[1:, -1]))
            if self.body[row, -1] >= -_SMALL:
                return None
            factors = self.body[row, :-1]
            if not (factors < -_SMALL).any():
                return row
            with np.errstate(divide="ignore", invalid="ignore"):
                steps = np.where(factors < -_SMALL, np.maximum(self.body[0, :-1], 0) / -factors, np.inf)
            self._pivot(row, int(np.argmin(steps)))
        return None

    def limit(self, variable: int, number: int, *, most: bool) -> None:
        """Add a row: a variable is at most a number, or at least that."""
        if variable in self.basic:
            line = self.body[1 + self.basic.index(variable)].copy()
        else:
            line = np.zeros(len(self.others) + 1)
            line[self.others.index(variable)] = -1.0
        line[-1] -= number
        self.body = np.vstack([self.body, -line if most else line])
        self.basic.append(_CUT)

    def values(self) -> dict[int, float]:
        """The basic variables; all others are 0."""
        return {
            index: float(value) for index, value in zip(self.basic, self.body[1:, -1], strict=True) if index != _CUT
        }


class _Node(NamedTuple):
    """A part of the search: limits of each variable, and no value in it is above the bound."""

    tableau: _Tableau
    low: list[int]
    high: list[int]
    bound: int


class _Search:
    """The search. Variables are the counts of all ways, then how many of each group are left out, then resources."""

    def __init__(self, groups: Sequence[Group], caps: Sequence[int], deadline: float) -> None:
        self._groups, self._caps, self._deadline = groups, caps, deadline
        self._cost = [cost for group in groups for cost in group.costs]
        self._value = [value for group in groups for value in group.values]
        ends = np.cumsum([len(group.costs) for group in groups]).tolist()
        self._ways = [range(end - len(group.costs), end) for end, group in zip(ends, groups, strict=True)]
        self._idle = len(self._cost)
        self._resource = self._idle + len(groups)
        self._unit = max(self._value, default=0) or 1
        self._swaps = sorted(self._gains(), key=lambda pair: pair[0])
        self._best: list[int] | None = None
        self._most = -1

    def run(self) -> Counts | None:
        """Split until nothing is left that could be better, or the time is up."""
        self._improve([0] * self._idle)
        open_nodes = [] if self._best is None else [self._root()]
        while open_nodes and time.monotonic() < self._deadline:
            node = open_nodes.pop()
            if node.bound > self._most:
                open_nodes += self._parts(node)
        if self._best is None:
            return None
        bound = max((node.bound for node in open_nodes), default=0)
        return Counts([[self._best[way] for way in ways] for ways in self._ways], self._most, max(bound, self._most))

    def _root(self) -> _Node:
        ways, groups, caps = self._idle, len(self._groups), self._caps
        body = np.zeros((1 + groups + len(caps), ways + 1))
        body[0, :-1] = [-value / self._unit for value in self._value]
        for row, (group, own) in enumerate(zip(self._groups, self._ways, strict=True), 1):
            body[row, own.start : own.stop], body[row, -1] = 1.0, group.count
        for row, cap in enumerate(caps):
            body[1 + groups + row, :-1] = [cost[row] / (cap or 1) for cost in self._cost]
            body[1 + groups + row, -1] = 1.0
        tableau = _Tableau(body, [*range(ways, ways + groups + len(caps))], [*range(ways)])
        tableau.maximise()
        high = [group.count for group, own in zip(self._groups, self._ways, strict=True) for _ in own]
        for number, group in enumerate(self._groups):
            high.append(group.count - group.least)
            if group.least:
                tableau.limit(ways + number, high[-1], most=True)
        return _Node(tableau, [0] * len(high), high, _dot(high, self._value))

    def _parts(self, node: _Node) -> list[_Node]:
        """The two parts of a node, the likelier one last; none where nothing in it is better than what is known."""
        broken = node.tableau.repair()
        bound = self._bound(node, broken)
        if bound is None or bound <= self._most:
            return []
        bound, values = min(bound, node.bound), node.tableau.values()
        counts = [math.floor(values.get(way, 0.0) + _WHOLE) for way in range(self._idle)]
        self._improve([min(max(counts[way], node.low[way]), node.high[way]) for way in range(self._idle)])
        split = self._split(node, values) if bound > self._most else None
        if split is None:
            return []
        variable, at = split
        below = node._replace(tableau=node.tableau.copy(), high=[*node.high], bound=bound)
        above = node._replace(tableau=node.tableau.copy(), low=[*node.low], bound=bound)
        below.high[variable], above.low[variable] = math.floor(at), math.floor(at) + 1
        below.tableau.limit(variable, math.floor(at), most=True)
        above.tableau.limit(variable, math.floor(at) + 1, most=False)
        return [below, above] if at % 1 > 0.5 else [above, below]

    def _split(self, node: _Node, values: dict[int, float]) -> tuple[int, float] | None:
        """A variable that is to be a whole number, and where to split it; None where all are fixed."""
        inside = {
            name: at
            for name, at in values.items()
            if name < self._resource and node.low[name] < node.high[name] and _WHOLE < at % 1 < 1 - _WHOLE
            and node.low[name] < at < node.high[name]
        }  # fmt: skip
        if inside:  # whole groups first: they decide more
            return min(inside.items(), key=lambda pair: (pair[0] < self._idle, abs(pair[1] % 1 - 0.5), pair[0]))
        loose = (index for index in range(self._idle) if node.low[index] < node.high[index])
        return next(((index, (node.low[index] + node.high[index]) / 2) for index in loose), None)

    def _bound(self, node: _Node, broken: int | None) -> int | None:
        """What nothing in a node is worth more than, in whole numbers; None where nothing in it fits.

        A resource's price is what the programme's optimum has for it; or, where a row is broken, what shows that.
        """
        tableau, scale = node.tableau, self._unit if broken is None else 1.0
        row, worth = tableau.body[broken or 0], _SCALE if broken is None else 0
        prices = dict(zip(tableau.others, row[:-1].tolist(), strict=True))
        if broken is not None:
            prices[tableau.basic[broken - 1]] = 1.0
        price = [
            max(0, int(prices.get(self._resource + number, 0.0) * scale / (cap or 1) * _SCALE))
            for number, cap in enumerate(self._caps)
        ]
        total = _dot(price, self._caps)
        for number, (group, own) in enumerate(zip(self._groups, self._ways, strict=True)):
            left_out = self._idle + number
            least, most = group.count - node.high[left_out], group.count - node.low[left_out]
            gains = sorted(
                ((self._value[way] * worth - _dot(price, self._cost[way]), way) for way in own),
                reverse=True,
            )
            taken = sum(node.low[way] for way in own)
            total += sum(gain * node.low[way] for gain, way in gains)
            if taken > most or sum(node.high[way] for way in own) < least:
                return None
            for gain, way in gains:
                more = min((most if gain > 0 else least) - taken, node.high[way] - node.low[way])
                if more > 0:
                    taken, total = taken + more, total + gain * more
        if broken is None:
            return total // _SCALE
        return None if total < 0 else node.bound

    def _gains(self) -> list[tuple[float, int, int, list[int]]]:
        """What can be made better: shares of the caps that a value takes, from which way, to which, and the cost."""
        nothing, pairs = (0,) * len(self._caps), []
        for number, own in enumerate(self._ways):
            for to, source in itertools.product(own, (self._idle + number, *own)):
                idle = source >= self._idle
                gain = self._value[to] - (0 if idle else self._value[source])
                need = list(map(operator.sub, self._cost[to], nothing if idle else self._cost[source]))
                if gain > 0:
                    shares = sum(max(0, item) / (cap or 1) for item, cap in zip(need, self._caps, strict=True))
                    pairs.append((shares / gain, source, to, need))
        return pairs

    def _improve(self, counts: list[int]) -> None:
        """Fill counts up while they gain, and remember them where they fit and are the best so far."""
        for group, own in zip(self._groups, self._ways, strict=True):
            taken = sum(counts[way] for way in own)
            thriftiest = min(own, key=lambda way: self._cost[way])
            counts[thriftiest] += max(0, group.least - taken)
            counts.append(group.count - max(taken, group.least))
        left = [
            cap - _dot(counts, column) for cap, column in zip(self._caps, zip(*self._cost, strict=True), strict=True)
        ]
        if min([*left, *counts]) < 0:
            return
        again = True
        while again:
            again = False
            for _, source, to, need in self._swaps:
                room = [have // index for have, index in zip(left, need, strict=True) if index > 0]
                if counts[source] and (times := min([counts[source], *room])) > 0:
                    counts[source], counts[to], again = counts[source] - times, counts[to] + times, True
                    left = [have - times * index for have, index in zip(left, need, strict=True)]
        value = _dot(counts, self._value)
        if value > self._most:
            self._most, self._best = value, counts[: self._idle]
