"""A problem in whole numbers, with what nodes cost and use moved onto the edges: what the searches take.

Searches calculate in 64-bit integers only. Integers stay as they are. Where all costs, or all amounts of a resource,
are decimals of at most 12 places, they are counted in units of the last place, exactly: 0.1 + 0.2 is 0.3 here. Other
floats, and decimals that are too long for sums of as many as there are nodes, are counted on a grid. Costs are rounded
to the nearest point of it; in a graph of 1,000 nodes each is known to 13 digits of the greatest. Amounts are rounded
so that no limit is broken by it: up for an upper limit (and the limit down), down for a lower limit (and the limit up).
The unit is 2**-47 of the limit for 1,000 nodes; a path that keeps it by less than that for each edge may be missed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from solvers.rcsp.problem import LARGEST_AMOUNT, Amount, Indices, Numbers, RcspProblem, is_nothing

NO_LIMIT = LARGEST_AMOUNT
"""The upper limit of a resource that has none."""

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

    The cost and use of an edge include those of the node that it leads to. Those of the source itself are not in any
    edge: they are taken off the limits (and `source_cost` off all costs). Only resources that have a limit are here,
    and one that has two may take two columns.

    An amount above the upper limit of its resource is cut to that limit plus one, and where there is only a lower limit
    to that; so no amount exceeds 2**60, and comparing sums with the limits is right also where they are cut in the same
    way. The sum of the costs of any n edges is within 2**60.

    Attributes:
        n: The nodes are 0..n-1.
        tails: m nodes, int32.
        heads: m nodes, int32.
        cost: m costs, int64, possibly negative.
        use: m x k amounts, int64, C-contiguous, not negative.
        lower: k lower limits, not negative.
        upper: k upper limits, not negative; `NO_LIMIT` for none.
        source: A node.
        target: A node.
        columns: For each of the k columns, the resource of the problem whose it is.
        cost_unit: So many units of `cost` are 1 of the problem's.
        cost_places: Decimal places by which costs are counted exactly; None if they were rounded.
        use_places: The same for each of the problem's K resources.
        hopeless: A resource of the problem of which no path can keep the limits, not even the empty one; None if there
            is none. Then nothing is to be searched.
    """

    n: int
    tails: Indices
    heads: Indices
    cost: Whole
    use: Whole
    lower: Whole
    upper: Whole
    source: int
    target: int
    columns: tuple[int, ...] = ()
    cost_unit: Fraction = Fraction(1)
    cost_places: int | None = 0
    use_places: tuple[int | None, ...] = ()
    hopeless: int | None = None

    @property
    def limited(self) -> npt.NDArray[np.bool_]:
        """(k,) Which columns have an upper limit."""
        return np.asarray(self.upper < NO_LIMIT, dtype=np.bool_)


def fold(problem: RcspProblem, *, maximise: bool = False) -> Folded:
    """The problem as searches take it.

    Args:
        problem: The problem.
        maximise: Look for the greatest cost: all costs change their sign.
    """
    cost, unit, cost_places = _folded_costs(problem, maximise)
    places: list[int | None] = [0] * len(problem.resources)
    if problem.use.dtype.kind == problem.node_use.dtype.kind == "i":
        use, kept = _integers(problem)
    else:
        kept = []
        for k in range(len(places)):
            found, places[k] = _columns(problem, k)
            kept += [one for one in found if one.binds]
        use = _together(problem, kept)
    hopeless = next((one.resource for one in kept if one.upper < max(0, one.lower)), None)
    return Folded(
        n=problem.n_nodes,
        tails=problem.tails,
        heads=problem.heads,
        cost=-cost if maximise else cost,
        use=use,
        lower=np.array([max(0, one.lower) for one in kept], dtype=np.int64),
        upper=np.array([one.upper for one in kept], dtype=np.int64),
        source=problem.source,
        target=problem.target,
        columns=tuple(one.resource for one in kept),
        cost_unit=unit,
        cost_places=cost_places,
        use_places=tuple(places),
        hopeless=hopeless,
    )


