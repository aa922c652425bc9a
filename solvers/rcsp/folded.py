"""A problem in whole numbers: what the searches take.

Searches calculate in integers only. Integers stay as they are. Where all costs, or all amounts of a resource, are
decimals of at most 12 places, they are counted in units of the last place, exactly: 0.1 + 0.2 is 0.3 here. Other
floats, and decimals that are too long for sums of as many as there are nodes, are counted on a grid. Costs are rounded
to the nearest point of it; in a graph of 1,000 nodes each is known to 13 digits of the greatest. Amounts are rounded
so that no limit is broken by it: up for an upper limit (and the limit down), down for a lower limit (and the limit up).
The unit is 2**-47 of the limit for 1,000 nodes; a path that keeps it by less than that for each edge may be missed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from solvers.rcsp.problem import Amount, Numbers, RcspProblem, is_nothing

_MOST_PLACES = 12
_EXACT = 2**51
"""Below this, decimals as whole numbers of units are told apart from other floats without doubt."""
_COST_BITS = 54
_LIMIT_BITS = 57
"""As many of the greatest cost, or of a limit, as there are nodes are less than 2 to the power of this."""
_COST_GRID = 48
_LIMIT_GRID = 32
"""The same for costs, and the bits of a limit, where they are rounded: bounds need room to price one in the other."""

_BLOCK = 64

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Folded:
    """What searches take. All numbers are exact.

    What a node costs and uses is added to each edge that leads to it. Those of the source itself are taken off the
    limits, and off all costs. Searches may cut an amount above the upper limit of its resource to that limit plus one,
    and where there is only a lower limit to that. A resource that has two limits may take two columns here.

    Attributes:
        problem: Nodes, edges and ends are the problem's.
        cost: m costs of the edges, int64, possibly negative.
        node_cost: n costs of the nodes.
        use: m x k amounts, int64, not negative.
        node_use: n x k amounts.
        lower: k lower limits; at most 0 for none.
        upper: k upper limits; None for none.
        cost_unit: So many units of `cost` are 1 of the problem's.
        cost_places: Decimal places by which costs are counted exactly; None if they were rounded.
        use_places: The same for each of the problem's K resources.
        hopeless: A resource of the problem of which no path can keep the limits, not even the empty one; None if there
            is none. Then nothing is to be searched.
    """

    problem: RcspProblem
    cost: Whole
    node_cost: Whole
    use: Whole
    node_use: Whole
    lower: tuple[int, ...]
    upper: tuple[int | None, ...]
    cost_unit: Fraction = Fraction(1)
    cost_places: int | None = 0
    use_places: tuple[int | None, ...] = ()
    hopeless: int | None = None


class _Column(NamedTuple):
    """What edges and nodes use of a resource, counted for some of its limits; those are less what the source uses."""

    resource: int
    edges: Whole
    nodes: Whole
    lower: int
    upper: int | None


def fold(problem: RcspProblem, *, maximise: bool = False) -> Folded:
    """The problem as searches take it; to `maximise`, all costs change their sign."""
    cost, node_cost, unit, cost_places = _costs(problem, maximise)
    if maximise:
        cost, node_cost = -cost, -node_cost
    places: list[int | None] = [0] * len(problem.resources)
    of: list[int] = list(range(len(places)))
    use, node_use = problem.use, problem.node_use
    if use.dtype.kind == node_use.dtype.kind == "i":
        spent = node_use[problem.source].tolist()
        lower = [_up(low or 0) - item for low, item in zip(problem.lower, spent, strict=True)]
        upper = [None if most is None else _down(most) - item for most, item in zip(problem.upper, spent, strict=True)]
    else:
        columns = []
        for k in of:
            result, places[k] = _columns(problem, k)
            columns += result
        of, lower = [column.resource for column in columns], [column.lower for column in columns]
        upper = [column.upper for column in columns]
        use = _beside([column.edges for column in columns], problem.n_edges)
        node_use = _beside([column.nodes for column in columns], problem.n_nodes)
    limits = enumerate(zip(lower, upper, strict=True))
    hopeless = next((of[i] for i, (low, most) in limits if most is not None and most < max(0, low)), None)
    return Folded(
        problem, cost, node_cost, use, node_use, tuple(lower), tuple(upper), unit, cost_places, tuple(places), hopeless
    )


def _beside(columns: list[Whole], count: int) -> Whole:
    return np.column_stack(columns) if columns else np.zeros((count, 0), dtype=np.int64)


def exact(value: Amount, places: int | None) -> Fraction:
    """A number of a problem as it is meant: as a decimal of so many places, or as the float that it is (None)."""
    if places is None or not isinstance(value, float):
        return Fraction(value)
    return Fraction(round(value * 10**places), 10**places)


def as_written(limit: Amount) -> int | Fraction:
    """A limit as the decimal that it is written as."""
    return Fraction(repr(limit)) if isinstance(limit, float) else limit


def _up(limit: Amount) -> int:
    return limit if isinstance(limit, int) else math.ceil(as_written(limit))


def _down(limit: Amount) -> int:
    return limit if isinstance(limit, int) else math.floor(as_written(limit))


def _places(*arrays: Numbers) -> int | None:
    """The fewest decimal places with which all numbers are whole numbers of units; None if 12 are not enough."""
    most = 0
    for array in arrays:
        if array.dtype.kind == "i" or is_nothing(array):
            continue
        for part in (array[:_BLOCK], array):  # where a few are not, there is no need to look at all
            fewest = _fewest(part, most)
            if fewest is None:
                return None
            most = fewest
    greatest = max((_greatest(array) for array in arrays), default=0.0)
    return most if greatest * 10.0**most < _EXACT else None


def _fewest(numbers: Numbers, least: int) -> int | None:
    for places in range(least, _MOST_PLACES + 1):
        # A whole number below 2**53 divided by a power of ten is rounded correctly, so this is what reading the
        # decimal would have given.
        with np.errstate(over="ignore"):  # of what is too large, which is no short decimal
            numbers = numbers[np.rint(numbers * 10.0**places) / 10.0**places != numbers]
        if not len(numbers):
            return places
    return None


def _greatest(array: Numbers) -> float:
    return 0.0 if is_nothing(array) else max(abs(float(array.max())), abs(float(array.min())))


def _units(array: Numbers, places: int) -> Whole:
    """A decimal array in units of its last place."""
    if array.dtype.kind == "i":
        return array.astype(np.int64, copy=False) * 10**places if places else array.astype(np.int64, copy=False)
    return np.rint(array * 10.0**places).astype(np.int64)


def _costs(problem: RcspProblem, maximise: bool) -> tuple[Whole, Whole, Fraction, int | None]:
    """What edges and what nodes cost; in how many units a 1 is, and the places that are exact."""
    cost, node_cost = problem.cost, problem.node_cost
    if cost.dtype.kind == node_cost.dtype.kind == "i":
        return cost, node_cost, Fraction(1), 0
    places = _places(cost, node_cost)
    greatest = _greatest(cost) + _greatest(node_cost)
    if places is not None and greatest * 10.0**places <= 2**_COST_BITS // problem.n_nodes:
        return _units(cost, places), _units(node_cost, places), Fraction(10**places), places
    most = 2**_COST_GRID // problem.n_nodes
    shift = most.bit_length() - 1 - math.frexp(greatest)[1]
    rounded = np.floor if maximise else np.ceil  # up, once the sign has changed
    return _on_points(cost, shift, rounded), _on_points(node_cost, shift, rounded), Fraction(2) ** shift, None


def _on_points(array: Numbers, shift: int, rounded: np.ufunc) -> Whole:
    """The points of a grid of 2 to the power of `shift` points in each 1."""
    points: Whole = rounded(np.ldexp(array.astype(np.float64), shift)).astype(np.int64)
    return points


def _columns(problem: RcspProblem, k: int) -> tuple[list[_Column], int | None]:
    """The columns of a resource, one for each limit where they are rounded; the places by which it is exact."""
    edges, nodes = problem.use[:, k], problem.node_use[:, k]
    lower, upper = problem.lower[k] or 0, problem.upper[k]
    places = _places(edges, nodes)
    if places is None or as_written(max(lower, upper or 0)) * 10**places * problem.n_nodes >= 2**_LIMIT_BITS:
        columns = []
        if upper is not None:
            parts, units = _on_grid(problem, k, upper, np.ceil)
            columns.append(_Column(k, *parts, 0, math.floor(units) - int(parts[1][problem.source])))
        if lower > 0:
            parts, units = _on_grid(problem, k, lower, np.floor)
            columns.append(_Column(k, *parts, math.ceil(units) - int(parts[1][problem.source]), None))
        return columns, None
    spent = exact(nodes[problem.source].item(), places)
    least = math.ceil((as_written(lower) - spent) * 10**places)
    most = None if upper is None else math.floor((as_written(upper) - spent) * 10**places)
    return [_Column(k, _units(edges, places), _units(nodes, places), least, most)], places


def _on_grid(problem: RcspProblem, k: int, limit: Amount, rounded: np.ufunc) -> tuple[tuple[Whole, Whole], Fraction]:
    """What edges and what nodes use of a resource, and its limit, all on the grid."""
    bits = min(_LIMIT_GRID, _LIMIT_BITS - problem.n_nodes.bit_length())
    shift = bits - (math.frexp(limit)[1] if limit > 0 else 0)

    def points(array: Numbers) -> Whole:
        units = np.minimum(rounded(np.ldexp(array.astype(np.float64), shift)), 2.0 ** (bits + 1))
        return np.asarray(units, dtype=np.int64)

    with np.errstate(over="ignore"):  # of what is far above the limit
        return (points(problem.use[:, k]), points(problem.node_use[:, k])), as_written(limit) * Fraction(2) ** shift
