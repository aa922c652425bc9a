"""One problem solved by one search, and every path counted again before it is returned."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from solvers import compiled
from solvers.deadline import SolveDeadline
from solvers.errors import EndlessError
from solvers.found import Ending, Found
from solvers.rcsp.folded import Folded, as_written, exact, fold
from solvers.rcsp.graphs import NamedProblem
from solvers.rcsp.problem import Amount, Numbers, RcspProblem, is_nothing
from solvers.solution import Status


class Question(NamedTuple):
    """What is asked; the time limit is in seconds."""

    asked: NamedProblem
    elementary: bool
    threads: int
    time_limit: float | None


class Counted(NamedTuple):
    """A path with what it costs and uses, exactly.

    Attributes:
        edges: Its edges.
        nodes: Its nodes, one more.
        cost: What it costs.
        use: What it uses of each resource.
        faults: One sentence for each rule that it breaks.
    """

    edges: tuple[int, ...]
    nodes: tuple[int, ...]
    cost: int | Fraction
    use: tuple[int | Fraction, ...]
    faults: tuple[str, ...]


class Solved(NamedTuple):
    """What came out.

    Attributes:
        status: How it ended, for all paths together.
        paths: The paths, best first.
        bound: No path but these is better than this; None if that is not known.
        seconds: Of the search.
        message: Details.
        unreachable: No edges lead from the source to the target.
        places: By how many decimal places costs are counted, and each resource: None for other floats.
    """

    status: Status
    paths: tuple[Counted, ...] = ()
    bound: int | Fraction | None = None
    seconds: float = 0.0
    message: str = ""
    unreachable: bool = False
    places: tuple[int | None, tuple[int | None, ...]] = (None, ())


def search(folded: Folded, wanted: int, elementary: bool, threads: int, deadline: SolveDeadline) -> Found:
    """What the compiled search finds, or, where there is none or its integers are too narrow, that in Python."""
    shortest = compiled.shortest(folded, wanted, elementary, threads, deadline)
    if shortest is not None:
        return shortest
    from solvers.rcsp import plain

    return plain.search(folded, wanted, elementary, deadline)


def solved(question: Question, wanted: int, deadline: SolveDeadline, *, maximise: bool = False) -> Solved:
    """The best paths of a problem; raises EndlessError if a circle gains for ever."""
    problem = question.asked.problem
    folded = fold(problem, maximise=maximise)
    if folded.hopeless is not None:
        k = folded.hopeless
        name, lower, upper = problem.resources[k], problem.lower[k], problem.upper[k]
        return Solved(Status.INFEASIBLE, message=f"nothing keeps the limits {lower} to {upper} of {name}")
    result = search(folded, wanted, question.elementary, question.threads, deadline)
    sign = -1 if maximise else 1
    if result.ending is Ending.UNBOUNDED:
        return _endless(question.asked, folded, result, sign)
    paths = tuple(counted(problem, folded, edges, elementary=question.elementary) for edges in result.paths)
    costs = [sign * path.cost for path in paths]
    faults = [f"path {rank}: {fault}" for rank, path in enumerate(paths) for fault in path.faults]
    if folded.cost_places is not None and costs != sorted(costs):
        faults.append("the paths are not in order of their costs")
    if len({path.edges for path in paths}) < len(paths) or len(paths) > wanted:
        faults.append("a path came twice, or there are more than were asked for")
    if faults:
        return Solved(Status.ERROR, message="the answer failed its check: " + "; ".join(faults))
    bound: int | Fraction | None = None
    if result.bound is not None:  # on folded costs, of which the source's own are no part
        at_source = problem.node_cost[problem.source].item()
        if folded.cost_places == 0 and type(result.bound) is type(at_source) is int:  # most often, and much faster
            bound = sign * result.bound + at_source
        else:
            bound = sign * (Fraction(result.bound) / folded.cost_unit) + exact(at_source, folded.cost_places)
    status, message = _status(result, wanted)
    places = (folded.cost_places, folded.use_places)
    return Solved(status, paths, bound, result.seconds, message, result.ending is Ending.UNREACHABLE, places)


def _endless(asked: NamedProblem, folded: Folded, result: Found, sign: int) -> Solved:
    circle = result.paths[0]
    if not is_endless(asked.problem, folded, circle, sign):
        return Solved(Status.ERROR, message=f"the search named {circle} a circle that gains, and it is not")
    raise EndlessError(
        [asked.edge(edge) for edge in circle],
        ("it costs less than nothing" if sign > 0 else "it gains") + ", and nothing that it uses has an upper limit",
        "give one of its resources an upper limit, or ask for elementary=True",
    )


def _status(result: Found, wanted: int) -> tuple[Status, str]:
    if result.ending is Ending.UNREACHABLE:
        return Status.INFEASIBLE, "no edges lead from the source to the target"
    if result.ending is Ending.INFEASIBLE or (result.ending is Ending.PROVED and not result.paths):
        return Status.INFEASIBLE, "paths lead to the target, and none keeps all limits"
    if result.ending is Ending.PROVED:
        return Status.OPTIMAL, "" if len(result.paths) == wanted else "there are no more"
    if result.ending is Ending.TOO_LARGE:
        text = "the search would take more memory than it may (solvers.memory.MEMORY_CAP); tighter limits would help"
        return (Status.FEASIBLE if result.paths else Status.ERROR), text
    return (Status.FEASIBLE, "the time was up") if result.paths else (Status.TIMEOUT, "the time was up")


def counted(problem: RcspProblem, folded: Folded, edges: Sequence[int], *, elementary: bool) -> Counted:
    """Counts a path again; `folded` says as which decimals numbers are meant, and nothing else of it is used."""
    m = problem.n_edges
    known = np.array([edge for edge in edges if 0 <= edge < m], dtype=np.intp)
    faults = [] if len(known) == len(edges) else ["an edge does not exist"]
    tails, heads = problem.tails[known].tolist(), problem.heads[known].tolist()
    nodes = [problem.source, *heads]
    if tails != nodes[:-1]:
        faults.append("the edges do not follow upon each other from the source")
    if nodes[-1] != problem.target:
        faults.append(f"the path ends at node {nodes[-1]}, not at the target {problem.target}")
    if elementary and len(set(nodes)) < len(nodes):
        faults.append("the path meets a node twice")
    cost = _total(problem.cost[known], folded.cost_places)
    if not is_nothing(problem.node_cost):
        cost += _total(problem.node_cost[nodes], folded.cost_places)
    use = _totals(problem.use[known], folded.use_places)
    if not is_nothing(problem.node_use):
        use = [a + b for a, b in zip(use, _totals(problem.node_use[nodes], folded.use_places), strict=True)]
    for k, (amount, lower, upper) in enumerate(zip(use, problem.lower, problem.upper, strict=True)):
        if upper is not None and amount > as_written(upper):
            faults.append(f"the path uses {float(amount):.12g} of {problem.resources[k]}, and may use {upper}")
        if amount < as_written(lower):
            faults.append(f"the path uses {float(amount):.12g} of {problem.resources[k]}, and must use {lower}")
    return Counted(tuple(edges), tuple(nodes), cost, tuple(use), tuple(faults))


def is_endless(problem: RcspProblem, folded: Folded, edges: Sequence[int], sign: int) -> bool:
    """Whether edges are a circle that costs less than nothing and uses nothing that has an upper limit."""
    tails, heads = problem.tails[list(edges)].tolist(), problem.heads[list(edges)].tolist()
    limited = [k for k, upper in enumerate(problem.upper) if upper is not None]
    cost = _total(problem.cost[list(edges)], folded.cost_places) + _total(problem.node_cost[heads], folded.cost_places)
    used = problem.use[list(edges)][:, limited].any() or problem.node_use[heads][:, limited].any()
    return bool(edges) and tails == [heads[-1], *heads[:-1]] and sign * cost < 0 and not used


def stated(number: int | Fraction, places: int | None) -> Amount:
    """A count as whoever asked has numbers: an integer where all those that it is a sum of are whole, else a float."""
    return int(number) if places == 0 else float(number)


def _totals(rows: Numbers, places: Sequence[int | None]) -> list[int | Fraction]:
    """The sum of each column."""
    if rows.dtype.kind == "i":
        return list(map(sum, zip(*rows.tolist(), strict=True))) if len(rows) else [0] * rows.shape[1]
    return [_total(rows[:, k], place) for k, place in enumerate(places)]


def _total(values: Numbers, places: int | None) -> int | Fraction:
    if values.dtype.kind == "i":
        return int(sum(values.tolist()))  # in Python, where nothing overflows
    return sum((exact(value, places) for value in values.tolist()), Fraction(0))
