"""The tie-break of the plain search: of all paths of the least cost, the one of the smallest edges."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass

from solvers.deadline import Deadline
from solvers.rcsp.plain_bounds import Priced
from solvers.rcsp.plain_labels import leaving, rooms
from solvers.rcsp.plain_net import Net

_LOOKS = 256
"""Arcs between two looks at the time."""

_REMEMBERED = 500_000
"""States that are remembered, at most: more take more time instead."""


@dataclass(frozen=True)
class _Frame:
    """A node on the way, and what is left to be tried there."""

    node: int
    ways: Iterator[tuple[int, int, int, int, tuple[int, ...]]]
    arc: int
    least: int
    cost: int
    used: tuple[int, ...]


def smallest(net: Net, best: Priced, cost: int, deadline: Deadline) -> tuple[int, ...]:
    """Depth first along what the bounds still allow, smallest edges first, remembering what failed.

    What failed fails again for whoever comes with no less: a completion of the latter would be one of the former, and
    no path is cheaper than the least cost.

    Args:
        net: A net in layers, with all paths of the least cost.
        best: Prices that bound well.
        cost: The least cost; there is a path that has it.
        deadline: When to give up.

    Raises:
        LateError: If the deadline passes.
    """
    names, room, behind = net.ids.tolist(), rooms(net), net.behind.tolist()
    out = [sorted(ways, key=lambda way: names[way[0]]) for ways in leaving(net, best)]
    failed: dict[int, list[tuple[int, ...]]] = {}
    nothing = (0,) * len(net.upper)
    stack = [_Frame(net.source, iter(out[net.source]), -1, best.value, 0, nothing)]
    count = remembered = 0
    while True:
        top = stack[-1]
        for arc, head, more, price, use in top.ways:
            count += 1
            if count % _LOOKS == 0:
                deadline.check()
            now = (top.cost + price, *map(operator.add, top.used, use))
            if top.least + more > cost * net.scale or any(map(operator.gt, now[1:], room[head])):
                continue
            if not net.keeps(now[1:], behind[head]):
                continue
            if head == net.target:
                if now[0] == cost:
                    return (*(frame.arc for frame in stack[1:]), arc)
            elif not any(all(map(operator.le, row, now)) for row in failed.get(head, ())):
                stack.append(_Frame(head, iter(out[head]), arc, top.least + more, now[0], now[1:]))
                break
        else:
            if remembered < _REMEMBERED:
                failed.setdefault(top.node, []).append((top.cost, *top.used))
                remembered += 1
            stack.pop()