def exact(value: Amount, places: int | None) -> Fraction:
    """A number of a problem as it is meant: as a decimal of so many places, or as the float that it is (None)."""
    if places is None or not isinstance(value, float):
        return Fraction(value)
    return Fraction(round(value * 10**places), 10**places)


def as_written(limit: Amount) -> int | Fraction:
    """A limit as the decimal that it is written as."""
    return Fraction(repr(limit)) if isinstance(limit, float) else limit


@dataclass
class _Column:
    """One column of the folded amounts."""

    resource: int
    lower: int
    upper: int
    use: Whole | None = None
    """The m amounts; None where all columns are made at once."""

    @property
    def binds(self) -> bool:
        """Whether there is a limit."""
        return self.upper != NO_LIMIT or self.lower > 0

    @property
    def most(self) -> int:
        """Amounts may be cut to this."""
        return max(0, self.lower if self.upper == NO_LIMIT else self.upper + 1)


def _integers(problem: RcspProblem) -> tuple[Whole, list[_Column]]:
    """All amounts at once, where they are integers: this is what takes the least time."""
    use = problem.use.astype(np.int64, copy=False)
    if not is_nothing(problem.node_use):
        use = use + problem.node_use.astype(np.int64, copy=False)[problem.heads]
    greatest = _greatest_each(use)
    columns = []
    for k, at_source in enumerate(problem.node_use[problem.source].tolist()):
        one = _Column(k, _up(problem.lower[k] or 0) - at_source, _down(problem.upper[k], at_source))
        if one.binds and (greatest[k] or one.lower > 0 or one.upper < 0):
            columns.append(one)
    kept = [one.resource for one in columns]
    if len(kept) != use.shape[1]:
        use = use[:, kept]
    if any(greatest[one.resource] > one.most for one in columns):
        use = np.minimum(use, np.array([one.most for one in columns], dtype=np.int64))
    return np.ascontiguousarray(use), columns


def _greatest_each(rows: Whole) -> list[int]:
    """The greatest number of each column, 0 at least; many rows at a time, which NumPy does ten times as fast."""
    m, columns = rows.shape
    whole = m - m % _BLOCK
    if not whole or not columns:
        return list(rows.max(axis=0, initial=0).tolist())
    blocks = rows[:whole].reshape(-1, _BLOCK * columns).max(axis=0).reshape(_BLOCK, columns)
    return list(np.maximum(blocks.max(axis=0, initial=0), rows[whole:].max(axis=0, initial=0)).tolist())


def _up(limit: Amount) -> int:
    return limit if isinstance(limit, int) else math.ceil(as_written(limit))


def _down(limit: Amount | None, at_source: int) -> int:
    if limit is None:
        return NO_LIMIT
    return (limit if isinstance(limit, int) else math.floor(as_written(limit))) - at_source


def _places(*arrays: Numbers) -> int | None:
    """The fewest decimal places with which all numbers are whole numbers of units; None if 12 are not enough."""
    most = 0
    for array in arrays:
        if array.dtype.kind == "i" or is_nothing(array):
            continue
        for part in (array[:_BLOCK], array):  # where a few are not, there is no need to look at all
            found = _fewest(part, most)
            if found is None:
                return None
            most = found
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


