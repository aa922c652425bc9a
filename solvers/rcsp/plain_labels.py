"""Label setting in plain Python: labels are beginnings of paths, taken in order of what such a path costs at least."""

from __future__ import annotations

import heapq
import itertools
import math
import operator
from bisect import insort
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from solvers import memory
from solvers.deadline import Deadline
from solvers.found import Ending
from solvers.rcsp.plain_bounds import Priced
from solvers.rcsp.plain_net import Net

Path = tuple[int, tuple[int, ...]]
"""Its cost and its arcs."""

LABEL_BYTES = 700.0
"""Of one label, but for its amounts."""

_NARROW = 2**40
"""Sums of so many of such costs as there can be labels in memory fit into 64 bits."""


class Labels:
    """One run of label setting.

    Labels are taken in order of the least that a path within the upper limits costs which begins so. By then all labels
    have been taken that could dominate it: for another beginning at the same node that costs no more and uses no more,
    this least is no greater. A label goes only if as many others dominate it as paths are wanted: each of those takes
    every way on that this one could take.

    With a lower limit, a label dominates others only if it has used no less, or so much that what must be used behind
    the node reaches the limit.

    Args:
        net: What `pruned` leaves.
        best: Prices at which no circle is negative.
        wanted: How many paths.
        limit: Paths must be cheaper; None for no limit.
        critical: Nodes that no path may meet twice, each with a bit of its own.

    Attributes:
        found: Costs and labels of the cheapest paths, cheapest first.
        least: All other paths that are cheaper than the limit, and those found, cost at least this many 1 / scale.
    """

    def __init__(self, net: Net, best: Priced, wanted: int, limit: int | None, critical: Mapping[int, int]) -> None:
        self._net, self._wanted, self._limit, self._critical = net, wanted, limit, critical
        self._limited = np.flatnonzero(net.limited).tolist()
        self._demanded = np.flatnonzero(net.lower > 0).tolist()
        self._lower = net.lower.tolist()
        self._behind = net.behind.tolist()
        self._room = rooms(net)
        self._lack = [[max(0, self._lower[k] - row[k]) for k in self._demanded] for row in self._behind]
        self._out = leaving(net, best)
        self._dtype = row_type(net)
        self._fronts: dict[int, Front] = {}
        nothing = (0,) * len(self._lower)
        self._node, self._cost, self._before, self._arc = [net.source], [0], [-1], [-1]
        self._met = [critical.get(net.source, 0)]
        self._heap: list[tuple[int, tuple[int, ...], int]] = [(best.value, nothing, 0)]
        self.least = best.value
        self.found: list[tuple[int, int]] = []
        if net.source == net.target and not any(self._lower) and (limit is None or limit > 0):
            self._take_note(0, 0)

    def __len__(self) -> int:
        return len(self._node)

    @property
    def bytes(self) -> float:
        """What the labels take, about."""
        return len(self) * (LABEL_BYTES + 64.0 * len(self._lower))

    def run(self, deadline: Deadline) -> Ending:
        """Goes on until no path that is left is of interest; PROVED also if there is no path."""
        for turn in itertools.count():
            if not self._heap or not self._of_interest(self._heap[0][0]):
                return Ending.PROVED
            self.least, used, label = heapq.heappop(self._heap)
            if turn % 64 == 0 and deadline.passed():
                return Ending.OUT_OF_TIME
            if self.bytes > memory.MEMORY_CAP:
                return Ending.TOO_LARGE
            if self._settle(label, used):
                self._extend(label, used)
        raise AssertionError("unreachable")

    def paths(self) -> list[Path]:
        """The paths found, cheapest first."""
        return [(cost, self._arcs(label)) for cost, label in self.found]

    def _arcs(self, label: int) -> tuple[int, ...]:
        arcs = []
        while self._before[label] >= 0:
            arcs.append(self._arc[label])
            label = self._before[label]
        return tuple(reversed(arcs))

    def _of_interest(self, least: int) -> bool:
        return self._limit is None or least < self._limit * self._net.scale

    def _settle(self, label: int, used: tuple[int, ...]) -> bool:
        """Whether too few others dominate a label; then it may dominate others."""
        node = self._node[label]
        short = [-min(used[k], lack) for k, lack in zip(self._demanded, self._lack[node], strict=True)]
        row = np.array([self._cost[label], *(used[k] for k in self._limited), *short], dtype=self._dtype)
        front = self._fronts.get(node)
        if front is None:
            front = self._fronts[node] = Front(row)
        if front.dominates(row, self._met[label], self._wanted):
            return False
        front.add(row, self._met[label])
        return True

    def _extend(self, label: int, used: tuple[int, ...]) -> None:
        for arc, head, more, cost, use in self._out[self._node[label]]:
            bit = self._critical.get(head, 0)
            total = tuple(map(operator.add, used, use))
            if self._met[label] & bit or any(map(operator.gt, total, self._room[head])):
                continue
            if not self._of_interest(self.least + more) or not self._net.keeps(total, self._behind[head]):
                continue
            heapq.heappush(self._heap, (self.least + more, total, len(self)))
            if head == self._net.target and all(map(operator.ge, total, self._lower)):
                self._take_note(self._cost[label] + cost, len(self))
            self._node.append(head)
            self._cost.append(self._cost[label] + cost)
            self._before.append(label)
            self._arc.append(arc)
            self._met.append(self._met[label] | bit)

    def _take_note(self, cost: int, label: int) -> None:
        """Of a path within the limits."""
        if self._limit is None or cost < self._limit:
            insort(self.found, (cost, label))
            del self.found[self._wanted :]
            if len(self.found) == self._wanted:
                self._limit = self.found[-1][0]


