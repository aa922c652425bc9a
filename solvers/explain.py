"""`explain`: why no walk is feasible, and the least change of each limit that would make one feasible.

Everything rests on two facts. A walk that keeps some limits keeps larger ones, so what is feasible is monotone in the
horizon and in each budget, and a bisection whose every answer the solver proves finds the least value exactly. And a
walk without its cycles goes to the same terminal, with fewer moves and no more of any resource (nor of variance), so
that no horizon beyond n - 1 needs looking at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from solvers.api import checked_time_limit
from solvers.base import Solver
from solvers.deadline import Deadline
from solvers.errors import LateError
from solvers.explanation import Cause, Explanation, Joint, Need
from solvers.feasibility import Feasibility, bisect, least
from solvers.problem import PathProblem
from solvers.reach import barred_edges, distances, leading_nodes, least_uses
from solvers.solution import PathSolution, Status


def explain(
    problem: PathProblem,
    time_limit: float | None = None,
    solver: str | Solver = "labelling",
    *,
    enough: bool = False,
) -> Explanation:
    """Why no walk is feasible, and what would have to change, as data; `str()` puts it into sentences.

    Told are, as far as they apply: that no terminal is declared, or none can be reached; the moves of the shortest walk
    to a terminal, if the horizon is shorter; for the horizon and for each budget, the least value that would do with
    everything else unchanged; and one way to relax all the budgets together. Each comes with a walk that `check`
    accepts under the changed limits, and that one less would not do is proven: by the solver, or by a pass that
    finds the least any walk needs of that one limit. The rewards play no part,
    nor which of the two objectives they are for.

    Takes at most about log2 of its range in feasibility problems for each limit; each is solved with all rewards zero.

    Args:
        problem: The problem; its risk, if it has one, is kept in every part.
        time_limit: Positive seconds of wall time for all of it, or None for no limit. What it cuts short is marked as
            not proven.
        solver: As for `solve`; it must handle the problem's risk.
        enough: The horizon is from `enough_moves`, so that nothing is to be said about it. Nor is it where there is
            none.

    Raises:
        ProblemError: If the time limit is not a positive number.
        BackendError: If a walk of the solver does not survive its check with the true rewards.
        UnknownSolverError, SolverUnavailableError, RiskUnsupportedError: As `solve` does.
    """
    deadline = Deadline(checked_time_limit(time_limit))
    if problem.horizon is None:  # a walk without circles has no more moves than this
        problem, enough = problem.with_valid(horizon=max(1, problem.n_nodes - 1)), True
    if not problem.terminals:
        return Explanation(problem, Status.INFEASIBLE, (Cause.NO_TERMINAL,))
    try:
        return _explained(problem, solver, deadline, enough=enough)
    except LateError:
        return Explanation(problem, Status.TIMEOUT)


def _explained(problem: PathProblem, solver: str | Solver, deadline: Deadline, *, enough: bool) -> Explanation:
    moves = distances(problem, deadline)
    reached = tuple(sorted(moves))
    leading = leading_nodes(problem, deadline)
    nearest = min((moves[v] for v in problem.terminals if v in moves), default=None)
    if nearest is None:
        return Explanation(problem, Status.INFEASIBLE, (Cause.UNREACHABLE,), reached=reached, leading=leading)
    search = Feasibility(problem, solver, deadline)
    barred = barred_edges(problem, deadline)
    found = Explanation(problem, Status.INFEASIBLE, reached=reached, leading=leading, nearest=nearest, barred=barred)
    if nearest <= problem.steps:
        first = search.ask(_useful(problem, problem.steps), problem.budgets)
        if first.has_walk:
            walk = search.witness(problem.steps, problem.budgets, first.edges)
            return replace(found, status=Status.FEASIBLE, walk=walk)
        if first.status is not Status.INFEASIBLE:
            return replace(found, status=first.status, faults=tuple(search.faults))
    return _what_would_do(found, nearest, search, enough=enough)


def _what_would_do(found: Explanation, nearest: int, search: Feasibility, *, enough: bool) -> Explanation:
    """The explanation of a problem proven infeasible, although a terminal can be reached in `nearest` moves."""
    problem = found.problem
    budgets = tuple(
        Need(name, budget, None, budget + 1, None, True) if found.too_short else _budget(problem, k, search)
        for k, (name, budget) in enumerate(zip(problem.resources, problem.budgets, strict=True))
    )
    horizon = None if enough else _horizon(problem, nearest, search)
    longer_does = horizon is not None and horizon.least is not None
    causes = [Cause.HORIZON] if found.too_short or longer_does else []
    if not found.too_short or (horizon is not None and horizon.least is None and horizon.proven):
        causes.append(Cause.BUDGET)
    found = replace(found, causes=tuple(causes), horizon=horizon, budgets=budgets)
    joint = _joint(problem, max(nearest, problem.steps), search) if found.joint_applies else None
    return replace(found, joint=joint, faults=tuple(search.faults))


def _budget(problem: PathProblem, k: int, search: Feasibility) -> Need:
    """What resource k alone would have to be."""
    steps = _useful(problem, problem.steps)
    low = max(problem.budgets[k] + 1, _floor(problem, k, steps, search))

    def probe(budget: int) -> PathSolution:
        return search.ask(steps, [*problem.budgets[:k], budget, *problem.budgets[k + 1 :]])

    end = least(low, max(low, search.ample(k, steps)), probe, lambda edges: search.needs(edges)[k])
    walk = None
    if end.value is not None:
        relaxed = [*problem.budgets[:k], end.value, *problem.budgets[k + 1 :]]
        walk = search.witness(problem.steps, relaxed, end.edges)
    return Need(problem.resources[k], problem.budgets[k], end.value, end.at_least, walk, end.proven)


def _floor(problem: PathProblem, k: int, steps: int, search: Feasibility) -> int:
    """What every walk uses of resource k; 0, which is true as well, where the time is up before more is known."""
    try:
        return least_uses(problem, k, steps, search.deadline)
    except LateError:
        return 0


def _useful(problem: PathProblem, horizon: int) -> int:
    """The part of a horizon that matters for feasibility: a walk without cycles has at most n - 1 moves."""
    return min(horizon, max(1, problem.n_nodes - 1))


def _horizon(problem: PathProblem, nearest: int, search: Feasibility) -> Need:
    """What the horizon alone would have to be."""
    low, longest = max(problem.steps + 1, nearest), problem.n_nodes - 1
    if low > longest:
        return Need("horizon", problem.steps, None, low, None, True)
    end = least(low, longest, lambda steps: search.ask(steps, problem.budgets), len)
    walk = None if end.value is None else search.witness(end.value, problem.budgets, end.edges)
    return Need("horizon", problem.steps, end.value, end.at_least, walk, end.proven)


def _joint(problem: PathProblem, horizon: int, search: Feasibility) -> Joint | None:
    """All budgets raised by the least common percentage, and each then lowered as far as the others let it."""
    steps, given = _useful(problem, horizon), problem.budgets
    floors = [_floor(problem, k, steps, search) for k in range(len(given))]
    bases = [budget if budget > 0 else max(1, floor) for budget, floor in zip(given, floors, strict=True)]

    def percent(wanted: Sequence[int]) -> int:
        """The least percentage that raises every budget to at least what is wanted."""
        return max(-(-100 * max(0, w - b) // base) for w, b, base in zip(wanted, given, bases, strict=True))

    def probe(value: int) -> PathSolution:
        return search.ask(steps, [b + value * base // 100 for b, base in zip(given, bases, strict=True)])

    high = percent([search.ample(k, steps) for k in range(len(given))])
    even = least(max(1, percent(floors)), high, probe, lambda edges: percent(search.needs(edges)))
    if even.value is None:
        return None
    edges, proven = even.edges, True
    budgets = [max(b, need) for b, need in zip(given, search.needs(edges), strict=True)]
    for k, budget in enumerate(given):
        # In one pass: what a budget cannot do without now, it cannot do without once the later ones are lower.
        def lowered(value: int, k: int = k) -> PathSolution:
            return search.ask(steps, [*budgets[:k], value, *budgets[k + 1 :]])

        def needed(walk: tuple[int, ...], k: int = k) -> int:
            return search.needs(walk)[k]

        low = max(budget, floors[k])
        budgets[k], settled, edges = bisect(low, budgets[k], edges, lowered, needed)
        proven = proven and budgets[k] == settled
    walk = search.witness(horizon, budgets, edges)
    return Joint(horizon, tuple(budgets), walk, even.value if even.proven else None, proven)
