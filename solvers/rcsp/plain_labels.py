"""Label setting in plain Python: labels are beginnings of paths, taken in order of what such a path costs at least."""

from __future__ import annotations

import heapq
import itertools
import math
import operator
from bisect import insort
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from solvers import memory
from solvers.deadline import SolveDeadline
from solvers.found import Ending
from solvers.rcsp.plain_net import Amounts, Net, Priced

LABEL_BYTES = 700.0
"""Of one label, but for its amounts."""


class Label(NamedTuple):
    """A beginning of paths.

    Attributes:
        node: Where it ends.
        cost: What it costs.
        used: K amounts.
        met: The bits of the critical nodes that it met.
        names: What its arcs are called outside, where ties are to be broken by that.
        before: It without its last arc.
        arc: Its last arc.
    """

    node: int
    cost: int
    used: Amounts
    met: int
    names: tuple[int, ...] = ()
    before: Label | None = None
    arc: int = -1

    def arcs(self) -> tuple[int, ...]:
        """All its arcs."""
        label, arcs = self, []
        while label.before is not None:
            arcs.append(label.arc)
            label = label.before
        return tuple(reversed(arcs))


class Labels:
    """One run of label setting.

    Labels are taken in order of the least that a path within the upper limits costs which begins so. By then all labels
    have been taken that could dominate it: for another beginning at the same node that costs no more and uses no more,
    this least is no greater. A label goes only if as many others dominate it as paths are wanted: each of those takes
    every way on that this one could take.

    With a lower limit, a label dominates others only if it has used no less, or so much that what must be used behind
    the node reaches the limit. With `ties` it dominates one that costs as much only if its arcs have smaller names.

    Args:
        net: What `pruned` leaves.
        best: Prices at which no circle is negative.
        wanted: How many paths.
        limit: Paths must be cheaper; None for no limit. With `ties` it is the least cost, which paths must have.
        critical: Nodes that no path may meet twice, each with a bit of its own.
        ties: Of all paths of the least cost, find that of the smallest names; for a net in layers, in which these
            have equally many arcs.

    Attributes:
        made: How many labels there are.
        found: Costs, names, numbers and labels of the cheapest paths, cheapest first.
        least: All other paths that are cheaper than the limit, and those found, cost at least this many 1 / scale.
    """

    def __init__(
        self,
        net: Net,
        best: Priced,
        wanted: int,
        limit: int | None,
        critical: Mapping[int, int] | None = None,
        *,
        ties: bool = False,
    ) -> None:
        self._net, self._wanted, self._limit, self._ties = net, wanted, limit, ties
        self._critical = critical or {}
        self._scale = net.scale
        self._limited = [k for k, most in enumerate(net.upper) if most is not None]
        self._demanded = [k for k, low in enumerate(net.lower) if low > 0]
        upper = [math.inf if most is None else most for most in net.upper]
        self._room = [tuple(map(operator.sub, upper, row)) for row in net.behind]
        self._lack = [[max(0, net.lower[k] - row[k]) for k in self._demanded] for row in net.behind]
        self._out: list[list[tuple[int, int, int]]] = [[] for _ in range(net.n)]
        for arc, (tail, head, weight) in enumerate(zip(net.tails, net.heads, best.weights, strict=True)):
            self._out[tail].append((arc, head, weight + best.behind[head] - best.behind[tail]))
        self._fronts: dict[int, Front] = {}
        self.made = 1
        self.least = best.value
        self.found: list[tuple[int, tuple[int, ...], int, Label]] = []
        first = Label(net.source, 0, (0,) * len(net.lower), self._critical.get(net.source, 0))
        self._heap = [(self.least, first.names, first.used, 0, first)]
        if net.source == net.target and not any(net.lower) and self._of_interest(0):
            self._take_note(first, 0)

    @property
    def bytes(self) -> float:
        """What the labels take, about."""
        return self.made * (LABEL_BYTES + 64.0 * len(self._net.lower))

    def run(self, deadline: SolveDeadline) -> Ending:
        """Goes on until no path that is left is of interest; PROVED also if there is no path."""
        for turn in itertools.count():
            if not self._heap or not self._of_interest(self._heap[0][0]):
                break
            self.least, *_, label = heapq.heappop(self._heap)
            if turn % 64 == 0 and deadline.passed():
                return Ending.OUT_OF_TIME
            if self.bytes > memory.MEMORY_CAP:
                return Ending.TOO_LARGE
            if self._settle(label):
                self._extend(label)
        return Ending.PROVED

    def _of_interest(self, least: int) -> bool:
        return self._limit is None or least < self._limit * self._scale + self._ties

    def _settle(self, label: Label) -> bool:
        """Whether too few others dominate a label; then it may dominate others."""
        used = label.used
        short = [-min(used[k], lack) for k, lack in zip(self._demanded, self._lack[label.node], strict=True)]
        row = _row([label.cost, *(used[k] for k in self._limited), *short])
        front = self._fronts.setdefault(label.node, Front(row))

        def covers(other: Label) -> bool:
            smaller = not self._ties or other.cost < label.cost or other.names < label.names
            return smaller and not other.met & ~label.met

        if front.dominates(row, self._wanted, covers if self._ties or self._critical else None):
            return False
        front.add(row, label)
        return True

    def _extend(self, label: Label) -> None:
        for more, item in self._onwards(label):
            late = self._ties and self.found and item.names > self.found[0][1]
            if late or not self._of_interest(self.least + more):
                continue
            heapq.heappush(self._heap, (self.least + more, item.names, item.used, self.made, item))
            if item.node == self._net.target and all(map(operator.ge, item.used, self._net.lower)):
                self._take_note(item, self.made)
            self.made += 1

    def _onwards(self, label: Label) -> Iterator[tuple[int, Label]]:
        """Labels by one arc more that each limit by itself allows, and how much dearer such paths are at least."""
        net = self._net
        for arc, head, more in self._out[label.node]:
            bit = self._critical.get(head, 0)
            used = tuple(map(operator.add, label.used, net.use[arc]))
            if label.met & bit or any(map(operator.gt, used, self._room[head])):
                continue
            if net.keeps(used, net.behind[head]):
                names = (*label.names, net.ids[arc]) if self._ties else ()
                yield more, Label(head, label.cost + net.cost[arc], used, label.met | bit, names, label, arc)

    def dive(self, deadline: SolveDeadline) -> tuple[int, ...] | None:
        """A path within the limits, by the way on that is the cheapest at each node; before anything is run."""
        label: Label | None = self._heap[0][-1]
        for move in range(self._net.n):
            if move % 64 == 63:
                deadline.check()
            if label is None or label.node == self._net.target:
                break
            _, label = min(self._onwards(label), default=(0, None), key=operator.itemgetter(0))
        arcs = label.arcs() if label is not None and label.node == self._net.target else None
        return arcs if arcs is not None and self._net.within(arcs) else None

    def _take_note(self, label: Label, number: int) -> None:
        """Of a path within the limits."""
        if self._limit is not None and label.cost >= self._limit + self._ties:
            return
        insort(self.found, (label.cost, label.names, number, label))
        del self.found[self._wanted :]
        if len(self.found) == self._wanted:
            self._limit = self.found[-1][0]


def _row(values: list[int]) -> npt.NDArray[Any]:
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        return np.array(values, dtype=object)


class Front:
    """The labels of one node that were kept, as rows in which less is better everywhere."""

    def __init__(self, like: npt.NDArray[Any]) -> None:
        self._rows = np.empty((4, len(like)), dtype=like.dtype)
        self._labels: list[Label] = []

    def dominates(self, row: npt.NDArray[Any], wanted: int, covers: Callable[[Label], bool] | None = None) -> bool:
        """Whether `wanted` labels are as good as this one everywhere, of those that cover it otherwise."""
        if len(self._labels) < wanted:
            return False
        as_good = (self._rows[: len(self._labels)] <= row).all(axis=1)
        if covers is None:
            return int(as_good.sum()) >= wanted
        return sum(covers(self._labels[i]) for i in np.flatnonzero(as_good)) >= wanted

    def add(self, row: npt.NDArray[Any], label: Label) -> None:
        """One label more."""
        if len(self._labels) == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        if row.dtype == object:  # too large for the others' 64 bits
            self._rows = self._rows.astype(object)
        self._rows[len(self._labels)] = row
        self._labels.append(label)
