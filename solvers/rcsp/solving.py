"""One problem solved by one search, and every path counted again before it is returned."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from solvers import compiled
from solvers.deadline import SolveDeadline
from solvers.errors import EndlessError
from solvers.found import Ending, Found
from solvers.rcsp.folded import Folded, exact, fold
from solvers.rcsp.graphs import NamedProblem
from solvers.rcsp.verified import Counted, counted, is_endless
from solvers.solution import Status


class Question(NamedTuple):
    """What is asked; the time limit is in seconds."""

    asked: NamedProblem
    elementary: bool
    threads: int
    time_limit: float | None


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
