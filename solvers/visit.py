"""The objective "visit" in terms of "stay", which is what backends solve; and their answers in terms of "visit".

A *place* is a node together with what a move may bring there: the node's reward and that of the edge taken. The
compiled problem has a node for each place. From every place of a terminal a free edge leads to a sink, the only
terminal, where staying earns nothing. What leaves a node leaves each of its places; so a path makes as many moves as
before (and one to the sink) and earns in each what it earned before, discounted or not.

Where that makes too many edges, and nothing is discounted, every move becomes two instead: to the place, and free of
charge from there to the node, which earns nothing itself.

What no path to a terminal uses is left out. Edges are numbered in the order of the originals and what is added comes
last, so that ties are broken alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from solvers.answer import with_path, without_path
from solvers.deadline import NEVER, SolveDeadline
from solvers.moves import enough_moves
from solvers.problem import LONGEST_HORIZON, PathProblem
from solvers.reach import distances, leading_nodes
from solvers.solution import PathSolution


class Compiled(NamedTuple):
    """A problem as backends take it.

    Attributes:
        original: The problem as it was posed.
        problem: The same with the objective "stay"; the original itself where that is its objective.
        originals: For each edge of `problem` the original's, but for those that were added, which come last; None
            where nothing was compiled.
    """

    original: PathProblem
    problem: PathProblem
    originals: tuple[int, ...] | None = None

    def edges(self, edges: Iterable[int]) -> tuple[int, ...]:
        """The original's edges of a path."""
        if self.originals is None:
            return tuple(edges)
        return tuple(self.originals[edge] for edge in edges if edge < len(self.originals))

    def answer(self, solution: PathSolution) -> PathSolution:
        """A verified answer to `problem` as one to the original."""
        if self.originals is None:
            return solution
        if solution.has_path:
            stated = with_path(self.original, self.edges(solution.edges), solution.status, solution.bound)
        else:
            stated = without_path(solution.status, solution.bound)
        return replace(
            stated,
            seconds=solution.seconds,
            solver=solution.solver,
            message=solution.message,
            solve_seconds=solution.solve_seconds,
        )


def compiled(problem: PathProblem, deadline: SolveDeadline = NEVER) -> Compiled:
    """The problem as backends take it.

    Raises:
        LateError: If the deadline passes.
        EndlessError: If there is no horizon, and none is enough.
    """
    if problem.objective == "stay":
        return Compiled(problem, problem)
    if problem.horizon is None:
        result = compiled(problem.with_valid(horizon=enough_moves(problem, deadline)), deadline)
        return result._replace(original=problem)
    useful = set(distances(problem, deadline)) & set(leading_nodes(problem, deadline))
    kept = [edge for edge, ends in enumerate(deadline.each(problem.edges)) if useful.issuperset(ends)]
    arrivals = {edge: (problem.edges[edge][1], _brought(problem, edge)) for edge in deadline.each(kept)}
    places = list(dict.fromkeys(deadline.each(arrivals.values())))
    many = Counter(node for node, _ in deadline.each(places))
    copies = sum(many[problem.edges[edge][0]] for edge in deadline.each(kept))
    if problem.discount == 1 and copies > 2 * (len(kept) + len(places)):
        return _in_two_moves(problem, arrivals, places, deadline)
    return _place_by_place(problem, arrivals, places, deadline)


_Place = tuple[int, float]


def _place_by_place(
    problem: PathProblem, arrivals: Mapping[int, _Place], places: Sequence[_Place], deadline: SolveDeadline
) -> Compiled:
    """Node 0 is the start before the first move, the others are the places, the last is the sink."""
    number = {place: 1 + i for i, place in enumerate(deadline.each(places))}
    standing: dict[int, list[int]] = {problem.start: [0]}
    for node, brought in deadline.each(places):
        standing.setdefault(node, []).append(number[node, brought])
    ends = [
        (edge, (place, number[arrival]))
        for edge, arrival in deadline.each(arrivals.items())
        for place in standing.get(problem.edges[edge][0], ())
    ]
    sink = 1 + len(places)
    last = [(place, sink) for terminal in problem.terminals for place in standing.get(terminal, ())]
    rewards = [0.0, *(brought for _, brought in places), 0.0]
    return _posed(problem, _Net(ends, last, rewards, 0, problem.steps + 1), deadline)


def _in_two_moves(
    problem: PathProblem, arrivals: Mapping[int, _Place], places: Sequence[_Place], deadline: SolveDeadline
) -> Compiled:
    """The nodes keep their numbers, then come the places, the last is the sink."""
    n = problem.n_nodes
    number = {place: n + i for i, place in enumerate(deadline.each(places))}
    ends = [(edge, (problem.edges[edge][0], number[arrival])) for edge, arrival in deadline.each(arrivals.items())]
    sink = n + len(places)
    last = [*((number[node, brought], node) for node, brought in places), *((node, sink) for node in problem.terminals)]
    rewards = [*[0.0] * n, *(brought for _, brought in places), 0.0]
    return _posed(problem, _Net(ends, last, rewards, problem.start, 2 * problem.steps + 1), deadline)


class _Net(NamedTuple):
    """The edges, each behind the original's number; the free ones; and the nodes, the last of which is the sink."""

    ends: Sequence[tuple[int, tuple[int, int]]]
    last: Sequence[tuple[int, int]]
    rewards: Sequence[float]
    start: int
    horizon: int


def _posed(problem: PathProblem, net: _Net, deadline: SolveDeadline) -> Compiled:
    """The problem on this net."""
    ends, last, rewards, start, horizon = net
    nothing = (0,) * len(problem.budgets)
    originals = tuple(edge for edge, _ in ends)
    costs = [problem.costs[edge] for edge in deadline.each(originals)]
    spreads = [problem.spreads[edge] for edge in deadline.each(originals)] if problem.spreads else []
    plain = problem.with_valid(
        n_nodes=len(rewards),
        edges=(*(pair for _, pair in deadline.each(ends)), *last),
        rewards=tuple(rewards),
        costs=(*costs, *[nothing] * len(last)),
        spreads=(*spreads, *[nothing] * len(last)) if problem.spreads else (),
        start=start,
        terminals=(len(rewards) - 1,),
        horizon=min(horizon, LONGEST_HORIZON),  # longer than any path that fits into memory
        objective="stay",
        edge_rewards=(),
    )
    return Compiled(problem, plain, originals)


def _brought(problem: PathProblem, edge: int) -> float:
    """What a move along an edge earns: the sum of the decimals as which the two rewards are written."""
    node = problem.rewards[problem.edges[edge][1]]
    if not problem.edge_rewards or problem.edge_rewards[edge] == 0:
        return node
    if node == 0:
        return problem.edge_rewards[edge]
    return float(Fraction(repr(node)) + Fraction(repr(problem.edge_rewards[edge])))
