"""Paths counted again from the problem alone, whoever found them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from solvers.rcsp.folded import Folded, as_written, exact
from solvers.rcsp.problem import Amount, Numbers, RcspProblem, is_nothing


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
