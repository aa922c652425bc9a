"""The search for resource-constrained shortest paths without the compiled extension: slower, and as exact.

1. The arcs that no path within the limits takes are dropped, one resource at a time (`plain_net.pruned`).
2. Circles of negative cost that use nothing limited: if a path within the limits meets one, there is no best path.
3. Prices on limited resources: where no circle is negative at them, what a path costs at least can be told from each
   node (a Lagrangian relaxation). Paths found on the way bound the cost from above.
4. Labels, i.e. beginnings of paths, in order of the least that a path which begins so costs. As many labels as paths
   are wanted must dominate another one before it is dropped.
5. Where it is asked for, labels again, to break ties by the smallest edges.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from operator import add

from solvers.deadline import SolveDeadline
from solvers.errors import LateError
from solvers.found import Ending, Found
from solvers.rcsp.folded import Folded
from solvers.rcsp.plain_labels import Labels
from solvers.rcsp.plain_net import Net, Priced, at_prices, free_circle, further, least_priced, pruned, ways

_STEPS = 24
"""Prices that are looked at, at most."""


def search(folded: Folded, wanted: int, elementary: bool, deadline: SolveDeadline) -> Found:
    """Finds the paths of least cost from the source to the target within the limits.

    The costs and the ending are those of `solvers.compiled.shortest`; among paths of equal cost it may choose
    others.
    """
    problem = folded.problem
    heads, node_cost = problem.heads.tolist(), folded.node_cost.tolist()
    kept = [k for k, most in enumerate(folded.upper) if most is not None or folded.lower[k] > 0]
    visits = [tuple(row) for row in folded.node_use[:, kept].tolist()]
    net = Net(
        n=problem.n_nodes,
        tails=problem.tails.tolist(),
        heads=heads,
        cost=[cost + node_cost[head] for cost, head in zip(folded.cost.tolist(), heads, strict=True)],
        use=[tuple(map(add, row, visits[head])) for row, head in zip(folded.use[:, kept].tolist(), heads, strict=True)],
        ids=range(problem.n_edges),
        lower=tuple(max(0, folded.lower[k]) for k in kept),
        upper=tuple(folded.upper[k] for k in kept),
        source=problem.source,
        target=problem.target,
    )
    if elementary:
        ends = zip(net.tails, net.heads, strict=True)
        net = net.only(head != net.source and tail not in {net.target, head} for tail, head in ends)
    return searched(net, wanted, deadline, elementary=elementary)


def searched(net: Net, wanted: int, deadline: SolveDeadline, *, elementary: bool = False, ties: bool = False) -> Found:
    """Finds the paths of least cost from the source to the target of a net within its limits.

    With `ties` it is, of all cheapest paths, that of the smallest edges; for one path, and a net in layers.
    """
    began = time.perf_counter()
    run = _Search(wanted, deadline, elementary)
    try:
        ending = run.ending(net)
    except LateError:
        ending = Ending.OUT_OF_TIME
    ordered = not ties or ending is not Ending.PROVED or run.smallest()
    return Found(
        ending=ending,
        paths=[path for _, path in run.paths],
        bound=run.least(ending),
        ordered=ordered,
        labels=run.labels,
        seconds=time.perf_counter() - began,
        bytes=run.bytes,
    )


class _Search:
    """One search.

    Attributes:
        paths: Costs and edges of the paths found so far, best first; never more than wanted.
        bound: No path that is not among them is cheaper; None if unknown.
        labels: How many were made.
        bytes: The most memory that they took, about.
    """

    def __init__(self, wanted: int, deadline: SolveDeadline, elementary: bool) -> None:
        self._wanted, self._deadline, self._elementary = wanted, deadline, elementary
        self._relaxed: tuple[Net, Priced] | None = None
        self.paths: list[tuple[int, tuple[int, ...]]] = []
        self.bound: int | None = None
        self.labels = 0
        self.bytes = 0.0

    def ending(self, net: Net) -> Ending:
        """Searches, and says how that ended."""
        reached = ways(net, [0] * len(net.tails), self._deadline)
        if reached.least[net.target] >= reached.far:
            return Ending.UNREACHABLE
        if any(most is not None and most < max(low, 0) for low, most in zip(net.lower, net.upper, strict=True)):
            return Ending.INFEASIBLE
        net = pruned(net, self._deadline)
        while circle := free_circle(net, self._deadline):
            if self._elementary:
                net = pruned(_with_moves(net), self._deadline)
                break
            ending = self._can_meet(net, circle)
            if ending is Ending.PROVED:
                self.paths = [(0, _named(net, circle))]
                return Ending.UNBOUNDED
            if ending is not Ending.INFEASIBLE:
                return ending
            met = {net.tails[arc] for arc in circle}
            net = net.only(met.isdisjoint(ends) for ends in zip(net.tails, net.heads, strict=True))
            net = pruned(net, self._deadline)
        if not net.tails and net.source != net.target:
            return Ending.INFEASIBLE
        return self._labelled(net, self._relax(net))

    def smallest(self) -> bool:
        """Puts the path of the smallest edges in the place of another one that costs as much, if there is time."""
        assert self._relaxed is not None
        net, best = self._relaxed
        [(cost, _)] = self.paths
        labels = Labels(net, best, 1, cost, ties=True)
        if self._set(labels) is not Ending.PROVED:
            return False
        self._keep(net, (label.arcs() for *_, label in labels.found), afresh=True)
        return True

    def least(self, ending: Ending) -> int | None:
        """The bound to hand out."""
        if ending is Ending.PROVED:
            return self.paths[-1][0]
        if self.bound is None or ending not in {Ending.OUT_OF_TIME, Ending.TOO_LARGE}:
            return None
        limit = self._limit()
        return self.bound if limit is None else min(self.bound, limit)

    def _limit(self) -> int | None:
        """Paths are of interest only if they are cheaper than this."""
        return self.paths[-1][0] if len(self.paths) == self._wanted else None

    def _raise_bound(self, scaled: int, net: Net) -> None:
        """Takes note that no path but those handed out costs less than so many 1 / scale."""
        bound = -(-scaled // net.scale)
        self.bound = bound if self.bound is None else max(self.bound, bound)

    def _keep(self, net: Net, paths: Iterable[Sequence[int]], *, afresh: bool = False) -> None:
        """Takes note of paths within the limits, given by their arcs in a net."""
        named = {(sum(net.cost[arc] for arc in arcs), _named(net, arcs)) for arcs in paths}
        self.paths = sorted(named.union(() if afresh else self.paths))[: self._wanted]

    def _set(self, labels: Labels) -> Ending:
        """Sets labels until the end, or the deadline."""
        ending = labels.run(self._deadline)
        self.labels += labels.made
        self.bytes = max(self.bytes, labels.bytes)
        return ending

    def _relax(self, net: Net) -> Priced:
        """The relaxation of the greatest value that was found; bounds and paths on the way are taken note of."""
        best = priced = least_priced(net, self._deadline)
        least, scale, part = priced.prices, net.scale, Fraction(1)
        for _ in range(_STEPS):
            path: Sequence[int] | None = priced.path if net.within(priced.path) else None
            if priced is best:
                self._raise_bound(priced.value, net)
                path = path or Labels(net, priced, 1, None).dive(self._deadline)
            if self._wanted == 1 and path is not None:
                self._keep(net, [path])
            if self.paths and self.bound is not None and self.bound >= self.paths[0][0]:
                break
            aim = self.paths[0][0] * scale if self.paths else best.value + abs(best.value) // 20 + scale
            prices = further(net, priced, int(part * (aim - priced.value)), least)
            if prices is None:
                break
            priced = at_prices(net, prices, self._deadline)
            if priced.value > best.value:
                best = priced
            else:
                part *= Fraction(2, 3)
        self._relaxed = net, best
        return best

    def _labelled(self, net: Net, best: Priced) -> Ending:
        """Sets labels; where paths are to be elementary, again and again until those found are.

        After Righini and Salani's decremental state-space relaxation: labels remember only critical nodes, and a node
        becomes critical when a path that was found meets it twice.
        """
        critical: dict[int, int] = {}
        while True:
            labels = Labels(net, best, self._wanted, self._limit(), critical)
            ending = self._set(labels)
            paths = [label.arcs() for *_, label in labels.found]
            repeated = [_repeated(net, arcs) if self._elementary else set[int]() for arcs in paths]
            self._keep(net, [arcs for arcs, nodes in zip(paths, repeated, strict=True) if not nodes])
            self._raise_bound(labels.least, net)
            if ending is not Ending.PROVED:
                return ending
            if not any(repeated):
                return Ending.PROVED if self.paths else Ending.INFEASIBLE
            for node in sorted(set().union(*repeated)):
                critical[node] = 1 << len(critical)

    def _can_meet(self, net: Net, circle: Sequence[int]) -> Ending:
        """PROVED if a path within the limits meets a circle, INFEASIBLE if none does, else why that is not known.

        Paths go through two copies of the net. What meets the circle changes to the second one, which alone has the
        target.
        """
        on = {net.tails[arc] for arc in circle}
        doubled = replace(
            net,
            n=2 * net.n,
            tails=[*net.tails, *(tail + net.n for tail in net.tails)],
            heads=[*(head + net.n * (head in on) for head in net.heads), *(head + net.n for head in net.heads)],
            cost=[0] * (2 * len(net.tails)),
            use=[*net.use, *net.use],
            ids=[*net.ids, *net.ids],
            source=net.source + net.n * (net.source in on),
            target=net.target + net.n,
        )
        doubled = pruned(doubled, self._deadline)
        if not doubled.tails and doubled.source != doubled.target:
            return Ending.INFEASIBLE
        labels = Labels(doubled, at_prices(doubled, (0,) * len(net.upper), self._deadline), 1, None)
        ending = self._set(labels)
        return Ending.INFEASIBLE if ending is Ending.PROVED and not labels.found else ending


def _with_moves(net: Net) -> Net:
    """With the number of moves as a resource: a path that meets no node twice has n - 1 at most."""
    use = [(*row, 1) for row in net.use]
    return replace(net, use=use, lower=(*net.lower, 0), upper=(*net.upper, net.n - 1))


def _named(net: Net, arcs: Iterable[int]) -> tuple[int, ...]:
    """What the arcs of a path are called outside."""
    return tuple(net.ids[arc] for arc in arcs)


def _repeated(net: Net, arcs: Sequence[int]) -> set[int]:
    """The nodes that a path meets more than once."""
    nodes = [net.source, *(net.heads[arc] for arc in arcs)]
    return {node for node, times in Counter(nodes).items() if times > 1}
