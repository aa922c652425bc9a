"""The tie-break of the plain search: of all paths of the least cost, the one of the smallest edges."""

from __future__ import annotations

import operator
from dataclasses import dataclass

import numpy as np

from solvers import memory
from solvers.deadline import Deadline
from solvers.errors import LateError
from solvers.rcsp.plain_bounds import Priced
from solvers.rcsp.plain_labels import LABEL_BYTES, Front, leaving, rooms, row_type
from solvers.rcsp.plain_net import Net

_LOOKS = 256
"""Arcs between two looks at the time."""


@dataclass(frozen=True)
class _Label:
    """A beginning of paths.

    Attributes:
        node: Where it ends.
        least: A path that begins so costs at least this many 1 / scale.
        cost: What it costs.
        used: (K,)
        before: It without its last arc.
        arc: Its last arc.
    """

    node: int
    least: int
    cost: int
    used: tuple[int, ...]
    before: _Label | None = None
    arc: int = -1


def smallest(net: Net, best: Priced, cost: int, deadline: Deadline) -> tuple[int, ...]:
    """Extends labels layer by layer, those of a layer in the order of their edges.

    So all that a layer grows is in that order, too, and the first path of the least cost is the one. A label goes where
    another one at its node uses no more, and is cheaper or costs as much and has the smaller edges.

    Args:
        net: A net in layers, with all paths of the least cost; these have equally many arcs.
        best: Prices that bound well.
        cost: The least cost; there is a path that has it.
        deadline: When to give up.

    Raises:
        LateError: If the deadline passes, or there are more labels than fit into memory.
    """
    names, room, behind, rows = net.ids.tolist(), rooms(net), net.behind.tolist(), row_type(net)
    out = [sorted(ways, key=lambda way: names[way[0]]) for ways in leaving(net, best)]
    layer = [_Label(net.source, best.value, 0, (0,) * len(net.upper))]
    looks = kept = 0
    while True:
        grown: dict[int, list[tuple[int, int, _Label]]] = {}
        for label in layer:
            for arc, head, more, price, use in out[label.node]:
                looks += 1
                if looks % _LOOKS == 0:
                    deadline.check()
                used = tuple(map(operator.add, label.used, use))
                if label.least + more > cost * net.scale or any(map(operator.gt, used, room[head])):
                    continue
                if not net.keeps(used, behind[head]):
                    continue
                one = _Label(head, label.least + more, label.cost + price, used, label, arc)
                if head != net.target:
                    grown.setdefault(head, []).append((one.cost, looks, one))
                elif one.cost == cost:
                    return _arcs(one)
        following = []
        for ways in grown.values():
            front = Front(np.array(ways[0][2].used, dtype=rows))
            for _, place, one in sorted(ways, key=operator.itemgetter(0, 1)):
                row = np.array(one.used, dtype=rows)
                if not front.dominates(row, 0, 1):
                    front.add(row, 0)
                    following.append((place, one))
        layer = [one for _, one in sorted(following, key=operator.itemgetter(0))]
        kept += len(layer)
        if kept * (LABEL_BYTES + 64.0 * len(net.upper)) > memory.MEMORY_CAP:
            raise LateError("there is no memory for more labels")


def _arcs(label: _Label) -> tuple[int, ...]:
    arcs = []
    while label.before is not None:
        arcs.append(label.arc)
        label = label.before
    return tuple(reversed(arcs))
