"""What the two searches share in tests: how to call them, and all that their answers must hold to."""

from __future__ import annotations

from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest

from solvers.compiled import AVAILABLE
from solvers.deadline import NEVER, SolveDeadline
from solvers.found import Ending, Found
from solvers.rcsp import plain, solving
from solvers.rcsp.folded import fold
from solvers.rcsp.problem import RcspProblem
from tests.solvers.rcsp.brute_force import Task, Truth, exact

SEARCHES = [
    pytest.param(plain, id="plain"),
    pytest.param(solving, id="compiled", marks=pytest.mark.skipif(not AVAILABLE, reason="the extension was not built")),
]


def asked(search: ModuleType, task: Task, threads: int = 1, deadline: SolveDeadline = NEVER) -> Found:
    """What a search answers; INFEASIBLE where folding has shown that nothing is to be searched."""
    folded = fold(task.problem)
    if folded.hopeless is not None:
        return Found(Ending.INFEASIBLE, [], None, 0, 0.0)
    if search is plain:
        return plain.search(folded, task.wanted, task.elementary, deadline)
    return solving.search(folded, task.wanted, task.elementary, threads, deadline)


def cost_of(problem: RcspProblem, path: tuple[int, ...]) -> Fraction:
    """What a path costs, in the decimals that the problem's floats are written as; it must be one from the source."""
    node, total = problem.source, exact(problem.node_cost[problem.source].item())
    for edge in path:
        assert problem.tails[edge] == node, "each edge begins where the one before it ends"
        node = int(problem.heads[edge])
        total += exact(problem.cost[edge].item()) + exact(problem.node_cost[node].item())
    return total


def nodes_of(problem: RcspProblem, path: tuple[int, ...]) -> list[int]:
    """The nodes of a path from the source."""
    return [problem.source, *(int(problem.heads[edge]) for edge in path)]


def use_of(problem: RcspProblem, path: tuple[int, ...], k: int) -> Fraction:
    """What a path uses of a resource."""
    edges = sum((exact(problem.use[edge, k].item()) for edge in path), Fraction(0))
    return edges + sum(exact(problem.node_use[node, k].item()) for node in nodes_of(problem, path))


def is_within_the_limits(task: Task, path: tuple[int, ...]) -> None:
    """A path is one from the source to the target, as asked for."""
    problem = task.problem
    nodes = nodes_of(problem, path)
    assert nodes[-1] == problem.target
    if task.elementary:
        assert len(set(nodes)) == len(nodes)
    for k, (low, high) in enumerate(zip(problem.lower, problem.upper, strict=True)):
        used = use_of(problem, path, k)
        assert used >= exact(low)
        assert high is None or used <= exact(high)


def is_endless(task: Task, circle: tuple[int, ...]) -> None:
    """A circle is negative and uses nothing that has an upper limit."""
    problem = task.problem
    assert circle
    ends = [(int(problem.tails[edge]), int(problem.heads[edge])) for edge in circle]
    assert all(head == tail for (_, head), (tail, _) in zip(ends, ends[1:] + ends[:1], strict=True))
    nodes = [head for _, head in ends]
    cost = sum(exact(problem.cost[edge].item()) for edge in circle)
    assert cost + sum(exact(problem.node_cost[node].item()) for node in nodes) < 0
    for k, high in enumerate(problem.upper):
        if high is not None:
            assert not any(problem.use[edge, k] for edge in circle)
            assert not any(problem.node_use[node, k] for node in nodes)


def is_honest(task: Task, result: Found, truth: Truth) -> None:
    """All that is said of the paths found, and of those that were not, is so, however the search ended."""
    costs = [cost_of(task.problem, path) for path in result.paths]
    assert len(set(result.paths)) == len(result.paths) <= task.wanted
    assert costs == sorted(costs)
    for path in result.paths:
        is_within_the_limits(task, path)
    missed = [*truth.costs, *(() if truth.following is None else (truth.following,))]
    for cost in costs:  # the ones found are among the paths there are; if they are among the best, strike them off
        if cost in missed:
            missed.remove(cost)
    if result.bound is not None and missed:
        assert bound_of(task.problem, result) <= missed[0]


def bound_of(problem: RcspProblem, result: Found) -> Fraction:
    """The bound in the problem's own units."""
    assert result.bound is not None
    return Fraction(result.bound) / fold(problem).cost_unit + exact(problem.node_cost[problem.source].item())


def agrees(search: ModuleType, task: Task, truth: Truth, threads: int = 1) -> Found:
    """A search, given all the time it needs, ends as it must, with paths that cost what the best ones cost."""
    result = asked(search, task, threads)
    if fold(task.problem).hopeless is not None:
        assert truth.ending in {Ending.INFEASIBLE, Ending.UNREACHABLE}
        return result
    assert result.ending is truth.ending
    if truth.ending is Ending.UNBOUNDED:
        is_endless(task, result.paths[0])
        return result
    assert tuple(cost_of(task.problem, path) for path in result.paths) == truth.costs
    is_honest(task, result, truth)
    return result


def endless() -> Task:
    """A complete graph in which each move earns: best elementary paths visit as much as the limits allow.

    No search proves an optimum soon.
    """
    rng = np.random.default_rng(0)
    n = 60
    tails, heads = np.nonzero(~np.eye(n, dtype=bool))
    cost, use = rng.integers(-1000, -1, len(tails)), rng.integers(1, 100, (len(tails), 2))
    return Task(RcspProblem(n, tails, heads, cost, use, upper=[1500, 1500]), 1, elementary=True)
