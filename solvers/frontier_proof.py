"""Proofs that no path is missing in a frontier: what `solvers.check_proof` checks of a claim "frontier"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from solvers.check_proof import SCHEMA, WORK, ProofError, WorkLeft, corners, problem_in, valued, walked, within
from solvers.deadline import NEVER, SolveDeadline
from solvers.frontier import OBJECTIVE, Frontier
from solvers.problem import PathProblem
from solvers.proof import SIZE, NoProofError, bounded
from solvers.proof_file import Proof
from solvers.solution import Status


def prove_frontier(problem: PathProblem, frontier: Frontier, deadline: SolveDeadline = NEVER) -> Proof:
    """Proves that of each path that keeps the budgets a path of the frontier is at least as good in all criteria.

    Whatever the amounts of a path are, they lie in one of the cells into which the amounts of the frontier's paths
    divide what may be used. For each cell that no larger one answers for, the proof has a box: nothing that fits its
    largest amounts is worth more than a path of the frontier that fits its smallest, or nothing fits.

    Args:
        problem: The problem that `frontier` was of.
        frontier: All of it, with an epsilon of 0.
        deadline: When it is too late.

    Raises:
        NoProofError: It was cut short, or a proof would be longer than ten times the problem for each path, or the
            time was up.

    Examples:
        >>> from solvers import PathProblem, frontier
        >>> from solvers.frontier_proof import prove_frontier
        >>> problem = PathProblem(
        ...     3, [(0, 1), (1, 2), (0, 2)], rewards=[0, 2, 1], costs=[[4], [2], [1]], budgets=[9], start=0,
        ...     terminals=[2], objective="visit",
        ... )
        >>> prove_frontier(problem, frontier(problem, ("r0", "objective"))).check()
        'proven: a frontier of 2 paths in r0 and objective (budgets: as in the file)'
    """
    if frontier.status not in (Status.OPTIMAL, Status.INFEASIBLE):
        raise NoProofError("the frontier was cut short")
    text, criteria = problem.to_json(), frontier.criteria
    asked: dict[str, Any] = {"budgets": {}}
    if problem.discount != 1 or problem.objective == "stay":
        asked["layers"] = True
    size = SIZE * len(text)
    try:
        meter = WorkLeft(WORK * size)
        graph = valued(problem_in(text, asked, meter), criteria)
        points = [walked(graph, solution.edges, meter) for solution in frontier]
    except ProofError as error:
        raise NoProofError(str(error)) from None
    axes = [problem.resources.index(name) for name in criteria if name != OBJECTIVE]
    boxes: list[dict[str, Any]] = []
    known: list[tuple[Sequence[int], int | None]] = []
    for corner in corners(points, axes, graph.upper):
        inside = [n for n, point in enumerate(points) if within([point.use[axis] for axis in axes], corner)]
        best = max(inside, key=lambda n: points[n].value, default=None)
        worth = None if best is None else points[best].value
        if min(corner) < 0 or any(within(corner, caps) and _at_most(value, worth) for caps, value in known):
            continue
        upper = list(graph.upper)
        for axis, cap in zip(axes, corner, strict=True):
            upper[axis] = cap
        rows, tree = bounded(graph._replace(upper=upper), worth, size, deadline)
        boxes.append({"caps": corner, "best": best, "rows": rows, "tree": tree})
        known.append((corner, worth))
    paths = [list(solution.edges) for solution in frontier]
    claim = {"claim": "frontier", "asked": asked, "criteria": list(criteria), "points": paths, "boxes": boxes}
    return Proof(text, {"schema": SCHEMA, **claim})


def _at_most(value: int | None, worth: int | None) -> bool:
    return value is None or (worth is not None and value <= worth)