def row_type(net: Net) -> type[Any]:
    """As what the costs and amounts of all labels can be stored."""
    if object in (net.use.dtype, net.cost.dtype):
        return object
    if net.layers is not None:
        return np.int64 if net.farthest(net.cost) < 2**62 else object
    return np.int64 if not len(net.cost) or int(np.abs(net.cost).max()) < _NARROW else object


def rooms(net: Net) -> list[tuple[float, ...]]:
    """For each node what may have been used of each resource on the way to it."""
    columns = list(zip(net.upper.tolist(), net.limited.tolist(), strict=True))
    return [
        tuple(most - less if limited else math.inf for (most, limited), less in zip(columns, row, strict=True))
        for row in net.behind.tolist()
    ]


def leaving(net: Net, best: Priced) -> list[list[tuple[int, int, int, int, tuple[int, ...]]]]:
    """Of each node the arcs that leave it: arc, head, how much dearer at least paths through it are, cost, use."""
    out: list[list[tuple[int, int, int, int, tuple[int, ...]]]] = [[] for _ in range(net.n)]
    dearer = best.weights + best.behind.least[net.heads] - best.behind.least[net.tails]
    columns = (net.tails.tolist(), net.heads.tolist(), dearer.tolist(), net.cost.tolist(), net.use.tolist())
    for arc, (tail, head, more, cost, use) in enumerate(zip(*columns, strict=True)):
        out[tail].append((arc, head, more, cost, tuple(use)))
    return out


class Front:
    """The labels of one node that were kept, as rows in which less is better everywhere."""

    def __init__(self, like: npt.NDArray[Any]) -> None:
        self._rows = np.empty((4, len(like)), dtype=like.dtype)
        self._met: list[int] = []
        self._any_met = 0

    def dominates(self, row: npt.NDArray[Any], met: int, wanted: int) -> bool:
        """Whether `wanted` labels are as good as this one everywhere, and have met no critical node that it has not."""
        if len(self._met) < wanted:
            return False
        as_good = (self._rows[: len(self._met)] <= row).all(axis=1)
        if self._any_met & ~met:
            return sum(not self._met[i] & ~met for i in np.flatnonzero(as_good)) >= wanted
        return int(as_good.sum()) >= wanted

    def add(self, row: npt.NDArray[Any], met: int) -> None:
        """One label more."""
        if len(self._met) == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        self._rows[len(self._met)] = row
        self._met.append(met)
        self._any_met |= met
