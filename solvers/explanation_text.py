"""Findings in words: short sentences with names and amounts, nothing that is not proven told as a fact."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from solvers.check import variance_of
from solvers.findings import Cause, Findings
from solvers.problem import PathProblem
from solvers.solution import PathSolution, Status

_LISTED = 5

_Amount = Callable[[str, float], str]
_Node = Callable[[int], str]


def sentences(found: Findings, amount: _Amount, node: _Node, edge: _Node) -> Iterator[str]:
    """The sentences, the cause first, then what would do.

    Args:
        found: What to put into words.
        amount: Writes an amount, given the resource's name and the count (a float for a standard deviation).
        node: Writes a node.
        edge: Writes an edge.
    """
    start, steps = node(found.problem.start), found.problem.steps
    if found.status is Status.FEASIBLE and found.walk is not None:
        moves = _moves(len(found.walk.edges))
        yield f"The problem is feasible: a path of {moves} from {start} to {node(found.walk.nodes[-1])} does."
    elif found.status is not Status.INFEASIBLE:
        yield "Whether there is a path was not settled."
    elif Cause.NO_TERMINAL in found.causes:
        yield "No goal is declared, so no path can end anywhere."
    elif Cause.UNREACHABLE in found.causes:
        yield from _unreachable(found, node)
    else:
        if found.nearest is not None and found.too_short:
            yield (
                f"No path from {start} reaches a goal within {_moves(steps)}: the nearest takes {found.nearest} "
                f"({found.nearest - steps} more)."
            )
        yield from _barred(found, amount, edge)
        yield from _budgets(found, amount)
        yield from _horizon(found)
        yield from _joint(found, amount)
    for fault in found.faults:
        yield f"A part of this could not be settled: {fault}."


def _unreachable(found: Findings, node: _Node) -> Iterator[str]:
    problem = found.problem
    yield (
        f"No goal can be reached from {node(problem.start)}, whatever the horizon and the budgets: it leads to "
        f"{len(found.reached)} of the {problem.n_nodes} nodes, {_some(found.reached, node)}, no goal among them."
    )
    yield f"What is missing is an edge from one of those to one of {_some(found.leading, node)}."


def _barred(found: Findings, amount: _Amount, edge: _Node) -> Iterator[str]:
    problem = found.problem
    if not found.barred:
        return
    many = len(found.barred) > 1
    yield "Every path must take " + (
        "one of these steps, each of which alone exceeds a budget:" if many else "a step that alone exceeds a budget:"
    )
    lines = dict.fromkeys(f"  {edge(number)} takes {_excess(problem, number, amount)}" for number in found.barred)
    yield from list(lines)[:_LISTED]
    if len(lines) > _LISTED:
        yield f"  and {len(lines) - _LISTED} more"


def _excess(problem: PathProblem, edge: int, amount: _Amount) -> str:
    """What an edge takes of the budgets that it exceeds; of all where only the risk makes it too much."""
    rows = list(enumerate(zip(problem.resources, problem.costs[edge], problem.budgets, strict=True)))
    above = [row for row in rows if row[1][1] > row[1][2]]
    return ", ".join(
        f"{name}: {amount(name, cost)}{_deviation(problem, (edge,), k, amount)} ({amount(name, budget)} given)"
        for k, (name, cost, budget) in above or rows
    )


def _budgets(found: Findings, amount: _Amount) -> Iterator[str]:
    if found.too_short:
        return  # no budget alone would do, which the sentence about the horizon has told
    for k, need in enumerate(found.budgets):
        name, there = need.limit, f"{amount(need.limit, need.given)} given"
        if need.least is not None and need.walk is not None:
            more = f"{amount(name, need.least - need.given)} more{_detail(found.problem, need.walk, k, amount)}"
            yield f"{name} is short: {there}, {amount(name, need.least)} would do ({more}), everything else unchanged."
            if not need.proven:
                yield f"Whether less {name} would do is open; less than {amount(name, need.at_least)} would not."
        elif need.proven:
            yield f"No amount of {name} alone would do."
        else:
            yield f"Whether more {name} alone would do is open."


def _horizon(found: Findings) -> Iterator[str]:
    need, steps = found.horizon, found.problem.steps
    if need is None or not found.budgets:
        return
    if need.least is None:
        if not need.proven:
            yield "Whether a longer horizon alone would do is open."
        elif found.too_short:
            yield "No horizon is long enough for the budgets as they are."
        else:
            yield "A longer horizon alone would not do."
        return
    if need.least == found.nearest:
        yield f"{_moves(need.least)} would do with the budgets as they are."
    elif found.too_short:
        yield f"With the budgets as they are it takes {_moves(need.least)} ({need.least - steps} more)."
    else:
        yield f"A longer horizon would do: {_moves(need.least)} instead of {steps}, everything else unchanged."
    if not need.proven:
        yield f"Whether fewer would do is open; fewer than {need.at_least} would not."


def _joint(found: Findings, amount: _Amount) -> Iterator[str]:
    joint, problem = found.joint, found.problem
    if joint is None:
        if found.joint_applies:
            yield "What would do together is open."
        return
    rises = [(k, new) for k, new in enumerate(joint.budgets) if new > problem.budgets[k]]
    if len(rises) > 1 or joint.horizon > problem.steps:  # else what that resource needs alone, told already
        parts = [_moves(joint.horizon)] if joint.horizon > problem.steps else []
        for k, new in rises:
            name = problem.resources[k]
            rise = f"{amount(name, new - problem.budgets[k])} more{_detail(problem, joint.walk, k, amount)}"
            parts.append(f"{name} at {amount(name, new)} ({rise})")
        least = "; none of these can be less while the others stay" if joint.proven else ""
        yield f"Together {_listing(parts)} would do{least}."
        if joint.percent is not None and len(rises) > 1 and min(problem.budgets) > 0:
            yield f"No budget rises by more than {joint.percent}%; {joint.percent - 1}% more of each would not do."
    if not joint.proven or joint.percent is None:
        yield "Whether smaller rises would do together is open."


def _detail(problem: PathProblem, walk: PathSolution, k: int, amount: _Amount) -> str:
    """What the walk uses on average, where a risk makes that less than the budget it needs."""
    if not problem.is_risky:
        return ""
    return f"; mean {amount(problem.resources[k], walk.consumption[k])}{_deviation(problem, walk.edges, k, amount)}"


def _deviation(problem: PathProblem, edges: Sequence[int], k: int, amount: _Amount) -> str:
    if not problem.is_risky:
        return ""
    deviation = math.sqrt(variance_of(problem, edges)[k])
    return f", standard deviation {amount(problem.resources[k], deviation)}" if deviation else ""


def _moves(count: int) -> str:
    return f"{count} move" if count == 1 else f"{count} moves"


def _some(nodes: Sequence[int], node: _Node) -> str:
    shown = ", ".join(node(v) for v in nodes[:_LISTED])
    return shown if len(nodes) <= _LISTED else f"{shown} and {len(nodes) - _LISTED} more"


def _listing(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