def _folded_costs(problem: RcspProblem, maximise: bool) -> tuple[Whole, Fraction, int | None]:
    """What edges cost, with the node that each leads to; in how many units a 1 is, and the places that are exact."""
    arrays = (problem.cost, problem.node_cost)
    places: int | None = 0
    unit = Fraction(1)
    if any(array.dtype.kind != "i" for array in arrays):
        places = _places(*arrays)
        greatest = sum(map(_greatest, arrays))
        most = 2**_COST_BITS // problem.n_nodes
        if places is not None and greatest * 10.0**places <= most:
            arrays = (_units(arrays[0], places), _units(arrays[1], places))
            unit = Fraction(10**places)
        else:
            places = None
            most = 2**_COST_GRID // problem.n_nodes
            shift = most.bit_length() - 1 - math.frexp(greatest)[1]
            rounded = np.floor if maximise else np.ceil  # up, once the sign has changed
            arrays = (_on_points(arrays[0], shift, rounded), _on_points(arrays[1], shift, rounded))
            unit = Fraction(2) ** shift
    cost, node_cost = arrays
    return cost if is_nothing(node_cost) else cost + node_cost[problem.heads], unit, places


def _on_points(array: Numbers, shift: int, rounded: np.ufunc) -> Whole:
    """The points of a grid of 2 to the power of `shift` points in each 1."""
    points: Whole = rounded(np.ldexp(array.astype(np.float64), shift)).astype(np.int64)
    return points


def _columns(problem: RcspProblem, k: int) -> tuple[list[_Column], int | None]:
    """The columns of a resource, and the decimal places by which it is counted exactly."""
    arrays = (problem.use[:, k], problem.node_use[:, k])
    lower, upper = problem.lower[k], problem.upper[k]
    places = _places(*arrays)
    limit = max((lower, upper or 0))
    if places is None or as_written(limit) * 10**places * problem.n_nodes >= 2**_LIMIT_BITS:
        return _rounded(problem, k), None
    at_source = exact(problem.node_use[problem.source, k].item(), places)
    least = math.ceil((as_written(lower or 0) - at_source) * 10**places)
    most = NO_LIMIT if upper is None else math.floor((as_written(upper) - at_source) * 10**places)
    return [_column(problem, k, least, most, [_units(array, places) for array in arrays])], places


def _rounded(problem: RcspProblem, k: int) -> list[_Column]:
    """A column for each limit of a resource, rounded to its safe side."""
    found = []
    upper, lower = problem.upper[k], problem.lower[k] or 0
    if upper is not None:
        parts, units = _on_grid(problem, k, upper, np.ceil)
        found.append(_column(problem, k, 0, math.floor(units) - int(parts[1][problem.source]), parts))
    if lower > 0:
        parts, units = _on_grid(problem, k, lower, np.floor)
        found.append(_column(problem, k, math.ceil(units) - int(parts[1][problem.source]), NO_LIMIT, parts))
    return found


def _on_grid(problem: RcspProblem, k: int, limit: Amount, rounded: np.ufunc) -> tuple[list[Whole], Fraction]:
    """What edges and what nodes use of a resource, and its limit, all on the grid."""
    bits = min(_LIMIT_GRID, _LIMIT_BITS - problem.n_nodes.bit_length())
    shift = bits - (math.frexp(limit)[1] if limit > 0 else 0)
    with np.errstate(over="ignore"):  # of what is far above the limit
        parts = [
            np.minimum(rounded(np.ldexp(array.astype(np.float64), shift)), 2.0 ** (bits + 1)).astype(np.int64)
            for array in (problem.use[:, k], problem.node_use[:, k])
        ]
    return parts, as_written(limit) * Fraction(2) ** shift


def _column(problem: RcspProblem, k: int, lower: int, upper: int, parts: list[Whole]) -> _Column:
    """The column whose amounts are those of the edges and of the nodes that they lead to, cut to the limits."""
    edges, nodes = parts
    column = _Column(k, lower, upper)
    use = edges if is_nothing(problem.node_use) else edges + nodes[problem.heads]
    column.use = np.minimum(use, column.most) if len(use) and use.max() > column.most else use
    return column


def _together(problem: RcspProblem, columns: list[_Column]) -> Whole:
    rows = np.empty((problem.n_edges, len(columns)), dtype=np.int64)
    for i, one in enumerate(columns):
        assert one.use is not None
        rows[:, i] = one.use
    return rows
