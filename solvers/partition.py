"""The paths of a problem, best first, with any solver: Lawler's partition.

Once the best path of a set is known, the rest of the set is split by where a path first departs from it: at some
position it takes another edge, or stops, or goes on where the best path stopped (Lawler 1972, "A procedure for
computing the k best solutions to discrete optimization problems"; Murty 1968). Each part is a `PathProblem` again, so
that its best path is found by the same solver; the best of all parts comes next.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from solvers.answer import without_path
from solvers.api import solve
from solvers.base import Solver
from solvers.check import objective_of, path_nodes
from solvers.criteria import exact_objective
from solvers.deadline import SolveDeadline
from solvers.errors import BackendError, LateError
from solvers.problem import PathProblem
from solvers.solution import PathSolution, Status


@dataclass(frozen=True)
class PathSet:
    """The paths that begin with `prefix` and then do nothing of what is excluded.

    Attributes:
        prefix: Edge indices of the problem.
        excluded: Edges that do not come next.
        may_stop: Whether the path may end after the prefix.
    """

    prefix: tuple[int, ...] = ()
    excluded: frozenset[int] = frozenset()
    may_stop: bool = True

    def without(self, edges: tuple[int, ...]) -> Iterator[PathSet]:
        """Parts that are disjoint and have all the paths of this one but `edges`."""
        for position in range(len(self.prefix), len(edges) + 1):
            here = replace(self, prefix=edges[:position]) if position == len(self.prefix) else PathSet(edges[:position])
            if position < len(edges):
                yield replace(here, excluded=here.excluded | {edges[position]})
            else:
                yield replace(here, may_stop=False)


@dataclass(frozen=True)
class Ranked:
    """The next path.

    Attributes:
        edges: Its edges.
        proved: Whether it is the best but for those before it.
        bound: No path but those before it has a greater objective; infinite where no bound is known.
    """

    edges: tuple[int, ...]
    proved: bool
    bound: float


@dataclass(order=True)
class _Candidate:
    """The best path that is known of a part; the first in order is the best of all."""

    loss: Fraction
    moves: int
    edges: tuple[int, ...]
    part: PathSet = field(compare=False)


class Partition:
    """Hands out the paths of a problem, best first, and says what is left when it ends.

    Args:
        problem: The problem.
        backend: What solves the parts.
        deadline: Parts that are not solved by then stay closed; paths that are known already are still handed out.
        skip: Says of some first edges that no path is wanted that begins with them.
    """

    def __init__(
        self,
        problem: PathProblem,
        backend: Solver,
        deadline: SolveDeadline,
        skip: Callable[[tuple[int, ...]], bool] = lambda _: False,
    ) -> None:
        self._skip = skip
        self._problem = problem
        self._backend = backend
        self._deadline = deadline
        self._objective = exact_objective(problem)
        self._candidates: list[_Candidate] = []
        self._bounds_of_unproved: dict[tuple[int, ...], float] = {}
        self._out: dict[int, list[int]] = {}
        for edge, (tail, _) in enumerate(problem.edges):
            self._out.setdefault(tail, []).append(edge)
        self.lost = -math.inf
        """No path is better that is in a part of which no path is known; minus infinity if all paths are known of."""

    def __iter__(self) -> Iterator[Ranked]:
        """The paths, as they are found.

        Raises:
            BackendError: If the solver fails on a part.
        """
        self._explore(PathSet(), math.inf)
        while self._candidates:
            best = heapq.heappop(self._candidates)
            objective = objective_of(self._problem, best.edges)
            proved = best.edges not in self._bounds_of_unproved
            own = self._bounds_of_unproved.pop(best.edges, objective)
            others = max(self.lost, *self._bounds_of_unproved.values(), -math.inf)
            if not self._skip(best.edges):
                yield Ranked(best.edges, proved and others < objective, max(own, others))
            for part in best.part.without(best.edges):
                if self._skip(part.prefix):
                    break  # so do all the parts that follow
                self._explore(part, own)

    def _explore(self, part: PathSet, bound: float) -> None:
        """Adds the part's best path to the candidates; none of its paths is better than `bound`."""
        try:
            self._deadline.check()
            restricted = self._restricted(part)
        except LateError:
            self.lost = max(self.lost, bound)
            return
        if restricted is None:
            return
        answer = self._solved(restricted)
        if answer.status is Status.ERROR:
            raise BackendError(answer.message)
        if answer.status is Status.INFEASIBLE:
            return
        if answer.bound is not None:
            bound = min(bound, answer.bound)
        if not answer.has_path:
            self.lost = max(self.lost, bound)
            return
        edges = restricted.original(answer.edges)
        if answer.status is not Status.OPTIMAL:
            self._bounds_of_unproved[edges] = bound
        heapq.heappush(self._candidates, _Candidate(-self._objective(edges), len(edges), edges, part))

    def _solved(self, restricted: _Restricted) -> PathSolution:
        left = self._deadline.left()
        return without_path(Status.TIMEOUT) if left == 0 else solve(restricted.problem, self._backend, left)

    def _restricted(self, part: PathSet) -> _Restricted | None:
        """The part as a problem; None if it has no path for want of an edge.

        The prefix is a chain of copied nodes, each with the one edge that comes next, so that all that is spent, risked
        and earned on the way is counted as ever. At its end is a copy that has the edges that are not excluded. Copies
        of edges are in the order of the originals, so that ties are broken alike.
        """
        problem, n = self._problem, self._problem.n_nodes
        nodes = path_nodes(problem, part.prefix)
        stops = part.may_stop and nodes[-1] in problem.terminals
        onwards = [edge for edge in self._out.get(nodes[-1], ()) if edge not in part.excluded]
        if len(part.prefix) == problem.steps:
            onwards = []
        if not stops and not onwards:
            return None
        last = n + len(part.prefix)
        chain = [(n + move, n + move + 1) for move in range(len(part.prefix))]
        copied = [*range(len(problem.edges)), *part.prefix, *onwards]
        return _Restricted(
            problem.with_valid(
                n_nodes=last + 1,
                edges=(*problem.edges, *chain, *((last, problem.edges[edge][1]) for edge in onwards)),
                rewards=(*problem.rewards, *(problem.rewards[node] for node in nodes)),
                costs=tuple(problem.costs[edge] for edge in self._deadline.each(copied)),
                spreads=tuple(problem.spreads[edge] for edge in self._deadline.each(copied)) if problem.spreads else (),
                start=n,
                terminals=(*problem.terminals, *([last] if stops else [])),
            ),
            copied,
        )


@dataclass(frozen=True)
class _Restricted:
    """A part as a problem, and which of the original edges each of its edges is."""

    problem: PathProblem
    originals: Sequence[int]

    def original(self, edges: Sequence[int]) -> tuple[int, ...]:
        return tuple(self.originals[edge] for edge in edges)
