"""Resource-constrained shortest paths by brute force.

Slow, obvious, and without anything that the searches use: no bounds, no prices, and of two beginnings of paths only
those are taken for the same that end at the same node having used the same.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from solvers.found import Ending
from solvers.rcsp.problem import RcspProblem

State = tuple[int, tuple[Fraction, ...]]
"""A node, and what was used up to it; where there is no upper limit, up to the lower one."""

Edges = dict[State, list[tuple[Fraction, State]]]
"""From each state, what an edge costs and the state that it leads to."""

_MOST_STATES = 6000


@dataclass(frozen=True)
class Truth:
    """What the best paths of a problem cost.

    Attributes:
        ending: How a search must end.
        costs: Of the best paths, ascending; all there are if they are fewer than asked for.
        following: What the next best path costs; None if there is none.
    """

    ending: Ending
    costs: tuple[Fraction, ...] = ()
    following: Fraction | None = None


@dataclass(frozen=True)
class Task:
    """A problem, and what to ask of it."""

    problem: RcspProblem
    wanted: int
    elementary: bool


class TooManyError(ValueError):
    """A problem has more states than brute force tries."""


class _Exact:
    """A problem in fractions: the decimals that its floats are written as."""

    def __init__(self, problem: RcspProblem) -> None:
        self.source, self.target = problem.source, problem.target or 0
        self.node_cost = [exact(item) for item in problem.node_cost.tolist()]
        self.node_use = [tuple(map(exact, row)) for row in problem.node_use.tolist()]
        self.lower = [exact(item) for item in problem.lower]
        self.upper = [None if item is None else exact(item) for item in problem.upper]
        self.out: list[list[tuple[int, int, Fraction, tuple[Fraction, ...]]]] = [[] for _ in range(problem.n_nodes)]
        ends = zip(problem.tails.tolist(), problem.heads.tolist(), strict=True)
        for edge, (tail, head) in enumerate(ends):
            cost, use = problem.cost[edge].item(), problem.use[edge].tolist()
            self.out[tail].append((edge, head, exact(cost), tuple(map(exact, use))))

    def start(self) -> State | None:
        """The path without edges; None if that breaks a limit."""
        return self._within(self.source, [Fraction(0)] * len(self.lower))

    def after(self, state: State, head: int, use: tuple[Fraction, ...]) -> State | None:
        """One edge later; None if that breaks a limit."""
        return self._within(head, [a + b for a, b in zip(state[1], use, strict=True)])

    def _within(self, node: int, used: list[Fraction]) -> State | None:
        amounts = []
        for amount, more, low, high in zip(used, self.node_use[node], self.lower, self.upper, strict=True):
            total = amount + more
            if high is not None and total > high:
                return None
            amounts.append(total if high is not None else min(total, max(low, Fraction(0))))
        return node, tuple(amounts)

    def ends(self, state: State) -> bool:
        """Whether a path that got there is a path to the target within the limits."""
        return state[0] == self.target and all(a >= low for a, low in zip(state[1], self.lower, strict=True))


def exact(value: float) -> Fraction:
    """A float as the decimal that it is written as."""
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def brute_force(task: Task) -> Truth:
    """The truth about a task."""
    counted = _Exact(task.problem)
    if counted.target not in reached(counted.source, [[head for _, head, _, _ in row] for row in counted.out]):
        return Truth(Ending.UNREACHABLE)
    wanted = task.wanted
    costs = (
        sorted(cost for cost, _ in simple_paths(counted))[: wanted + 1]
        if task.elementary
        else _costs(counted, wanted + 1)
    )
    if costs is None:
        return Truth(Ending.UNBOUNDED)
    following = costs[wanted] if len(costs) > wanted else None
    return Truth(Ending.PROVED if costs else Ending.INFEASIBLE, tuple(costs[:wanted]), following)


def simple_paths(exact: _Exact) -> Iterator[tuple[Fraction, tuple[int, ...]]]:
    """All paths within the limits that meet no node twice: cost and edges."""
    start = exact.start()
    waiting: list[tuple[State, Fraction, tuple[int, ...], frozenset[int]]] = []
    if start is not None:
        waiting.append((start, exact.node_cost[exact.source], (), frozenset([exact.source])))
    tried = 0
    while waiting:
        state, cost, edges, met = waiting.pop()
        tried += 1
        if tried > 20 * _MOST_STATES:
            raise TooManyError("too many paths")
        if exact.ends(state):
            yield cost, edges
        for edge, head, more, use in exact.out[state[0]]:
            if head not in met and (then := exact.after(state, head, use)):
                waiting.append((then, cost + more + exact.node_cost[head], (*edges, edge), met | {head}))


def _costs(exact: _Exact, wanted: int) -> list[Fraction] | None:
    """Costs of the best paths, node for node and amount for amount; None if there is no best one.

    Use never falls on the way. So states can be computed from the greatest use down, those of one use together: a
    circle of states has the same use throughout, and where paths of more moves than there are nodes still get cheaper
    without using anything, one such circle is negative. Then paths are taken in order of their cost, which with the
    cost from each state to the end is known of every beginning; of each state no more beginnings than paths are wanted.
    """
    start = exact.start()
    if start is None:
        return []
    after = _explored(exact, start)
    rest: dict[State, Fraction] = {state: Fraction(0) for state in after if exact.ends(state)}
    layers: dict[tuple[Fraction, ...], list[State]] = {}
    for state in after:
        layers.setdefault(state[1], []).append(state)
    for used in sorted(layers, key=sum, reverse=True):
        for turn in range(len(layers[used]) + 2):
            changed = False
            for state in layers[used]:
                for cost, then in after[state]:
                    if then in rest and (state not in rest or cost + rest[then] < rest[state]):
                        rest[state] = cost + rest[then]
                        changed = True
            if not changed:
                break
            if turn > len(layers[used]):
                return None
    return _in_order(start, after, rest, exact, wanted)


def _explored(exact: _Exact, start: State) -> Edges:
    """All states that a path gets to, with the costs and ends of the edges that leave them."""
    after: Edges = {start: []}
    waiting = [start]
    while waiting:
        state = waiting.pop()
        for _, head, cost, use in exact.out[state[0]]:
            then = exact.after(state, head, use)
            if then is None:
                continue
            after[state].append((cost + exact.node_cost[head], then))
            if then not in after:
                after[then] = []
                waiting.append(then)
                if len(after) > _MOST_STATES:
                    raise TooManyError("too many states")
    return after


def _in_order(start: State, after: Edges, rest: dict[State, Fraction], exact: _Exact, wanted: int) -> list[Fraction]:
    if start not in rest:
        return []
    costs: list[Fraction] = []
    taken: dict[State | None, int] = {}
    # Cost of the whole path, a number that tells entries apart, cost so far, state; None: the path has ended there.
    begun = exact.node_cost[exact.source]
    heap: list[tuple[Fraction, int, Fraction, State | None]] = [(begun + rest[start], 0, begun, start)]
    made = 0
    while heap and len(costs) < wanted:
        _, _, cost, state = heapq.heappop(heap)
        taken[state] = taken.get(state, 0) + 1
        if state is None:
            costs.append(cost)
        elif taken[state] <= wanted:
            for more, then in after[state]:
                if then in rest:
                    made += 1
                    heapq.heappush(heap, (cost + more + rest[then], made, cost + more, then))
            if exact.ends(state):
                made += 1
                heapq.heappush(heap, (cost, made, cost, None))
    return costs


def reached(source: int, heads: list[list[int]]) -> set[int]:
    """The nodes that any path from a node leads to, itself included."""
    seen, waiting = {source}, [source]
    while waiting:
        for head in heads[waiting.pop()]:
            if head not in seen:
                seen.add(head)
                waiting.append(head)
    return seen
