"""The search for resource-constrained shortest paths without the compiled extension: slower, and as exact.

1. The arcs that no path within the limits takes are dropped, one resource at a time (`plain_bounds.pruned`).
2. Circles of negative cost that use nothing limited: if a path within the limits meets one, there is no best path.
3. Prices on limited resources: at those where no circle is negative, what a path costs at least can be told from each
   node (a Lagrangian relaxation). Paths found on the way bound the cost from above, and drop arcs again.
4. Labels, i.e. beginnings of paths, in order of the least that a path which begins so costs. As many labels as paths
   are wanted must dominate another one before it is dropped.
5. Where it is asked for, ties are broken by the smallest edges (`plain_smallest`).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from solvers.deadline import Deadline
from solvers.errors import LateError
from solvers.found import Ending, Found
from solvers.rcsp.folded import Folded
from solvers.rcsp.plain_bounds import Priced, dive, free_circle, priced, pruned, relaxations
from solvers.rcsp.plain_labels import Labels
from solvers.rcsp.plain_net import Net, distances
from solvers.rcsp.plain_smallest import smallest


def search(folded: Folded, wanted: int, elementary: bool, deadline: Deadline) -> Found:
    """Finds the paths of least cost from the source to the target within the limits.

    The costs and the ending are those of `solvers.compiled.shortest`; among paths of equal cost it may choose
    others.

    Args:
        folded: The problem.
        wanted: How many paths, at least 1.
        elementary: No path meets a node twice.
        deadline: When to come back with what there is.
    """
    return searched(_net(folded, elementary), wanted, deadline, elementary=elementary)


def searched(net: Net, wanted: int, deadline: Deadline, *, elementary: bool = False, ties: bool = False) -> Found:
    """Finds the paths of least cost from the source to the target of a net within its limits.

    Args:
        net: The net.
        wanted: How many paths, at least 1.
        deadline: When to come back with what there is.
        elementary: No path meets a node twice.
        ties: Of all cheapest paths, find that of the smallest edges; for one path, and a net in layers.
    """
    began = time.perf_counter()
    run = _Run(wanted, deadline, ties)
    try:
        run.ending = _searched(run, net, elementary)
    except LateError:
        run.ending = Ending.OUT_OF_TIME
    return Found(
        ending=run.ending,
        paths=[path for _, path in run.paths],
        bound=run.least(),
        ordered=run.ordered,
        labels=run.labels,
        seconds=time.perf_counter() - began,
        bytes=run.bytes,
    )


@dataclass
class _Run:
    """What one search has found so far.

    Attributes:
        wanted: How many paths.
        deadline: When to come back.
        ties: Whether ties are to be broken by the smallest edges.
        paths: Costs and arcs, best first; never more than wanted.
        bound: No path that is not among them is cheaper; None if unknown.
        labels: How many were made.
        bytes: The most memory that they took, about.
        ending: How it ended.
        ordered: Whether ties are broken, if that was asked for.
    """

    wanted: int
    deadline: Deadline
    ties: bool = False
    paths: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    bound: int | None = None
    labels: int = 0
    bytes: float = 0.0
    ending: Ending = Ending.OUT_OF_TIME
    ordered: bool = True

    def raise_bound(self, bound: int) -> None:
        """Takes note that no path is cheaper, but for those handed out."""
        self.bound = bound if self.bound is None else max(self.bound, bound)

    def keep(self, net: Net, paths: Iterable[Sequence[int]]) -> None:
        """Takes note of paths within the limits, given by their arcs in a net."""
        named = [(sum(net.cost[list(arcs)].tolist()), tuple(net.ids[list(arcs)].tolist())) for arcs in paths]
        self.paths = sorted({*self.paths, *named})[: self.wanted]

    def set(self, labels: Labels) -> Ending:
        """Sets labels until the end, or the deadline."""
        ending = labels.run(self.deadline)
        self.labels += len(labels)
        self.bytes = max(self.bytes, labels.bytes)
        return ending

    def limit(self) -> int | None:
        """Paths are of interest only if they are cheaper than this."""
        return self.paths[-1][0] if len(self.paths) == self.wanted else None

    def least(self) -> int | None:
        """The bound to hand out."""
        if self.ending is Ending.PROVED:
            return self.paths[-1][0]
        if self.ending not in {Ending.OUT_OF_TIME, Ending.TOO_LARGE}:
            return None
        known = [one for one in (self.bound, self.limit()) if one is not None]
        return min(known) if self.bound is not None else None


def _net(folded: Folded, elementary: bool) -> Net:
    net = Net(
        folded.n, folded.tails.astype(np.int64), folded.heads.astype(np.int64), folded.cost, folded.use,
        folded.lower, folded.upper, folded.limited, folded.source, folded.target, np.arange(len(folded.tails)),
        np.zeros((folded.n, len(folded.upper)), dtype=np.int64),
    )  # fmt: skip
    if elementary:
        net = net.only((net.heads != net.source) & (net.tails != net.target) & (net.tails != net.heads))
    return net


def _searched(run: _Run, net: Net, elementary: bool) -> Ending:
    """Fills the run, and says how it ended."""
    reached = distances(net, np.zeros(len(net.tails), np.int64), [net.source], run.deadline)
    if not reached.reached[net.target]:
        return Ending.UNREACHABLE
    if (net.limited & (net.upper < np.maximum(net.lower, 0)).astype(np.bool_)).any():
        return Ending.INFEASIBLE
    net = pruned(net, run.deadline)
    while circle := free_circle(net, run.deadline):
        if elementary:
            net = pruned(_with_moves(net), run.deadline)
            break
        ending = _can_meet(run, net, circle)
        if ending is Ending.PROVED:
            run.paths = [(0, tuple(net.ids[list(circle)].tolist()))]
            return Ending.UNBOUNDED
        if ending is not Ending.INFEASIBLE:
            return ending
        met = np.isin(np.arange(net.n), net.tails[list(circle)])
        net = pruned(net.only(~met[net.tails] & ~met[net.heads]), run.deadline)
    if not len(net.tails) and net.source != net.target:
        return Ending.INFEASIBLE
    best = _relaxed(run, net)
    ending = _proved(run, net, best, elementary)
    if run.ties and ending is Ending.PROVED:
        _break_ties(run, net, best)
    return ending


def _proved(run: _Run, net: Net, best: Priced, elementary: bool) -> Ending:
    """Labels on what the paths and the prices that are known leave."""
    if run.wanted == 1 and run.paths:
        net = pruned(net.only(_cheap(run, net, best, 1)), run.deadline)
        if not len(net.tails) and net.source != net.target:
            return Ending.PROVED
        best = _at(net, best.prices, run.deadline)
    return _labelled(run, net, best, elementary)


def _break_ties(run: _Run, net: Net, best: Priced) -> None:
    """Puts the path of the smallest edges in the place of another one that costs as much, if there is time."""
    try:
        [(cost, _)] = run.paths
        net = pruned(net.only(_cheap(run, net, best, 0)), run.deadline)
        arcs = smallest(net, _at(net, best.prices, run.deadline), cost, run.deadline)
        run.paths = [(cost, tuple(net.ids[list(arcs)].tolist()))]
    except LateError:
        run.ordered = False


def _labelled(run: _Run, net: Net, best: Priced, elementary: bool) -> Ending:
    """Sets labels; where paths are to be elementary, again and again until those found are.

    After Righini and Salani's decremental state-space relaxation: labels remember only critical nodes, and a node
    becomes critical when a path that was found meets it twice.
    """
    critical: dict[int, int] = {}
    while True:
        labels = Labels(net, best, run.wanted, run.limit(), critical)
        ending = run.set(labels)
        paths = labels.paths()
        repeated = [_repeated(net, arcs) if elementary else set[int]() for _, arcs in paths]
        run.keep(net, [arcs for (_, arcs), nodes in zip(paths, repeated, strict=True) if not nodes])
        run.raise_bound(-(-labels.least // net.scale))
        if ending is not Ending.PROVED:
            return ending
        if not any(repeated):
            return Ending.PROVED if run.paths else Ending.INFEASIBLE
        for node in sorted(set().union(*repeated)):
            critical[node] = 1 << len(critical)


def _with_moves(net: Net) -> Net:
    """With the number of moves as a resource: a path that meets no node twice has n - 1 at most."""
    return replace(
        net,
        use=np.column_stack([net.use, np.ones(len(net.tails), dtype=np.int64)]),
        lower=np.append(net.lower, 0),
        upper=np.append(net.upper, net.n - 1),
        limited=np.append(net.limited, True),
        behind=np.column_stack([net.behind, np.zeros(net.n, dtype=np.int64)]),
    )


def _can_meet(run: _Run, net: Net, circle: Sequence[int]) -> Ending:
    """PROVED if a path within the limits meets a circle, INFEASIBLE if none does, else why that is not known.

    Paths go through two copies of the net. What meets the circle changes to the second one, which alone has the target.
    """
    on = np.isin(np.arange(net.n), net.tails[list(circle)])
    doubled = Net(
        n=2 * net.n,
        tails=np.concatenate([net.tails, net.tails + net.n]),
        heads=np.concatenate([net.heads + net.n * on[net.heads], net.heads + net.n]),
        cost=np.zeros(2 * len(net.tails), dtype=np.int64),
        use=np.concatenate([net.use, net.use]),
        lower=net.lower,
        upper=net.upper,
        limited=net.limited,
        source=net.source + net.n * int(on[net.source]),
        target=net.target + net.n,
        ids=np.concatenate([net.ids, net.ids]),
        behind=np.concatenate([net.behind, net.behind]),
    )
    doubled = pruned(doubled, run.deadline)
    if not len(doubled.tails) and doubled.source != doubled.target:
        return Ending.INFEASIBLE
    labels = Labels(doubled, _at(doubled, (0,) * len(net.upper), run.deadline), 1, None, {})
    ending = run.set(labels)
    return Ending.INFEASIBLE if ending is Ending.PROVED and not labels.found else ending


def _at(net: Net, prices: Sequence[int], deadline: Deadline) -> Priced:
    """The relaxation at prices at which no circle is negative."""
    found = priced(net, prices, deadline)
    assert isinstance(found, Priced), "a circle is negative"
    return found


def _relaxed(run: _Run, net: Net) -> Priced:
    """The relaxation of the greatest value that was found; the run takes note of bounds and of paths on the way."""
    best: Priced | None = None
    for one in relaxations(net, run.deadline):
        path: Sequence[int] | None = one.path if net.within(one.path) else None
        if best is None or one.value > best.value:
            best = one
            run.raise_bound(-(-one.value // net.scale))
            path = path or dive(net, one, run.deadline)
        if run.wanted == 1 and path is not None:
            run.keep(net, [path])
        if run.paths and run.bound is not None and run.bound >= run.paths[0][0]:
            break
    assert best is not None
    return best


def _cheap(run: _Run, net: Net, best: Priced, less: int) -> npt.NDArray[np.bool_]:
    """(m,) The arcs on paths that may be at least so much cheaper than the best one known."""
    ahead = distances(net, best.weights, [net.source], run.deadline).least
    rebate = int(best.behind.least[net.source]) - best.value
    least = ahead[net.tails] + best.weights + best.behind.least[net.heads]
    return np.asarray(least <= net.scale * (run.paths[0][0] - less) + rebate, dtype=np.bool_)


def _repeated(net: Net, arcs: Sequence[int]) -> set[int]:
    """The nodes that a path meets more than once."""
    nodes = [net.source, *net.heads[list(arcs)].tolist()]
    return {node for node, times in Counter(nodes).items() if times > 1}
